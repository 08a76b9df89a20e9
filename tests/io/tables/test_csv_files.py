"""Files become frames of text, with row numbers as an editor shows them."""

import polars as pl
import pytest

from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.csv_files import read_csv


def read(tmp_path, text, kind="groups"):
    path = tmp_path / f"{kind}.csv"
    path.write_bytes(text.encode())
    log = FaultLog()
    table = read_csv(kind, path, ",", log)
    log.raise_if_any()
    assert table is not None
    return table


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
