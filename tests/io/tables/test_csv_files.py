"""Files become frames of text, with row numbers as an editor shows them."""

import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.csv_files import read_csv
from sphunc.io.tables.layout import Layout


def read(tmp_path, text, kind="groups"):
    path = tmp_path / f"{kind}.csv"
    path.write_bytes(text.encode())
    log = FaultLog()
    found = read_csv(kind, path, Layout(), log)
    log.raise_if_any()
    assert found is not None
    return found[0]


def test_ids_stay_text_and_numbers_are_parsed(tmp_path):
    table = read(tmp_path, "time,agent,f\n1,007,1.5\n", "features")
    assert table.frame.schema == {"time": pl.String, "agent": pl.String, "f": pl.Float64}
    assert (table.values, table.frame["agent"].to_list()) == (["f"], ["007"])


def test_one_word_keeps_every_cell_as_it_is_written(tmp_path):
    table = read(tmp_path, "time,agent,f\n1,a,1.50\n1,b,word\n", "features")
    assert table.frame["f"].to_list() == ["1.50", "word"]


def test_quoted_cells_and_windows_lines(tmp_path):
    table = read(tmp_path, 'time,group,agent\r\n1,"g, ""h""",a\r\n')
    assert table.frame.rows() == [("1", 'g, "h"', "a")]


def test_old_line_ends_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"groups\.csv: the file cannot be read as CSV"):
        read(tmp_path, "time,group,agent\r1,g,a\r")


def test_delimiters_are_found_in_the_header(tmp_path):
    path = tmp_path / "groups.csv"
    for delimiter in ";\t|":
        path.write_text(f"\ufefftime{delimiter}group{delimiter}agent\n1{delimiter}g{delimiter}a\n")
        found = read_csv("groups", path, Layout(), FaultLog())
        assert found is not None
        assert (found[1], found[0].frame.rows()) == (delimiter, [("1", "g", "a")])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_read_with_a_note(tmp_path, encoding):
    path = tmp_path / "groups.csv"
    path.write_bytes("time,group,agent\n1,Müller,José\n".encode(encoding))
    log = FaultLog()
    found = read_csv("groups", path, Layout(), log)
    assert found is not None
    assert found[0].frame.rows() == [("1", "Müller", "José")]
    assert log.notes[0].startswith("groups.csv is not UTF-8; it was read as")
