from collections.abc import Callable
from pathlib import Path

import pytest

from sphunc.datasets.amigos.sheet import KNOWN_GROUPS, viewing_groups
from sphunc.errors import DataError, MissingExtraError


def test_people_as_text_and_as_numbers_below_other_rows(tmp_path: Path, xlsx_writer: Callable[..., None]) -> None:
    path = tmp_path / "Experiment_Data.xlsx"
    rows = [["Orders"], [None, " UserID(s) "], ["s1", "P07, P01,2,16"], ["s2", 5], ["s3", 12.0], ["s4", "3.0, 4.0"]]
    xlsx_writer(path, {"Other": [["x"]], "Long_Videos_Order": rows})
    assert viewing_groups(path) == [(7, 1, 2, 16), (5,), (12,), (3, 4)]


def test_without_openpyxl_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r'pip install "sphunc\[xlsx\]"'):
        viewing_groups(tmp_path / "Experiment_Data.xlsx")


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
