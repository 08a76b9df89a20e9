"""The viewing groups of AMIGOS, which its owners keep in an .xlsx sheet."""

from __future__ import annotations

import re
from pathlib import Path

from sphunc.errors import DataError
from sphunc.io import load_extra

EXPERIMENT_DATA = "Experiment_Data.xlsx"
ORDER_SHEET = "Long_Videos_Order"
USERS_COLUMN = "UserID(s)"
# As one public loader lists them; used only where the owner's sheet is not at hand.
KNOWN_GROUPS = ((7, 1, 2, 16), (6, 32, 4, 3), (29, 5, 27, 21), (18, 14, 17, 22), (15, 11, 12, 10))


def viewing_groups(path: Path) -> list[tuple[int, ...]]:
    """Return who watched the long videos together: column ``UserID(s)`` of the sheet, one person or several per row."""
    rows = _sheet_rows(path)
    for number, row in enumerate(rows):
        if USERS_COLUMN in row:
            column = row.index(USERS_COLUMN)
            # Spreadsheets may store a lone person as the number 5.0, and people write P05 as well as 5.
            cells = [re.findall(r"(\d+)(?:\.0+)?(?=\D|$)", below[column]) for below in rows[number + 1 :]]
            return [tuple(int(person) for person in people) for people in cells if people]
    raise DataError(f"{path.name}, sheet {ORDER_SHEET}: has no column {USERS_COLUMN!r}")


def _sheet_rows(path: Path) -> list[list[str]]:
    """Return the cells of the sheet as text, row by row; empty cells are empty text."""
    openpyxl = load_extra("openpyxl", "xlsx")
    try:
        book = openpyxl.load_workbook(path, data_only=True)
        names = book.sheetnames
        if ORDER_SHEET in names:
            values = book[ORDER_SHEET].iter_rows(values_only=True)
            return [["" if cell is None else str(cell).strip() for cell in row] for row in values]
    except Exception as error:  # a damaged zip or sheet raises whatever its parts do
        raise DataError(f"{path.name}: is not a readable .xlsx file ({error}); get it anew") from error
    raise DataError(f"{path.name}: has no sheet {ORDER_SHEET!r}; sheets: {', '.join(names)}")
