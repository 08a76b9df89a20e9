"""``sphunc predict`` gives what the model forecasts, from the run or from new tables."""

import csv
import io
import json

import sphunc
from sphunc.runs import Run


def test_people_programs_and_spreadsheets(command, small_run):
    code, out, _ = command("predict", small_run, "--rows", 3)
    assert code == 0
    assert "Forecast for 4 from 3, the least certain agents first" in out
    assert "... and 17 more rows" in out
    forecast = Run.open(small_run).forecast
    found = json.loads(command("predict", small_run, "--json", "--coverage", 0.8)[1])
    assert found["coverage"] == 0.8
    assert [row["prediction"] for row in found["forecast"]] == forecast.to_frame()["prediction"].to_list()
    rows = list(csv.DictReader(io.StringIO(command("predict", small_run, "--csv")[1])))
    assert [float(row["confidence"]) for row in rows] == forecast.to_frame()["confidence"].to_list()
    assert (small_run / "answers" / "forecast-4.csv").is_file()


def test_new_tables_continue_those_of_the_run(command, small_run, small_data, tmp_path):
    all_at_once = Run.open(small_run).model.predict(small_data)
    whole = tmp_path / "whole"
    sphunc.write_tables(small_data, whole)
    for file in ("features", "groups", "outcomes"):
        header, *rows = (whole / f"{file}.csv").read_text().splitlines()
        kept = [row for row in rows if row.startswith("4,")]
        (tmp_path / f"{file}.csv").write_text("\n".join([header, *kept]))
    code, out, err = command("predict", small_run, "--tables", tmp_path, "--json")
    assert code == 0
    assert "note: what came before 4 is taken from the run (4 times)" in err
    confidence = [row["confidence"] for row in json.loads(out)["forecast"]]
    assert confidence == all_at_once.to_frame()["confidence"].to_list()


def test_earlier_origins_and_faults(command, small_run):
    assert json.loads(command("predict", small_run, "--origin", 2, "--json")[1])["target"] == "3"
    code, _, err = command("predict", small_run, "--origin", 9)
    assert code == 2
    assert "'9' is not a time of the data" in err
    assert "until_index" not in err
    code, _, err = command("predict", "nowhere")
    assert (code, err) == (2, "error: nowhere is not there; make a run with: sphunc fit TABLES --out nowhere\n")
