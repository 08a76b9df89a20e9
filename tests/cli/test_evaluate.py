"""``sphunc evaluate`` compares with what was held back, or with later tables."""

import json


def test_held_back_and_later_tables_agree(command, small_run, small_tables):
    code, out, _ = command("evaluate", small_run)
    assert code == 0
    for word in ("SphUnc", "class frequencies", "last outcome", "Calibration: ECE"):
        assert word in out
    held_back = json.loads(command("evaluate", small_run, "--json")[1])
    later = json.loads(command("evaluate", small_run, "--tables", small_tables, "--json")[1])
    assert held_back["scores"] == later["scores"]
    assert command("evaluate", small_run, "--csv")[1].startswith("system,nll,accuracy,brier")
    assert (small_run / "evaluation" / "forecasts.csv").is_file()


def test_nothing_later(command, small_tables, tmp_path):
    command("fit", small_tables, "--out", tmp_path / "run", "--quick")
    code, _, err = command("evaluate", tmp_path / "run")
    assert code == 2
    assert "there is no outcome later than 4" in err
