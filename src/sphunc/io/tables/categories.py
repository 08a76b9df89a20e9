"""Features that are words: a column of categories becomes indicator columns, one of truth values 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sphunc.io.tables.cells import TEXT_TYPES, numbers
from sphunc.io.tables.table import Table

MOST_CATEGORIES = 20
TRUTH_VALUES = {"true": 1.0, "false": 0.0}
SHOWN = 6


def feature_columns(table: Table, known: Sequence[str], *, nan_is_missing: bool) -> tuple[list[str], list[np.ndarray]]:
    """Return names and numbers of the features; NaN where nothing was observed.

    A column of at most 20 words becomes a column of 0 and 1 per word, called ``column=word``; of two words the second
    alone, since the first is its complement.

    Args:
        table: the features.
        known: features of data that this table continues: their words are used, others are 0.
        nan_is_missing: take NaN as not observed.
    """
    names: list[str] = []
    columns: list[np.ndarray] = []
    for name in table.values:
        words = _words(table.frame[name])
        if words is None:
            names.append(name)
            columns.append(numbers(table, name, what="a feature", nan_is_missing=nan_is_missing))
            continue
        found, values = _indicators(table, name, words, known)
        names += found
        columns += values
    return names, columns


def _words(column: pl.Series) -> pl.Series | None:
    """Return the cells of a column of words, null where empty; None for a column of numbers."""
    if column.dtype not in TEXT_TYPES:
        return None
    text = column.cast(pl.String).str.strip_chars()
    text = text.set((text == "").fill_null(False), None)
    present = text.drop_nulls()
    if not len(present):
        return None
    is_number = present.cast(pl.Float64, strict=False).is_not_null()
    if 2 * int(is_number.sum()) >= len(present):
        return None
    return text


def _indicators(table: Table, name: str, words: pl.Series, known: Sequence[str]) -> tuple[list[str], list[np.ndarray]]:
    present = sorted(words.drop_nulls().unique().to_list())
    lowered = words.str.to_lowercase()
    prefix = f"{name}="
    expected = [feature.removeprefix(prefix) for feature in known if feature.startswith(prefix)]
    if not expected and set(lowered.drop_nulls().unique().to_list()) <= set(TRUTH_VALUES):
        table.log.note(f"feature {name!r} holds truth values; true is 1, false is 0")
        values = lowered.replace_strict(TRUTH_VALUES, return_dtype=pl.Float32, default=None)
        return [name], [values.fill_null(float("nan")).to_numpy()]
    if expected:
        _note_unknown(table, name, present, expected)
        levels = expected
    elif len(present) > MOST_CATEGORIES:
        problem = f"it holds {len(present)} different texts, such as {present[0]!r} and {present[1]!r}"
        remedy = f"A feature has at most {MOST_CATEGORIES} categories: leave the column out (drop, --drop {name})"
        table.note_whole(problem, f"{remedy}, or group its texts", name)
        return [], []
    else:
        levels = present[-1:] if len(present) == 2 else present
        _note_indicators(table, name, present, levels)
    empty = words.is_null().to_numpy()
    columns = []
    for level in levels:
        values = (words == level).fill_null(False).to_numpy().astype(np.float32)
        values[empty] = np.nan
        columns.append(values)
    return [prefix + level for level in levels], columns


def _note_indicators(table: Table, name: str, present: Sequence[str], levels: Sequence[str]) -> None:
    if len(present) == 2:
        sentence = f"it becomes the column '{name}={present[1]}': 1 for {present[1]}, 0 for {present[0]}"
    else:
        shown = ", ".join(f"'{name}={level}'" for level in levels[:SHOWN])
        if len(levels) > SHOWN:
            shown += ", ..."
        plural = "s" if len(levels) > 1 else ""
        sentence = f"it becomes {len(levels)} column{plural} of 0 and 1: {shown}"
    table.log.note(f"feature {name!r} holds words; {sentence}")


def _note_unknown(table: Table, name: str, present: Sequence[str], expected: Sequence[str]) -> None:
    unknown = [word for word in present if word not in expected]
    # One word of two has no column: it is the complement of the other.
    allowed = 1 if len(expected) == 1 else 0
    if len(unknown) > allowed:
        shown = ", ".join(map(repr, unknown[:SHOWN]))
        table.log.note(
            f"feature {name!r} has {shown}, which the model did not learn from; it counts as none of the others"
        )
