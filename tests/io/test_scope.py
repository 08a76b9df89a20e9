"""What does not fit the agents and times of the features is noted, or dropped when the user says so."""

import numpy as np
import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.scope import Options, Scope, checked_times, note_duplicates
from sphunc.io.sources import Table

TABLE = Table(
    "groups",
    pl.DataFrame({"time": ["1", "2", "9", "x", None], "agent": ["a", "q", None, "b", "a"]}),
    {"time": "time", "agent": "agent"},
    typed=True,
)


def scope(**options):
    return Scope(["a", "b"], "text", [1, 2], "features", FaultLog(), Options(**options))


def test_unknown_agents_and_times_have_no_index():
    one = scope(drop_unknown=True)
    assert one.agent_index(TABLE, "agent", required=False).tolist() == [0, -1, -1, 1, 0]
    assert one.log.total == 0
    assert one.time_index(TABLE).tolist() == [0, 1, -1, -1, -1]
    assert one.log.total == 2  # an unreadable and a missing time are faults whatever the options


def test_unknown_agents_and_times_are_noted():
    one = scope()
    one.agent_index(TABLE, "agent")
    assert one.log.total == 2
    one.time_index(TABLE)
    assert one.log.total == 5


def test_times_of_another_kind_are_noted():
    log = FaultLog()
    checked_times(TABLE, log, "date", "features")
    assert log.total == 5


def test_duplicates_keep_the_first_row():
    log = FaultLog()
    keys = [np.array([0, 0, 1, 0, -1], dtype=np.int32), np.array([1, 1, 1, 2, 1], dtype=np.int32)]
    good = note_duplicates(TABLE, keys, "agent", "such a row", log)
    assert good.tolist() == [True, False, True, True, False]
    with pytest.raises(DataError, match=r"groups row 1, column agent: there is already such a row \('q'\)"):
        log.raise_if_any()


def test_large_keys_do_not_overflow():
    keys = [np.array([2**20, 2**20 - 1], dtype=np.int32)] * 3
    assert note_duplicates(Table("f", TABLE.frame[:2], TABLE.roles, True), keys, "agent", "x", FaultLog()).all()
