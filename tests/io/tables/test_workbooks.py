"""Excel workbooks: a file per table, or a sheet per table."""

import datetime as dt

import openpyxl
import pytest

import sphunc
from sphunc.errors import DataError
from sphunc.io.faults import FaultLog
from sphunc.io.tables.workbooks import read_sheet, sheet_names

DAY = dt.datetime(2026, 1, 31)
FEATURES = [["time", "agent", "mood", None], [DAY, 7, 0.5], [None], [DAY, 8, None]]
GROUPS = [["time", "group", "agent"], [DAY, "g", 7], [DAY, "g", 8]]


def save(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_files_and_sheets_give_the_same(tmp_path):
    save(tmp_path / "features.xlsx", any=FEATURES)
    save(tmp_path / "groups.xlsx", any=GROUPS)
    book = save(tmp_path / "study.xlsx", Features=FEATURES, groups=GROUPS)
    data = sphunc.read_tables(tmp_path)
    assert data.same_as(sphunc.read_tables(book))
    assert (data.times, data.node_ids) == ((dt.date(2026, 1, 31),), (7, 8))
    assert data.x_mask.flatten().tolist() == [True, False]
    assert sheet_names(book) == ["Features", "groups"]


def test_rows_are_those_of_the_sheet(tmp_path):
    book = save(tmp_path / "study.xlsx", features=[*FEATURES, [DAY, 9, "much"]], groups=GROUPS)
    with pytest.raises(DataError, match=r"study.xlsx, sheet features row 5, column mood: 'much' is not a number"):
        sphunc.read_tables(save(book, features=[*FEATURES[:2], [None], [DAY, 8, 1], [DAY, 9, "much"]], groups=GROUPS))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the sheet 'one' is empty"),
        ([["time", None, "agent"], [1, 2, 3]], "column 2 has no name"),
        ([["time", "agent", "agent"], [1, 2, 3]], "the column name 'agent' stands 2 times"),
    ],
)
def test_faults_of_a_sheet(tmp_path, rows, message):
    log = FaultLog()
    assert read_sheet(save(tmp_path / "book.xlsx", one=rows), None, log) is None
    with pytest.raises(DataError, match=message):
        log.raise_if_any()


def test_a_file_that_is_no_workbook(tmp_path):
    (tmp_path / "features.xlsx").write_text("time,agent")
    (tmp_path / "groups.csv").write_text("time,group,agent\n1,g,a\n")
    with pytest.raises(DataError, match=r"features.xlsx: this is not a readable workbook"):
        sphunc.read_tables(tmp_path)
