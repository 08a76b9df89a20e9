"""Workbooks (.xlsx): a file per table, or one file with a sheet per table."""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl

from sphunc.io.extras import load_extra
from sphunc.io.faults import Fault, FaultLog

WORKBOOK = ".xlsx"


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook.

    Args:
        path: the file.
    """
    return list(_open(path).sheetnames)


def read_sheet(path: Path, sheet: str | None, log: FaultLog) -> tuple[pl.DataFrame, np.ndarray] | None:
    """Return the cells of a sheet as text, and the place of each row below the header; None if it is faulty.

    Args:
        path: the workbook.
        sheet: its name; None takes the first one.
        log: takes the faults.
    """
    try:
        book = _open(path)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        problem = f"this is not a readable workbook ({error})"
        log.add(Fault(path.name, problem, "Open and save it again as .xlsx, or save it as CSV"))
        return None
    chosen = book[sheet or book.sheetnames[0]]
    rows = [[_text(cell) for cell in row] for row in chosen.iter_rows(values_only=True)]
    while rows and not any(rows[0]):
        rows.pop(0)
    if not rows:
        log.add(Fault(path.name, f"the sheet {chosen.title!r} is empty", "Write a header and at least one row"))
        return None
    header = [name.strip() if name else "" for name in rows[0]]
    width = max((place + 1 for place, name in enumerate(header) if name), default=0)
    body = rows[1:]
    if "" in header[:width]:
        place = header.index("") + 1
        log.add(Fault(path.name, f"column {place} has no name", "Write a name into the first row", row=1))
        return None
    lines = np.array([place for place, row in enumerate(body) if any(cell is not None for cell in row)], dtype=np.int64)
    kept = [body[place] for place in lines.tolist()]
    columns = [pl.Series(str(k), [row[k] for row in kept], dtype=pl.String) for k in range(width)]
    frame = pl.DataFrame(columns)
    if len(set(header[:width])) == width:
        frame.columns = header[:width]
        return frame, lines
    doubled = next(name for name in header if header.count(name) > 1)
    problem = f"the column name {doubled!r} stands {header.count(doubled)} times in the header"
    log.add(Fault(path.name, problem, "Give every column a name of its own", column=doubled))
    return None


def _open(path: Path) -> Any:
    return load_extra("openpyxl", "xlsx").load_workbook(path, read_only=True, data_only=True)


def _text(cell: object) -> str | None:
    """Write a cell as CSV would hold it."""
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        if cell.time() == time(0):
            return cell.date().isoformat()
        return cell.isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)
