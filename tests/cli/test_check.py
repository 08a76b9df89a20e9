"""``sphunc check`` tells what is there, or everything that is wrong, to people and to programs."""

import json
import sys

import pytest
from typer.testing import CliRunner

from sphunc.cli import app, main
from sphunc.io import read_tables, write_hif

GOOD = {
    "features.csv": "time,agent,mood\n1,a,0.5\n1,b,\n2,a,1.5\n",
    "groups.csv": "time,group,agent\n1,g,a\n1,g,b\n",
    "outcomes.csv": "time,agent,outcome\n1,a,calm\n2,a,calm\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in GOOD.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def stopped(monkeypatch, capsys, *arguments):
    """Exit code and standard error of the command."""
    monkeypatch.setattr(sys, "argv", ["sphunc", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code, capsys.readouterr().err


def test_summary_for_people(folder):
    result = CliRunner().invoke(app, ["check", str(folder)])
    assert result.exit_code == 0
    assert "agents       2" in result.output
    assert "memberships  2" in result.output


def test_summary_for_programs(folder):
    result = CliRunner().invoke(app, ["check", str(folder), "--json"])
    found = json.loads(result.output)
    assert (found["ok"], found["agents"], found["classes"]) == (True, 2, ["calm"])


def test_what_looks_like_a_mistake_is_warned_of(folder):
    rows = [f"{t},{agent},{-99 if (t, agent) == (2, 'a') else t}" for t in (1, 2, 3, 5) for agent in "ab"]
    (folder / "features.csv").write_text("\n".join(["time,agent,mood", *rows]))
    (folder / "outcomes.csv").write_text("time,agent,outcome\n1,a,calm\n2,a,calm\n3,a,calm\n5,b,calm\n")
    wanted = (
        "time 4 is missing between 1 and 5",
        "feature 'mood' is -99 in 1 cell while all others lie between 1 and 5",
    )
    text = CliRunner().invoke(app, ["check", str(folder)])
    assert text.exit_code == 0
    warned = [line for line in text.output.splitlines() if line.startswith("warning: ")]
    assert all(line.removeprefix("warning: ").startswith(start) for line, start in zip(warned, wanted, strict=True))
    found = json.loads(CliRunner().invoke(app, ["check", str(folder), "--json"]).output)
    assert [f"warning: {sentence}" for sentence in found["warnings"]] == warned


def test_faults_for_programs(folder):
    (folder / "groups.csv").write_text("time,group,agent\n1,g,a\n1,g,q\n9,g,b\n")
    result = CliRunner().invoke(app, ["check", str(folder), "--json"])
    found = json.loads(result.output)
    assert result.exit_code == 2
    assert (found["ok"], found["total"]) == (False, 2)
    assert found["faults"][0] | {"problem": ""} == {
        "file": "groups.csv",
        "row": 3,
        "column": "agent",
        "value": "q",
        "problem": "",
        "remedy": "Correct the id, add its features, or pass drop_unknown=True (--drop-unknown)",
    }


def test_options_reach_the_reader(folder):
    (folder / "groups.csv").write_text("time;group;agent\n1;g;a\n1;g;q\n1;h;\n")
    (folder / "features.csv").write_text("time;agent;mood\n1;a;NaN\n1;b;\n2;a;1.5\n")
    (folder / "outcomes.csv").write_text("time;agent;outcome\n1;a;calm\n")
    options = ["--delimiter", ";", "--drop-unknown", "--allow-rare", "--allow-empty", "--nan-is-missing"]
    assert CliRunner().invoke(app, ["check", str(folder), *options]).exit_code == 0


def test_hif_files_are_checked_too(folder, tmp_path):
    write_hif(read_tables(folder), tmp_path / "world.json")
    result = CliRunner().invoke(app, ["check", str(tmp_path / "world.json")])
    assert "agents       2" in result.output


def test_faults_for_people_end_with_exit_code_2(folder, monkeypatch, capsys):
    (folder / "groups.csv").write_text("time,group,agent\n1,g,a\n1,g,q\n")
    code, error = stopped(monkeypatch, capsys, "check", str(folder))
    assert code == 2
    assert error.startswith("error: groups.csv row 3, column agent: agent 'q' has no row in features.csv")
    assert "Traceback" not in error


def test_a_table_alone_is_not_taken_for_hif(folder):
    result = CliRunner().invoke(app, ["check", str(folder / "features.csv"), "--json"])
    (fault,) = json.loads(result.output)["faults"]
    assert (fault["problem"], fault["remedy"]) == (
        "the folder is a file",
        "Give the folder that holds features.csv and groups.csv",
    )


def test_a_file_where_a_folder_must_be_made_ends_with_one_line(folder, monkeypatch, capsys):
    code, error = stopped(monkeypatch, capsys, "simulate", "snare", str(folder / "features.csv"), "--agents", "20")
    assert code == 2
    assert error.startswith("error: ")
    assert "File exists" in error
    assert error.count("\n") == 1
