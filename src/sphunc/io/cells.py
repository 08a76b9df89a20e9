"""Cells of a table: ids that keep their kind, and numbers that are finite."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from sphunc.io.faults import Fault, FaultLog
from sphunc.io.sources import Table

CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
LARGEST = float(np.finfo(np.float32).max)
MISSING = ("", "NA")


def id_kind(table: Table, role: str) -> str:
    """Say whether ids are ``text``, ``integer``, or ``untyped`` (CSV: decided by all tables together)."""
    dtype = table.column(role).dtype
    if dtype.is_integer():
        return "integer"
    if dtype == pl.Null:
        return "untyped"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text" if table.typed else "untyped"
    return "other"


def common_kind(columns: Sequence[tuple[Table, str]], what: str, log: FaultLog, *, prefer: str = "") -> str:
    """Agree on one kind of id for columns of several tables: ``integer`` or ``text``.

    Ids of CSV files are integers if all of them are written as one (7, not 007), unless ``prefer`` says text.
    """
    kinds = [id_kind(table, role) for table, role in columns]
    for (table, role), kind in zip(columns, kinds, strict=True):
        if kind == "other":
            name, dtype = table.roles[role], table.column(role).dtype
            problem = f"{what} ids have type {dtype}"
            log.add(Fault(table.file, problem, f"Store them as integers or text, e.g. cast {name!r}", column=name))
    typed = sorted({kind for kind in kinds if kind in ("integer", "text")})
    if len(typed) == 2:
        _note_disagreement(columns, kinds, what, log)
    if typed == ["integer"]:
        _note_other_than_integers(columns, kinds, what, log)
    if typed:
        return typed[0]
    return (
        "text"
        if prefer == "text" or not all(_all_integers(table.column(role)) for table, role in columns)
        else "integer"
    )


def _note_other_than_integers(columns: Sequence[tuple[Table, str]], kinds: list[str], what: str, log: FaultLog) -> None:
    file = columns[kinds.index("integer")][0].file
    for (table, role), kind in zip(columns, kinds, strict=True):
        if kind == "untyped":
            text = id_texts(table, role)
            bad = ~text.str.contains(CANONICAL_INTEGER).fill_null(True)
            problem = f"is not written as an integer, but the {what} ids of {file} are integers"
            remedy = f"Store {what} ids as the same kind in every table"
            table.note(log, bad, table.roles[role], lambda value, said=problem: f"{value!r} {said}", remedy)


def _note_disagreement(columns: Sequence[tuple[Table, str]], kinds: list[str], what: str, log: FaultLog) -> None:
    first = {kind: columns[kinds.index(kind)][0].file for kind in ("integer", "text")}
    table, role = columns[kinds.index("text")]
    problem = f"{what} ids are text here but integers in {first['integer']}, and '007' is not 7"
    remedy = f"Store {what} ids as the same kind in every table"
    log.add(Fault(table.file, problem, remedy, column=table.roles[role]))


def _all_integers(column: pl.Series) -> bool:
    texts = column.cast(pl.String).drop_nulls().unique()
    return bool(texts.filter(texts != "").str.contains(CANONICAL_INTEGER).all())


def id_texts(table: Table, role: str) -> pl.Series:
    """Return ids as text, null where the cell is empty."""
    column = table.column(role)
    if id_kind(table, role) == "other":
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    text = column.cast(pl.String)
    return text.set(text == "", None) if (text == "").any() else text


def restore_ids(texts: Sequence[str], kind: str) -> list[int | str]:
    """Turn texts back into ids of ``kind``."""
    return [int(text) for text in texts] if kind == "integer" else list(texts)


def sort_ids(texts: Sequence[str], kind: str) -> list[str]:
    """Sort id texts: integers by value, text by letters."""
    return sorted(texts, key=lambda text: (int(text) if kind == "integer" and _is_integer(text) else 0, text))


def _is_integer(text: str) -> bool:
    return re.fullmatch(CANONICAL_INTEGER, text) is not None


def numbers(table: Table, name: str, log: FaultLog, *, what: str, nan_is_missing: bool) -> np.ndarray:
    """Read a column as float32 with NaN for empty cells; note cells that hold no finite number."""
    column = table.frame[name]
    values, unreadable = _to_float(column)
    if values is None:
        problem = f"{what} has type {column.dtype}"
        log.add(Fault(table.file, problem, "Turn it into one number per row, or drop the column", column=name))
        return np.full(len(column), np.nan, dtype=np.float32)
    remedy = "Write a number, or leave the cell empty if it was not observed"
    table.note(log, unreadable, name, lambda value: f"{value!r} is not a number", remedy)
    nan = values.is_nan().fill_null(False)
    if not nan_is_missing:
        remedy = "Leave the cell empty if it was not observed, or pass nan_is_missing=True (--nan-is-missing)"
        table.note(log, nan, name, lambda value: f"{value!r} is not a finite number", remedy)
    too_large = (values.abs() > LARGEST).fill_null(False) & ~nan
    remedy = "Write a finite number that fits float32, or leave the cell empty"
    table.note(log, too_large, name, lambda value: f"{value!r} is not a finite number", remedy)
    values = values.set(too_large, None) if too_large.any() else values
    return values.cast(pl.Float32).fill_null(float("nan")).to_numpy()


def _to_float(column: pl.Series) -> tuple[pl.Series | None, pl.Series]:
    none = pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(column))
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return (column if column.dtype.is_float() else column.cast(pl.Float64)), none
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        values = text.cast(pl.Float64, strict=False)
        return values, values.is_null() & text.is_not_null() & ~text.is_in(MISSING)
    return None, none


def looks_alike(text: str, known: Sequence[str]) -> str | None:
    """Return a known id that differs from ``text`` by spaces, leading zeros or case only."""

    def plain(one: str) -> str:
        return re.sub(r"^0+(?=.)", "", one.strip()).lower()

    return next((one for one in known if plain(one) == plain(text)), None)
