"""Times of a table: integers, dates or ISO datetimes, each kept as the kind the user wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

INTEGER = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class TimeColumn:
    """The times of a table, coded: ``values[codes]`` gives them row by row.

    A cell that holds no time has code -1 when it is empty, and a value of None when it cannot be understood.
    """

    codes: np.ndarray
    values: tuple[Any, ...]

    def kinds(self) -> list[str]:
        """Return the kinds of time that occur, the most frequent first."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        seen: dict[str, int] = {}
        for value, count in zip(self.values, counts.tolist(), strict=True):
            if value is not None:
                seen[kind_of(value)] = seen.get(kind_of(value), 0) + count
        return sorted(seen, key=lambda kind: -seen[kind])

    def mask(self, wanted: Iterable[bool]) -> np.ndarray:
        """Return, per row, whether its value is ``wanted``; empty cells are not."""
        return np.append(np.fromiter(wanted, dtype=bool, count=len(self.values)), False)[self.codes]

    def index(self, places: dict[Any, int]) -> np.ndarray:
        """Return, per row, the place of its time, or -1 where there is none."""
        return np.array([*(places.get(value, -1) for value in self.values), -1], dtype=np.int32)[self.codes]


def kind_of(value: Any) -> str:
    """Name the kind of a time."""
    if isinstance(value, datetime):
        return "datetime" if value.tzinfo is None else "datetime with time zone"
    return "date" if isinstance(value, date) else "integer"


def parse_times(column: pl.Series) -> TimeColumn | None:
    """Understand a column as times; None if its type can never be one (floats, lists, durations ...)."""
    if column.dtype == pl.Null:
        return TimeColumn(np.full(len(column), -1), ())
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        codes, texts = factorize(column.cast(pl.String))
        return TimeColumn(codes, tuple(_parse(text) for text in texts))
    if column.dtype.is_integer():
        return _coded(column.cast(pl.Int64, strict=False))
    if column.dtype == pl.Date or column.dtype == pl.Datetime:
        return _coded(
            column.cast(pl.Datetime("us", column.dtype.time_zone)) if isinstance(column.dtype, pl.Datetime) else column
        )
    return None


def _coded(column: pl.Series) -> TimeColumn:
    distinct = column.drop_nulls().unique().sort()
    codes = distinct.to_physical().search_sorted(column.to_physical()).cast(pl.Int32)
    codes = codes.set(column.is_null(), -1) if column.null_count() else codes
    return TimeColumn(codes.to_numpy(), tuple(distinct.to_list()))


def factorize(column: pl.Series) -> tuple[np.ndarray, list[str]]:
    """Code a text column: indices into its distinct texts in order of appearance, -1 where empty."""
    texts = column.drop_nulls().unique(maintain_order=True)
    codes = column.cast(pl.Enum(texts)).to_physical().cast(pl.Int32)
    return codes.fill_null(-1).to_numpy(), texts.to_list()


def parse_time(time: Any) -> Any:
    """Understand one time: an integer stays, text is read as an integer, a date or an ISO datetime; None if neither."""
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    return _parse(time) if isinstance(time, str) else None


def _parse(text: str) -> Any:
    text = text.strip()
    if INTEGER.fullmatch(text):
        return int(text)
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None
