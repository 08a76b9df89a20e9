"""Files are read by their suffix, and dataframes of other libraries without their index."""

import datetime as dt

import pandas as pd
import polars as pl

from sphunc.io.faults import FaultLog
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.sources import read_table, table_from_frame


def test_the_suffix_decides_how_a_file_is_read(tmp_path):
    (tmp_path / "influence.tsv").write_text("source\ttarget\na\tb\n")
    (tmp_path / "influence.csv").write_text("source;target\na;b\n")
    pl.DataFrame({"source": ["a"], "target": ["b"]}).write_parquet(tmp_path / "influence.parquet")
    for suffix, delimiter, typed in (("tsv", None, False), ("csv", ";", False), ("parquet", None, True)):
        table = read_table("influence", tmp_path / f"influence.{suffix}", Layout(delimiter=delimiter), FaultLog())
        assert table is not None
        assert (table.frame.rows(), table.typed) == ([("a", "b")], typed)


def test_arrow_index_columns_are_left_out():
    table = table_from_frame("features", {"time": [1], "agent": [1], "__index_level_0__": [5]}, FaultLog())
    assert table is not None
    assert table.values == []


def test_pandas_frames_without_pyarrow(monkeypatch):
    frame = pd.DataFrame({"time": pd.to_datetime(["2026-01-31", None]), "agent": ["a", "b"], "f": [1.5, None]})

    def fail(source):
        raise ImportError("pyarrow")

    monkeypatch.setattr(pl, "from_arrow", fail)
    table = table_from_frame("features", frame, FaultLog())
    assert table is not None
    assert table.frame.rows() == [(dt.datetime(2026, 1, 31), "a", 1.5), (None, "b", None)]
