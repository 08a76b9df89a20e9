"""What a spreadsheet would run is escaped; numbers stay numbers."""

import polars as pl
import pytest

from sphunc.runs.spreadsheets import escape_formulas, flat_frame, write_csv


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx", "\rx"])
def test_formulas_get_an_apostrophe(cell):
    frame = escape_formulas(pl.DataFrame({"a": [cell, "ann", None], "n": [-1.5, 2.0, 3.0]}))
    assert frame["a"].to_list() == [f"'{cell}", "ann", None]
    assert frame["n"].to_list() == [-1.5, 2.0, 3.0]


def test_names_of_columns_too():
    assert escape_formulas(pl.DataFrame({"=x": [1], "y": [2]})).columns == ["'=x", "y"]


def test_lists_are_joined(tmp_path):
    frame = pl.DataFrame({"set": [["=a", "b"], []]})
    assert flat_frame(frame)["set"].to_list() == ["=a | b", ""]
    write_csv(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'set\n\'=a | b\n""\n'
