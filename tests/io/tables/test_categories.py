"""Words become indicator columns, truth values 0 and 1, and it is said."""

import math

import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.categories import feature_columns
from sphunc.io.tables.table import Table


def columns_of(cells, known=()):
    log = FaultLog()
    frame = pl.DataFrame({"time": range(len(cells)), "agent": ["a"] * len(cells), "f": cells})
    table = Table("features.csv", frame, {"time": "time", "agent": "agent"}, log, typed=False)
    names, columns = feature_columns(table, known, nan_is_missing=False)
    log.raise_if_any()
    rows = [[None if math.isnan(x) else x for x in column.tolist()] for column in columns]
    return dict(zip(names, rows, strict=True)), log.notes


def test_two_words_become_one_column():
    found, notes = columns_of(["m", "f", None, "m"])
    assert found == {"f=m": [1, 0, None, 1]}
    assert notes == ["feature 'f' holds words; it becomes the column 'f=m': 1 for m, 0 for f"]


def test_more_words_become_a_column_each():
    found, notes = columns_of(["red", "green", "blue", "red"])
    assert found == {"f=blue": [0, 0, 1, 0], "f=green": [0, 1, 0, 0], "f=red": [1, 0, 0, 1]}
    assert notes == ["feature 'f' holds words; it becomes 3 columns of 0 and 1: 'f=blue', 'f=green', 'f=red'"]


def test_truth_values_keep_their_column():
    found, notes = columns_of(["TRUE", "FALSE", None])
    assert found == {"f": [1, 0, None]}
    assert notes == ["feature 'f' holds truth values; true is 1, false is 0"]


def test_words_of_earlier_data_decide_the_columns():
    found, notes = columns_of(["red", "pink"], known=("f=blue", "f=red", "g"))
    assert found == {"f=blue": [0, 0], "f=red": [1, 0]}
    assert notes == ["feature 'f' has 'pink', which the model did not learn from; it counts as none of the others"]
    assert columns_of(["f", "f"], known=("f=m",)) == ({"f=m": [0, 0]}, [])


def test_numbers_with_a_few_words_are_faulty_numbers():
    with pytest.raises(DataError, match="row 2, column f: 'x' is not a number"):
        columns_of(["1", "2", "x"])


def test_free_text_is_refused_with_the_flag_that_leaves_it_out():
    with pytest.raises(DataError, match=r"column f: it holds 21 different texts.*--drop f"):
        columns_of([f"text {k}" for k in range(21)])
