"""Faults of a table stand at the rows that a person sees."""

import numpy as np
import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.csv_files import read_csv
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.table import Table


def faults_of(table, bad, problem="wrong"):
    table.note(np.array(bad), "agent", problem, "Mend it")
    with pytest.raises(DataError) as caught:
        table.log.raise_if_any()
    return caught.value.faults  # pyright: ignore[reportAttributeAccessIssue]


def test_columns_without_a_role_are_values():
    table = Table(
        "features", pl.DataFrame({"t": [1], "agent": ["a"], "mood": [2]}), {"time": "t", "agent": "agent"}, FaultLog()
    )
    assert table.values == ["mood"]
    assert table.column("time").to_list() == [1]


def test_rows_of_frames_count_from_zero_and_name_the_value():
    table = Table("groups", pl.DataFrame({"agent": ["a", "b"]}), {"agent": "agent"}, FaultLog())
    (fault,) = faults_of(table, [False, True], lambda value: f"{value!r} is wrong")
    assert (fault.row, fault.column, fault.value, fault.problem) == (1, "agent", "b", "'b' is wrong")


def test_rows_of_csv_are_lines(tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text('\ntime,group,agent\n\n1,"a\nb",x\n1,c,y\n\n')
    found = read_csv("groups", path, Layout(), FaultLog())
    assert found is not None
    table = found[0]
    assert [fault.row for fault in faults_of(table, [True, True])] == [4, 6]


def test_a_table_without_rows_is_noted():
    table = Table("groups", pl.DataFrame({"agent": []}), {"agent": "agent"}, FaultLog())
    table.note_if_empty("Write a row")
    with pytest.raises(DataError, match=r"groups: there is a header but no row\. Write a row\."):
        table.log.raise_if_any()
