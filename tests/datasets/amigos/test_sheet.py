from collections.abc import Callable
from pathlib import Path

import pytest

from sphunc.datasets.amigos.sheet import KNOWN_GROUPS, read_sheet, viewing_groups
from sphunc.errors import DataError


@pytest.mark.parametrize("inline", [True, False])
def test_cells_shared_or_inline_with_gaps(tmp_path: Path, xlsx_writer: Callable[..., None], inline: bool) -> None:
    rows = [["name", "", "b & c"], ["", "3.5", ""], ["x", "y", "z"]]
    xlsx_writer(tmp_path / "book.xlsx", {"one": [["other"]], "two": rows}, inline=inline)
    assert read_sheet(tmp_path / "book.xlsx", "two") == [["name", "", "b & c"], ["", "3.5"], ["x", "y", "z"]]


def test_sheet_written_by_a_spreadsheet_program(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Long_Videos_Order"
    for row in (["", "UserID(s)"], ["s1", "P07, P01,2,16"], ["s2", 5], ["s3", 12.0]):
        sheet.append(row)
    book.save(tmp_path / "Experiment_Data.xlsx")
    book.close()
    assert viewing_groups(tmp_path / "Experiment_Data.xlsx") == [(7, 1, 2, 16), (5,), (12,)]


def test_groups_of_the_sheet(amigos: Path) -> None:
    assert viewing_groups(amigos / "Metadata_xlsx/Experiment_Data.xlsx") == [(7, 1, 9), (32,)]


def test_missing_sheet_column_and_broken_file_are_named(tmp_path: Path, xlsx_writer: Callable[..., None]) -> None:
    path = tmp_path / "Experiment_Data.xlsx"
    xlsx_writer(path, {"Other": [["x"]]})
    with pytest.raises(DataError, match="has no sheet 'Long_Videos_Order'; sheets: Other"):
        viewing_groups(path)
    xlsx_writer(path, {"Long_Videos_Order": [["UserID"]]})
    with pytest.raises(DataError, match=r"has no column 'UserID\(s\)'"):
        viewing_groups(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"is not a readable \.xlsx file"):
        viewing_groups(path)


def test_known_groups_are_twenty_different_people() -> None:
    people = [person for group in KNOWN_GROUPS for person in group]
    assert len(people) == len(set(people)) == 20
