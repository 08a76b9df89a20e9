"""A small reader of .xlsx sheets (a zip of XML), and the viewing groups that AMIGOS keeps in one."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path
from xml.etree import ElementTree

from sphunc.errors import DataError

EXPERIMENT_DATA, ORDER_SHEET, USERS_COLUMN = "Experiment_Data.xlsx", "Long_Videos_Order", "UserID(s)"
# As one public loader lists them; used only where the owner's sheet is not at hand.
KNOWN_GROUPS = ((7, 1, 2, 16), (6, 32, 4, 3), (29, 5, 27, 21), (18, 14, 17, 22), (15, 11, 12, 10))

# What a damaged zip or a damaged sheet raises, besides its own errors.
_BROKEN = (KeyError, IndexError, ValueError, OSError, EOFError, NotImplementedError, RuntimeError)
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read_sheet(path: Path, sheet: str) -> list[list[str]]:
    """Return the cells of one sheet as text, row by row; empty cells are empty text."""
    try:
        with zipfile.ZipFile(path) as book:
            part, names = _sheet_part(book, sheet)
            if part is not None:
                shared = _shared_strings(book)
                rows = ElementTree.fromstring(book.read(part)).iter(f"{_MAIN}row")
                return [_row_cells(row, shared) for row in rows]
    except (zipfile.BadZipFile, ElementTree.ParseError, zlib.error, *_BROKEN) as error:
        raise DataError(f"{path.name}: is not a readable .xlsx file ({error}); get it anew") from error
    raise DataError(f"{path.name}: has no sheet {sheet!r}; sheets: {', '.join(names)}")


def _sheet_part(book: zipfile.ZipFile, sheet: str) -> tuple[str | None, list[str]]:
    listed = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{_MAIN}sheet")
    relations = {str(s.get("name")): s.get(_RELATION) for s in listed}
    targets = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    files = {target.get("Id"): str(target.get("Target")) for target in targets}
    target = files.get(relations.get(sheet))
    if target is None:
        return None, list(relations)
    return (target.lstrip("/") if target.startswith("/") else f"xl/{target}"), list(relations)


def _shared_strings(book: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    items = ElementTree.fromstring(book.read("xl/sharedStrings.xml")).iter(f"{_MAIN}si")
    return ["".join(text.text or "" for text in item.iter(f"{_MAIN}t")) for item in items]


def _row_cells(row: ElementTree.Element, shared: list[str]) -> list[str]:
    cells: dict[int, str] = {}
    for position, cell in enumerate(row.iter(f"{_MAIN}c")):
        letters = re.match(r"[A-Z]+", cell.get("r") or "")
        value = "".join(text.text or "" for text in cell.iter() if text.tag in (f"{_MAIN}v", f"{_MAIN}t"))
        cells[_column(letters[0]) if letters else position] = shared[int(value)] if cell.get("t") == "s" else value
    return [cells.get(column, "") for column in range(max(cells, default=-1) + 1)]


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def viewing_groups(path: Path) -> list[tuple[int, ...]]:
    """Return who watched the long videos together: column ``UserID(s)`` of the sheet, one person or several per row."""
    rows = read_sheet(path, ORDER_SHEET)
    header = next((i for i, row in enumerate(rows) if USERS_COLUMN in (cell.strip() for cell in row)), None)
    if header is None:
        raise DataError(f"{path.name}, sheet {ORDER_SHEET}: has no column {USERS_COLUMN!r}")
    column = [cell.strip() for cell in rows[header]].index(USERS_COLUMN)
    cells = [row[column] if column < len(row) else "" for row in rows[header + 1 :]]
    # Excel may store a lone person as the number 5.0, and people write P05 as well as 5.
    people = [tuple(int(n) for n in re.findall(r"(\d+)(?:\.0+)?(?=\D|$)", cell)) for cell in cells]
    return [group for group in people if group]
