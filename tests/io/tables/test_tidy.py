"""Dates, decimal commas and marks of missing values are read as people write them."""

import datetime as dt

import polars as pl
import pytest

from sphunc.io.faults import FaultLog
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.table import Table
from sphunc.io.tables.tidy import tidy


def tidied(columns, roles=("time", "agent"), kind="features", typed=False, classes=(), **layout):
    log = FaultLog()
    table = Table(f"{kind}.csv", pl.DataFrame(columns), {role: role for role in roles}, log, typed=typed, kind=kind)
    return tidy(table, Layout(**layout), classes).frame, log.notes


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["31.01.2026", "2026-02-28"], {}, ["2026-01-31", "2026-02-28"]),
        (["31/01/2026", "01-02-2026"], {"dayfirst": True}, ["2026-01-31", "2026-02-01"]),
        (["01/31/2026"], {"dayfirst": False}, ["2026-01-31"]),
        (["31/01/2026"], {}, ["31/01/2026"]),
        (["31/02/2026"], {"dayfirst": True}, ["31/02/2026"]),
        (["1.0", "2.00"], {}, ["1", "2"]),
        (["1.5", "2.0"], {}, ["1.5", "2.0"]),
    ],
)
def test_times(cells, options, expected):
    frame, _ = tidied({"time": cells, "agent": ["a"] * len(cells)}, **options)
    assert frame["time"].to_list() == expected


def test_times_of_typed_tables():
    frame, _ = tidied({"time": [1.0, 2.0], "agent": ["a", "a"]}, typed=True)
    assert frame["time"].to_list() == [1, 2]
    frame, _ = tidied({"time": [dt.date(2026, 1, 31)], "agent": ["a"]}, typed=True)
    assert frame["time"].to_list() == [dt.date(2026, 1, 31)]


def test_decimal_commas_of_files_with_semicolons():
    cells = {"time": ["1", "2"], "agent": ["a", "a"], "f": ["1,5", "1.234,25"]}
    frame, notes = tidied(cells, delimiter=";")
    assert frame["f"].to_list() == ["1.5", "1234.25"]
    assert "features.csv is read with decimal commas" in notes[0]
    assert tidied(cells, delimiter=",")[0]["f"].to_list() == ["1,5", "1.234,25"]
    assert tidied(cells, delimiter=",", decimal=",")[0]["f"].to_list() == ["1.5", "1234.25"]
    mixed = {"time": ["1", "2"], "agent": ["a", "a"], "f": ["1,5", "2.5"]}
    assert tidied(mixed, delimiter=";")[0]["f"].to_list() == ["1,5", "2.5"]


def test_marks_of_missing_values_but_not_in_ids():
    marks = ["", " . ", "NA", "N/A", "NaN", "null", "None", "-"]
    frame, notes = tidied({"time": ["1"] * 8, "agent": marks, "f": marks})
    assert frame["f"].null_count() == 8
    assert frame["agent"].to_list() == marks
    assert notes == []


def test_outcomes_say_which_words_count_as_missing():
    cells = {"time": ["1"] * 3, "agent": ["a", "b", "c"], "outcome": ["None", "calm", "None"]}
    frame, notes = tidied(cells, kind="outcomes")
    assert frame["outcome"].to_list() == [None, "calm", None]
    assert notes == ["outcomes.csv column outcome: 'None' in 2 rows counts as a missing outcome"]
    frame, notes = tidied(cells, kind="outcomes", classes=("None", "calm"))
    assert (frame["outcome"].null_count(), notes) == (0, [])


def test_codes_that_the_user_names():
    cells = {"time": [1, 1], "agent": ["a", "b"], "f": [-99.0, 2.0], "g": ["?", "-99.0"]}
    frame, notes = tidied(cells, typed=True, missing=("-99", "?"))
    assert (frame["f"].to_list(), frame["g"].to_list()) == ([None, 2.0], [None, None])
    assert notes[0] == "features.csv column f: 1 cell of -99 or ? left empty, as asked for"


def test_columns_that_are_left_out():
    frame, _ = tidied({"time": [1], "agent": ["a"], "f": [1.0], "note": ["x"]}, drop=("note",))
    assert frame.columns == ["time", "agent", "f"]
