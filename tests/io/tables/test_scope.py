"""What does not fit the agents and times of the features is noted, or dropped when the user says so."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.scope import Options, Scope, checked_times, first_rows
from sphunc.io.tables.table import Table

FRAME = pl.DataFrame({"time": ["1", "2", "9", "x", None], "agent": ["a", "q", None, "b", "a"]})


@pytest.fixture
def table():
    return Table("groups", FRAME, {"time": "time", "agent": "agent"}, FaultLog())


def scope(**options):
    return Scope(["a", "b"], "text", [1, 2], "features", Options(**options))


def test_unknown_agents_and_times_have_no_index(table):
    one = scope(drop_unknown=True)
    assert one.agent_index(table, "agent", required=False).tolist() == [0, -1, -1, 1, 0]
    assert table.log.total == 0
    assert one.time_index(table).tolist() == [0, 1, -1, -1, -1]
    assert table.log.total == 2  # an unreadable and a missing time are faults whatever the options


def test_unknown_agents_and_times_are_noted(table):
    one = scope()
    one.agent_index(table, "agent")
    assert table.log.total == 2
    one.time_index(table)
    assert table.log.total == 5


def test_times_of_another_kind_are_noted(table):
    checked_times(table, "date", "features")
    assert table.log.total == 5


def test_duplicates_keep_the_first_row(table):
    keys = [np.array([0, 0, 1, 0, -1], dtype=np.int32), np.array([1, 1, 1, 2, 1], dtype=np.int32)]
    good = first_rows(table, keys, "agent", "such a row")
    assert good.tolist() == [True, False, True, True, False]
    with pytest.raises(DataError, match=r"groups row 1, column agent: there is already such a row \('q'\)"):
        table.log.raise_if_any()


def test_large_keys_do_not_overflow(table):
    keys = [np.array([2**20, 2**20 - 1], dtype=np.int32)] * 3
    assert first_rows(replace(table, frame=FRAME[:2]), keys, "agent", "x").all()
