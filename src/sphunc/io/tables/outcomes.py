"""Outcomes of a table: one column of classes, or columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sphunc.io.tables.cells import NAN_REMEDY, TEXT_TYPES, numbers
from sphunc.io.tables.scope import Scope, first_rows
from sphunc.io.tables.table import Table

MOST_CLASSES = 20
NOT_FINITE = r"(?i)^[+-]?(nan|inf|infinity)$"
WHOLE = r"^(0|-?[1-9][0-9]{0,308})$"  # as many digits as the largest float has
LARGEST_WHOLE = 1e38  # floats below it fit the 128 bits of the largest integer of polars
NO_CLASSES = ("", "NA")
BOOLEANS_OF_CSV = ({"False", "True"}, {"FALSE", "TRUE"})
"""How spreadsheets, R and Python write booleans into CSV, besides false and true."""


def read_outcomes(table: Table, scope: Scope) -> dict[str, Any]:
    """Return the outcome columns as :func:`sphunc.hypergraph.assemble` takes them.

    Args:
        table: columns ``time``, ``agent`` and the outcomes.
        scope: agents and times, and what kind of outcome is wanted.
    """
    if not scope.options.allow_empty_groups:
        table.note_if_empty("Write one row per time and agent")
    if not table.values:
        table.note_whole("there is no column 'outcome'", "Add it: one class or number per row", "outcome")
        return {}
    time = scope.time_index(table)
    agent = scope.agent_index(table, "agent")
    kept = first_rows(table, [time, agent], "agent", "an outcome for this time and agent")
    kind = _outcome_kind(table, scope.options.outcome)
    if kind == "number":
        values = _numbers(table, nan_is_missing=scope.options.nan_is_missing)
        kept &= ~np.isnan(values).any(1)
        return {"outcomes": (time[kept], agent[kept], values[kept]), "outcome_names": table.values}
    if kind == "class":
        classes, names = _classes(table, kept, scope)
        kept &= classes >= 0
        if names:
            return {"outcomes": (time[kept], agent[kept], classes[kept]), "class_names": names}
    return {}


def _outcome_kind(table: Table, wanted: str) -> str:
    """Decide between "class" and "number"; "" if the columns are neither (noted)."""
    if len(table.values) == 1:
        if wanted == "auto":
            return _kind_of_column(table.frame[table.values[0]])
        return wanted
    problem = f"there are {len(table.values)} outcome columns ({', '.join(table.values[:5])})"
    if wanted == "class":
        name = table.values[0]
        remedy = "Keep one column of classes, pass outcome_kind='number' (--outcome-kind number), or choose one: "
        table.note_whole(problem, f"{remedy}outcome={name!r} (--outcome {name})")
        return "number"
    for name in table.values:
        if _holds_words(table.frame[name]):
            remedy = "Keep one column of classes, or several columns of numbers only; or choose one: "
            remedy += f"outcome={name!r} (--outcome {name})"
            table.note_whole(f"{problem}, but this holds text", remedy, name)
            return ""
    return "number"


def _holds_words(column: pl.Series) -> bool:
    """Say whether a column is text and no cell of it is a number."""
    if column.dtype not in TEXT_TYPES:
        return False
    text = _texts(column).drop_nulls()
    return len(text) > 0 and bool(_as_numbers(text).is_null().all())


def _kind_of_column(column: pl.Series) -> str:
    """Take text and few whole numbers for classes; a word among many fractions is a faulty number."""
    if column.dtype in (pl.Boolean, pl.Null):
        return "class"
    text = _texts(column).drop_nulls()
    counts = text.value_counts()
    distinct = counts.to_series(0)
    whole = distinct.str.contains(WHOLE)
    if whole.all():
        return "class" if counts.height <= MOST_CLASSES else "number"
    number = _as_numbers(distinct).is_not_null()
    fractions = counts.filter(number & ~whole)["count"].sum()
    mostly_numbers = number.all() or 2 * fractions > len(text)
    return "number" if mostly_numbers else "class"


def _as_numbers(text: pl.Series) -> pl.Series:
    return text.str.strip_chars().cast(pl.Float64, strict=False)


def _texts(column: pl.Series) -> pl.Series:
    """Return outcomes as text, whole floats without their point, null where they are missing."""
    if column.dtype.is_float() and ((column % 1 == 0) & (column.abs() < LARGEST_WHOLE)).all():
        column = column.cast(pl.Int128)
    text = column.cast(pl.String, strict=False)
    missing = text.is_in(NO_CLASSES).fill_null(False)
    if missing.any():
        text = text.set(missing, None)
    return text


def _classes(table: Table, rows: np.ndarray, scope: Scope) -> tuple[np.ndarray, list[str]]:
    """Return the class of each row, -1 where there is none, and the class names."""
    name = table.values[0]
    column = table.frame[name]
    none = np.full(len(column), -1)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        table.note_whole(f"outcomes have type {column.dtype}", "Write one class or number per row", name)
        return none, []
    text = _texts(column)
    not_finite = text.str.contains(NOT_FINITE).fill_null(False)
    if not scope.options.nan_is_missing:
        table.note(not_finite, name, lambda value: f"{value!r} is no class", NAN_REMEDY)
    text = text.set(not_finite | ~pl.Series(rows), None)
    if not table.typed:
        text = _with_plain_booleans(text, scope.options.classes)
    names = _class_names(text, scope.options.classes)
    if not names:
        return none, []
    codes = text.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64)
    classes = codes.fill_null(-1).to_numpy()
    if not scope.options.allow_rare_classes:
        rows_of_class = np.bincount(classes[classes >= 0], minlength=len(names) + 1)
        rare = (rows_of_class[classes] == 1) & (classes >= 0)
        remedy = "Merge it with another class or drop the row, or pass allow_rare_classes=True (--allow-rare)"
        table.note(rare, name, lambda value: f"class {value!r} is seen only once", remedy)
    return classes, names


def _with_plain_booleans(text: pl.Series, known: Sequence[str]) -> pl.Series:
    """Spell booleans of CSV as those of a frame are spelled, unless known classes have their spelling."""
    found = set(text.unique().drop_nulls().to_list())
    for spelling in BOOLEANS_OF_CSV:
        if found <= spelling and spelling.isdisjoint(known):
            return text.str.to_lowercase()
    return text


def _class_names(text: pl.Series, given: Sequence[str]) -> list[str]:
    found = text.drop_nulls().unique()
    new = set(found.to_list()).difference(given)
    if pl.Series(list(new), dtype=pl.String).str.contains(WHOLE).all():
        return [*given, *sorted(new, key=int)]
    return [*given, *sorted(new)]


def _numbers(table: Table, *, nan_is_missing: bool) -> np.ndarray:
    """Return the numbers of each row, ``[R, K]``, NaN where one is missing."""
    values = np.empty((table.frame.height, len(table.values)), dtype=np.float32)
    filled = np.empty(values.shape, dtype=bool)
    for i, name in enumerate(table.values):
        values[:, i] = numbers(table, name, what="an outcome", nan_is_missing=nan_is_missing)
        filled[:, i] = table.frame[name].is_not_null().to_numpy()
    absent = np.isnan(values)
    unreadable = np.any(filled & absent, axis=1)  # noted already
    partly = absent.any(1) & ~absent.all(1) & ~unreadable
    remedy = "Write every outcome of the row, or leave the row out"
    table.note(partly, table.values[0], "some outcomes of this row are missing", remedy)
    return values
