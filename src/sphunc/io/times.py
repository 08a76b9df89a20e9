"""Times as users write them: integers, dates or ISO datetimes, each kept as its kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
import polars as pl

Time = int | date
"""An integer, a date or a datetime (which Python counts among the dates)."""
INTEGER = re.compile(r"[+-]?\d{1,18}")
MONTH = re.compile(r"\d{4}-\d{2}")
QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
TIME_REMEDY = "Write an integer, a date (2026-01-31) or an ISO datetime (2026-01-31T12:00:00)"


def time_kind(time: Time) -> str:
    """Name the kind of a time."""
    if isinstance(time, datetime):
        if time.tzinfo is None:
            return "datetime"
        return "datetime with time zone"
    if isinstance(time, date):
        return "date"
    return "integer"


def parse_time(cell: object) -> Time | None:
    """Read one time: integers stay, text is an integer, a date or an ISO datetime; None if neither.

    Months (2026-01) and quarters (2026Q1, 2026-Q1) are the dates of their first days.
    """
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if INTEGER.fullmatch(text):
        return int(text)
    month = MONTH.fullmatch(text)
    quarter = QUARTER.fullmatch(text)
    if month:
        text += "-01"
    elif quarter:
        first_month = 3 * int(quarter[2]) - 2
        text = f"{quarter[1]}-{first_month:02d}-01"
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


def written_time(time: Time) -> int | str:
    """Write a time as JSON and CSV hold it: integers as they are, dates and datetimes in ISO form."""
    if isinstance(time, int):
        return time
    return time.isoformat()


@dataclass(frozen=True)
class TimeColumn:
    """The times of a table, coded: ``values[codes]`` gives them row by row.

    Attributes:
        codes: place in ``values`` of each row, -1 where the cell is empty.
        values: the different times; None for a text that is no time.
    """

    codes: np.ndarray
    values: tuple[Time | None, ...]

    def kinds(self) -> list[str]:
        """Return the kinds of time that occur, the most frequent first."""
        rows = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        rows_of_kind: dict[str, int] = {}
        for value, count in zip(self.values, rows.tolist(), strict=True):
            if value is not None:
                kind = time_kind(value)
                rows_of_kind[kind] = rows_of_kind.get(kind, 0) + count
        return sorted(rows_of_kind, key=rows_of_kind.__getitem__, reverse=True)

    def mask(self, wanted: Iterable[bool]) -> np.ndarray:
        """Return, per row, whether its value is ``wanted``; empty cells are not."""
        return np.array([*wanted, False])[self.codes]

    def index(self, times: Iterable[Time]) -> np.ndarray:
        """Return, per row, the place of its time among ``times``, or -1 where there is none."""
        place: Mapping[Time | None, int] = {time: i for i, time in enumerate(times)}
        places = [place.get(value, -1) for value in self.values]
        return np.array([*places, -1], dtype=np.int32)[self.codes]


def parse_times(column: pl.Series) -> TimeColumn | None:
    """Read a column of times; None if its type can never hold one (floats, lists, durations ...)."""
    dtype = column.dtype
    if dtype == pl.Null:
        return TimeColumn(np.full(len(column), -1), ())
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        codes, texts = factorize(column.cast(pl.String))
        return TimeColumn(codes, tuple(parse_time(text) for text in texts))
    if dtype.is_integer():
        column = column.cast(pl.Int64, strict=False)
    elif isinstance(dtype, pl.Datetime):
        column = column.cast(pl.Datetime("us", dtype.time_zone))
    elif dtype != pl.Date:
        return None
    distinct = column.drop_nulls().unique().sort()
    codes = distinct.to_physical().search_sorted(column.to_physical()).cast(pl.Int32)
    if column.null_count():
        codes = codes.set(column.is_null(), -1)
    return TimeColumn(codes.to_numpy(), tuple(distinct.to_list()))


def factorize(column: pl.Series) -> tuple[np.ndarray, list[str]]:
    """Code a text column: indices into its distinct texts in order of appearance, -1 where empty."""
    texts = column.drop_nulls().unique(maintain_order=True)
    codes = column.cast(pl.Enum(texts)).to_physical().cast(pl.Int32)
    return codes.fill_null(-1).to_numpy(), texts.to_list()
