"""A run is a folder of plain files that opens wherever it is copied."""

import json
import shutil

import pytest

import sphunc
from sphunc.errors import ArgumentError, CheckpointError
from sphunc.runs import Run, RunSettings, read_json, time_of
from sphunc.runs.run import read_data, write_data


def test_a_copy_opens_elsewhere_with_all_that_it_holds(quick_run, small_data, tmp_path):
    copy = Run.open(shutil.copytree(quick_run.folder, tmp_path / "copy"))
    assert copy.all_data.same_as(small_data)
    assert copy.data.same_as(small_data.until(3))
    assert copy.forecast.probabilities.equal(quick_run.model.predict(small_data.until(3)).probabilities)
    assert copy.settings == RunSettings(quick=True, until="3")
    assert copy.metrics["verdict"] == copy.verdict == quick_run.model.verdict_
    assert copy.comparison.equals(quick_run.model.comparison_)
    assert copy.info["versions"]["sphunc"] == sphunc.__version__
    assert repr(copy).endswith("done)")
    kinds = {path.suffix for path in copy.folder.rglob("*") if path.is_file()}
    assert kinds == {".csv", ".json", ".parquet", ".safetensors", ".toml", ".txt"}


def test_folders_that_are_no_runs(quick_run, tmp_path):
    with pytest.raises(ArgumentError, match=r"is not there; make a run with: sphunc fit TABLES --out"):
        Run.open(tmp_path / "none")
    with pytest.raises(ArgumentError, match="is no run"):
        Run.open(tmp_path)
    copy = shutil.copytree(quick_run.folder, tmp_path / "copy")
    (copy / "status.json").write_text(json.dumps({"state": "stopped"}))
    with pytest.raises(ArgumentError, match="has not ended; go on with it: sphunc fit --out"):
        Run.open(copy)
    (copy / "status.json").write_text("{")
    with pytest.raises(CheckpointError, match="is not JSON"):
        Run.open(copy)
    (copy / "status.json").write_text(json.dumps({"state": "done"}))
    (copy / "config.toml").write_text("[fit]\nspeed = 1")
    with pytest.raises(CheckpointError, match="not of this version"):
        _ = Run.open(copy).settings


def test_ids_that_tables_do_not_hold_are_kept_too(tmp_path):
    data = sphunc.from_frames(features={"time": [1, 1], "agent": [1, 2], "f": [0.5, 1]})
    mixed = data.__class__(**{**vars(data), "node_ids": (1, "b")})
    write_data(tmp_path, mixed)
    assert read_data(tmp_path).node_ids == (1, "b")


def test_times_as_text():
    import datetime as dt

    data = sphunc.from_frames(features={"time": ["2026-01", "2026-02"], "agent": ["a", "a"], "f": [1, 2]})
    assert time_of(data, "2026-02-01") == dt.date(2026, 2, 1)
    assert time_of(data, "2026-02") == dt.date(2026, 2, 1)
    with pytest.raises(ArgumentError, match="'2026-03' is not a time of the data"):
        time_of(data, "2026-03")
    days = sphunc.from_frames(features={"time": ["2026-02-01", "2026-02-02"], "agent": ["a", "a"], "f": [1, 2]})
    with pytest.raises(ArgumentError, match="'2026-02' is not a time of the data"):
        time_of(days, "2026-02")


def test_a_file_that_is_not_there_is_empty(tmp_path):
    assert read_json(tmp_path / "none.json") == {}
