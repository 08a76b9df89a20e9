"""Cells as people write them: marks of missing values, dates of several countries, decimal commas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from sphunc.io.tables.cells import MISSING, TEXT_TYPES
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.table import Table

DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+$"
DECIMAL_POINT = r"^[+-]?\d*\.\d+$"
DOTTED_DATE = r"^\d{1,2}\.\d{1,2}\.\d{4}$"
SLASHED_DATE = r"^\d{1,2}[/-]\d{1,2}[/-]\d{4}$"
WHOLE_FLOAT = r"^[+-]?\d{1,15}\.0+$"


def tidy(table: Table, layout: Layout, classes: Sequence[str] = ()) -> Table:
    """Return the table with columns left out, and with plain dates, numbers and empty cells.

    Args:
        table: as it was read.
        layout: what the user said of it.
        classes: names of classes that are known: none of them marks a missing value.
    """
    table = table.without([name for name in layout.drop if name in table.values])
    frame = table.frame
    if "time" in table.roles:
        frame = frame.with_columns(_plain_times(table.column("time"), layout))
    named = _value_columns(table)
    if not table.typed and _has_decimal_commas(frame, named, layout):
        frame = frame.with_columns(_with_points(frame[name]) for name in named if frame[name].dtype in TEXT_TYPES)
        if layout.decimal is None:
            table.log.note(f"{table.file} is read with decimal commas: 1,5 is 1.5 (decimal='.' changes that)")
    marks = [mark for mark in MISSING if mark not in classes]
    for name in named:
        frame = frame.with_columns(_without_marks(replace(table, frame=frame), name, marks, layout))
    return replace(table, frame=frame)


def _value_columns(table: Table) -> list[str]:
    """Columns of features and outcomes, and of weights: those in which a mark may stand for nothing."""
    roles = [table.roles[role] for role in ("outcome", "weight") if role in table.roles]
    return [*table.values, *roles]


def _plain_times(column: pl.Series, layout: Layout) -> pl.Series:
    """Return times with dates in ISO form and whole numbers without their point."""
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        if (whole.cast(column.dtype) == column).all() and whole.null_count() == column.null_count():
            return whole
        return column
    if column.dtype not in TEXT_TYPES:
        return column
    text = column.cast(pl.String).str.strip_chars()
    if len(text) and text.drop_nulls().str.contains(WHOLE_FLOAT).all():
        return text.str.replace(r"\.0+$", "")
    dates = _dates(text, DOTTED_DATE, "%d.%m.%Y")
    if layout.dayfirst is not None:
        order = {True: "%d/%m/%Y", False: "%m/%d/%Y"}[layout.dayfirst]
        slashed = _dates(text.str.replace_all("-", "/"), SLASHED_DATE.replace("[/-]", "/"), order)
        dates = pl.select(pl.coalesce(dates, slashed)).to_series()
    return pl.select(pl.coalesce(dates, column.cast(pl.String))).to_series().alias(column.name)


def _dates(text: pl.Series, pattern: str, order: str) -> pl.Series:
    """Return dates of one form as ISO text, null elsewhere."""
    fitting = text.set((~text.str.contains(pattern)).fill_null(True), None)
    return fitting.str.to_date(order, strict=False).cast(pl.String)


def _has_decimal_commas(frame: pl.DataFrame, named: Sequence[str], layout: Layout) -> bool:
    if layout.decimal is not None:
        return layout.decimal == ","
    texts = [frame[name] for name in named if frame[name].dtype == pl.String]
    commas = any(text.str.contains(DECIMAL_COMMA).any() for text in texts)
    points = any(text.str.contains(DECIMAL_POINT).any() for text in texts)
    return commas and not points and layout.delimiter not in (None, ",")


def _with_points(column: pl.Series) -> pl.Series:
    text = column.cast(pl.String)
    numbers = text.str.strip_chars().str.contains(DECIMAL_COMMA).fill_null(False)
    plain = text.str.strip_chars().str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return plain.zip_with(numbers, text)


def _without_marks(table: Table, name: str, marks: Sequence[str], layout: Layout) -> pl.Series:
    """Return a column with empty cells in place of marks of missing values."""
    column = table.frame[name]
    if column.dtype in TEXT_TYPES:
        return _text_without_marks(table, column, marks, layout)
    if not column.dtype.is_numeric():
        return column
    if not table.typed and column.dtype.is_float():
        column = column.fill_nan(None)
    codes = [float(code) for code in layout.missing if _is_number(code)]
    coded = column.cast(pl.Float64).is_in(codes).fill_null(False)
    _note_codes(table, name, int(coded.sum()), layout)
    return column.set(coded, None)


def _text_without_marks(table: Table, column: pl.Series, marks: Sequence[str], layout: Layout) -> pl.Series:
    text = column.cast(pl.String)
    stripped = text.str.strip_chars()
    coded = stripped.is_in(list(layout.missing)).fill_null(False)
    codes = [float(code) for code in layout.missing if _is_number(code)]
    if codes:
        coded = coded | stripped.cast(pl.Float64, strict=False).is_in(codes).fill_null(False)
    _note_codes(table, column.name, int(coded.sum()), layout)
    marked = stripped.is_in(list(marks)).fill_null(False)
    is_outcome = "outcome" in (table.kind, table.kind.rstrip("s")) or column.name == table.roles.get("outcome")
    words = stripped.filter(marked).unique().to_list()
    words = sorted(word for word in words if word not in ("", "NA"))
    if is_outcome and words:
        count = int((marked & stripped.is_in(words)).sum())
        shown = ", ".join(map(repr, words))
        table.log.note(f"{table.file} column {column.name}: {shown} in {count} rows counts as a missing outcome")
    return text.set(marked | coded, None)


def _note_codes(table: Table, name: str, count: int, layout: Layout) -> None:
    if count:
        cells = "1 cell" if count == 1 else f"{count:,} cells"
        codes = " or ".join(layout.missing)
        table.log.note(f"{table.file} column {name}: {cells} of {codes} left empty, as asked for")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
