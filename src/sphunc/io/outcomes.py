"""Outcomes of a table: one column of classes, or columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sphunc.io.cells import MISSING, numbers
from sphunc.io.faults import Fault
from sphunc.io.scope import Scope, note_duplicates
from sphunc.io.sources import Table

MOST_CLASSES = 20
NOT_FINITE = r"(?i)^[+-]?(nan|inf|infinity)$"
WHOLE = r"^(0|-?[1-9][0-9]{0,308})$"  # as many digits as the largest float has: classes need not fit int64, as ids must
SPELLINGS = (("False", "True"), ("FALSE", "TRUE"))
"""How spreadsheets, R and Python write booleans into CSV, beside false and true."""


def read_outcomes(table: Table, scope: Scope) -> dict[str, Any]:
    """Return the outcome columns as :func:`sphunc.hypergraph.assemble` takes them."""
    if table.frame.height == 0 and not scope.options.allow_empty_groups:
        scope.log.add(Fault(table.file, "there is a header but no row", "Write one row per time and agent"))
    if not table.values:
        problem = "there is no column 'outcome'"
        scope.log.add(Fault(table.file, problem, "Add it: one class or number per row", column="outcome"))
        return {}
    time, agent = scope.time_index(table), scope.agent_index(table, "agent")
    good = note_duplicates(table, [time, agent], "agent", "an outcome for this time and agent", scope.log)
    kind = outcome_kind(table, scope)
    if kind == "class":
        return _classes(table, table.values[0], (time, agent, good), scope)
    return _numbers(table, (time, agent, good), scope) if kind else {}


def outcome_kind(table: Table, scope: Scope) -> str:
    """Decide between "class" and "number"; "" if the columns are neither (noted)."""
    wanted = scope.options.outcome
    if len(table.values) > 1:
        if wanted == "class":
            problem = f"there are {len(table.values)} outcome columns ({', '.join(table.values[:5])})"
            scope.log.add(Fault(table.file, problem, "Keep one column of classes, or pass outcome='number'"))
        elif words := next((name for name in table.values if _holds_words(table.frame[name])), None):
            problem = (
                f"there are {len(table.values)} outcome columns ({', '.join(table.values[:5])}), but this holds text"
            )
            remedy = "Keep one column of classes, or several columns of numbers only"
            scope.log.add(Fault(table.file, problem, remedy, column=words))
            return ""
        return "number"
    if wanted != "auto":
        return wanted
    return _looks_like(table.frame[table.values[0]])


def _holds_words(column: pl.Series) -> bool:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return False
    text = _texts(column).drop_nulls()
    return len(text) > 0 and bool(text.str.strip_chars().cast(pl.Float64, strict=False).is_null().all())


def _looks_like(column: pl.Series) -> str:
    if column.dtype in (pl.Boolean, pl.Null):
        return "class"
    text = _texts(column).drop_nulls()
    counts = text.value_counts()
    whole = counts.to_series(0).str.contains(WHOLE)
    if whole.all():
        return "class" if counts.height <= MOST_CLASSES else "number"
    number = counts.to_series(0).str.strip_chars().cast(pl.Float64, strict=False).is_not_null()
    fractions = counts.filter(number & ~whole)["count"].sum()
    return "number" if 2 * fractions > len(text) or number.all() else "class"


def _texts(column: pl.Series) -> pl.Series:
    is_whole = column.dtype.is_float() and not column.is_nan().any() and (column.drop_nulls() % 1 == 0).all()
    text = _whole_texts(column) if is_whole else column.cast(pl.String, strict=False)
    missing = text.is_in(MISSING).fill_null(False)
    return text.set(missing, None) if missing.any() else text


def _whole_texts(column: pl.Series) -> pl.Series:
    if ((column >= -(2.0**63)) & (column < 2.0**63)).all():
        return column.cast(pl.Int64).cast(pl.String)
    return pl.Series(column.name, [None if value is None else str(int(value)) for value in column], dtype=pl.String)


def _booleans_of_csv(text: pl.Series, given: Sequence[str]) -> pl.Series:
    """Spell the booleans of a CSV column as those of a frame are spelled, unless known classes have its spelling."""
    seen = set(text.unique().drop_nulls().to_list())
    spelled = any(seen <= set(words) and set(words).isdisjoint(given) for words in SPELLINGS)
    return text.str.to_lowercase() if spelled else text


def _classes(table: Table, name: str, rows: tuple[np.ndarray, ...], scope: Scope) -> dict[str, Any]:
    time, agent, good = rows
    column = table.frame[name]
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        problem = f"outcomes have type {column.dtype}"
        scope.log.add(Fault(table.file, problem, "Write one class or number per row", column=name))
        return {}
    text = _texts(column)
    odd = text.str.contains(NOT_FINITE).fill_null(False)
    if not scope.options.nan_is_missing:
        remedy = "Leave the cell empty if it was not observed, or pass nan_is_missing=True (--nan-is-missing)"
        table.note(scope.log, odd, name, lambda value: f"{value!r} is no class", remedy)
    text = text.set(odd, None)
    text = text if table.typed else _booleans_of_csv(text, scope.options.classes)
    good = good & text.is_not_null().to_numpy()
    names = _class_names(text.filter(pl.Series(good)), scope.options.classes)
    if not names:
        return {}
    code = text.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    _note_rare(table, name, np.where(good, code, -1), len(names), scope)
    return {"outcomes": (time[good], agent[good], code[good]), "class_names": names}


def _class_names(text: pl.Series, given: Sequence[str]) -> list[str]:
    seen = set(text.unique().to_list()).difference(given)
    whole = pl.Series(list(seen), dtype=pl.String).str.contains(WHOLE).all()
    return [*given, *(sorted(seen, key=int) if whole else sorted(seen))]


def _note_rare(table: Table, name: str, code: np.ndarray, size: int, scope: Scope) -> None:
    if scope.options.allow_rare_classes:
        return
    counts = np.bincount(code[code >= 0], minlength=size + 1)
    rare = (counts[code] == 1) & (code >= 0)
    remedy = "Merge it with another class or drop the row, or pass allow_rare_classes=True (--allow-rare)"
    table.note(scope.log, rare, name, lambda value: f"class {value!r} is seen only once", remedy)


def _numbers(table: Table, rows: tuple[np.ndarray, ...], scope: Scope) -> dict[str, Any]:
    time, agent, good = rows
    missing = scope.options.nan_is_missing
    values = [numbers(table, name, scope.log, what="an outcome", nan_is_missing=missing) for name in table.values]
    stacked = np.stack(values, axis=1)
    absent = np.isnan(stacked)
    partly = absent.any(1) & ~absent.all(1) & ~_unreadable(table, absent)
    remedy = "Write every outcome of the row, or leave the row out"
    table.note(scope.log, partly, table.values[0], "some outcomes of this row are missing", remedy, value=None)
    good = good & ~absent.any(1)
    return {"outcomes": (time[good], agent[good], stacked[good]), "outcome_names": table.values}


def _unreadable(table: Table, absent: np.ndarray) -> np.ndarray:
    filled = np.stack([table.frame[name].is_not_null().to_numpy() for name in table.values], axis=1)
    return np.asarray((filled & absent).any(1))
