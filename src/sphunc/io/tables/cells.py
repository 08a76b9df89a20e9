"""Cells of a table: ids that keep their kind, and numbers that are finite."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from sphunc.io.tables.table import Table

CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
MISSING = ("", ".", "-", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "<NA>")
"""Marks of a missing value in columns of features and outcomes."""
NAN_REMEDY = "Leave the cell empty if it was not observed, or pass nan_is_missing=True (--nan-is-missing)"
TEXT_TYPES = (pl.String, pl.Categorical, pl.Enum)

AgentId = int | str
IdColumn = tuple[Table, str]
"""A table and the role of its column of ids."""


def id_kind(table: Table, role: str) -> str:
    """Say of which kind the ids of a column are.

    Args:
        table: the table.
        role: of the column.

    Returns:
        "text", "integer", "untyped" (CSV: decided by all tables together) or "other" (no ids).
    """
    dtype = table.column(role).dtype
    if dtype.is_integer():
        return "integer"
    if dtype == pl.Null or (dtype in TEXT_TYPES and not table.typed):
        return "untyped"
    if dtype in TEXT_TYPES:
        return "text"
    return "other"


def common_kind(columns: Sequence[IdColumn], what: str, *, prefer: str = "") -> str:
    """Agree on one kind of id for columns of several tables.

    Ids of CSV files are integers if all of them are written as one (7, not 007).

    Args:
        columns: the columns of ids.
        what: what the ids are of, "agent" or "group".
        prefer: "text" keeps ids of CSV files as text.

    Returns:
        "integer" or "text".
    """
    by_kind: dict[str, list[IdColumn]] = {"integer": [], "text": [], "untyped": [], "other": []}
    for table, role in columns:
        by_kind[id_kind(table, role)].append((table, role))
    for table, role in by_kind["other"]:
        name = table.roles[role]
        problem = f"{what} ids have type {table.column(role).dtype}"
        table.note_whole(problem, f"Store them as integers or text, e.g. cast {name!r}", name)
    if by_kind["integer"]:
        _note_other_than_integers(by_kind, what)
        return "integer"
    if by_kind["text"] or prefer == "text":
        return "text"
    for table, role in columns:
        texts = table.column(role).cast(pl.String).drop_nulls().unique()
        if not texts.filter(texts != "").str.contains(CANONICAL_INTEGER).all():
            return "text"
    return "integer"


def _note_other_than_integers(by_kind: dict[str, list[IdColumn]], what: str) -> None:
    file = by_kind["integer"][0][0].file
    remedy = f"Store {what} ids as the same kind in every table"
    for table, role in by_kind["text"][:1]:
        problem = f"{what} ids are text here but integers in {file}, and '007' is not 7"
        table.note_whole(problem, remedy, table.roles[role])
    problem = f"is not written as an integer, but the {what} ids of {file} are integers"
    for table, role in by_kind["untyped"]:
        bad = ~id_texts(table, role).str.contains(CANONICAL_INTEGER).fill_null(True)
        table.note(bad, table.roles[role], lambda value: f"{value!r} {problem}", remedy)


def id_texts(table: Table, role: str) -> pl.Series:
    """Return ids as text, null where the cell is empty.

    Args:
        table: the table.
        role: of the column.
    """
    column = table.column(role)
    if id_kind(table, role) == "other":
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    text = column.cast(pl.String)
    empty = text == ""
    if empty.any():
        text = text.set(empty, None)
    return text


def restore_ids(texts: Sequence[str], kind: str) -> list[AgentId]:
    """Turn texts back into ids.

    Args:
        texts: the ids as text.
        kind: "integer" or "text".
    """
    if kind == "integer":
        return [int(text) for text in texts]
    return list(texts)


def sort_ids(texts: Sequence[str], kind: str) -> list[str]:
    """Sort id texts: integers by value, text by letters.

    Args:
        texts: the ids as text.
        kind: "integer" or "text".
    """
    if kind == "integer" and all(re.fullmatch(CANONICAL_INTEGER, text) for text in texts):
        return sorted(texts, key=int)
    return sorted(texts)


def similar_id(text: str, known: Sequence[str]) -> str | None:
    """Return a known id that differs by spaces, leading zeros or case only, or None.

    Args:
        text: the id that is not known.
        known: those that are.
    """
    wanted = _normalised(text)
    return next((one for one in known if _normalised(one) == wanted), None)


def _normalised(text: str) -> str:
    return re.sub(r"^0+(?=.)", "", text.strip()).lower()


def numbers(table: Table, name: str, *, what: str, nan_is_missing: bool) -> np.ndarray:
    """Read a column as float32 with NaN for empty cells; cells that hold no finite number are noted.

    Args:
        table: the table.
        name: of the column.
        what: what it holds, for the message.
        nan_is_missing: take NaN as an empty cell.
    """
    column = table.frame[name]
    values = column
    if column.dtype in TEXT_TYPES:
        text = column.cast(pl.String).str.strip_chars()
        values = text.cast(pl.Float64, strict=False)
        unreadable = values.is_null() & text.is_not_null() & ~text.is_in(MISSING)
        remedy = "Write a number, or leave the cell empty if it was not observed"
        if unreadable.any():
            remedy = _remedy_for(text.filter(unreadable))
        table.note(unreadable, name, lambda value: f"{value!r} is not a number", remedy)
    elif column.dtype in (pl.Boolean, pl.Null) or column.dtype.is_integer() or column.dtype.is_decimal():
        values = column.cast(pl.Float64)
    elif not column.dtype.is_float():
        remedy = "Turn it into one number per row, or drop the column"
        table.note_whole(f"{what} has type {column.dtype}", remedy, name)
        return np.full(len(column), np.nan, dtype=np.float32)

    nan = values.is_nan().fill_null(False)
    if not nan_is_missing:
        table.note(nan, name, _not_finite, NAN_REMEDY)
    too_large = (values.abs() > LARGEST_FLOAT32).fill_null(False) & ~nan
    remedy = "Write a finite number that fits float32, or leave the cell empty"
    table.note(too_large, name, _not_finite, remedy)
    if too_large.any():
        values = values.set(too_large, None)
    return values.cast(pl.Float32).fill_null(float("nan")).to_numpy()


def _remedy_for(texts: pl.Series) -> str:
    """Say what to do about cells that are no numbers: name the decimal sign, or the mark of a missing value."""
    remedy = "Write a number, or leave the cell empty if it was not observed"
    if texts.str.contains(r"^[+-]?\d*,\d+$").all():
        return f"{remedy}; if the comma is the decimal sign, pass decimal=',' (--decimal ,)"
    if texts.n_unique() == 1:
        mark = texts[0]
        return f"{remedy}; if it stands for a missing value, pass missing={mark!r} (--missing {mark})"
    return remedy


def _not_finite(value: object) -> str:
    return f"{value!r} is not a finite number"
