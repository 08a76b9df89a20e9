"""Steps that are missing from an otherwise regular calendar of integers, days, months or instants."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta

import numpy as np

from sphunc.hypergraph.time_labels import iso_moment, show_time

REGULAR_SHARE = 0.5  # of the steps must be the smallest one for a calendar to count as regular
BUSINESS_WEEK = 5  # business days that must be missing in a row: fewer may be holidays
SATURDAY = 5
SHOWN = 5  # missing times that the sentence names


def missing_times(times: Sequence[object]) -> tuple[list[str], int]:
    """Return the names of the first missing times of a regular calendar, and how many are missing in all.

    A calendar is regular if its smallest step is at least half of all its steps and the others are multiples of it:
    whole numbers, instants, days, or months where the day of the month stays. Days without a single weekend are
    business days, of which a whole week must be missing. Other times are irregular by nature: nothing is missing.

    Args:
        times: the user's times, ascending.

    Example:
        >>> missing_times((1, 2, 3, 5))
        (['4'], 1)
    """
    if len(times) < 3:
        return [], 0
    numbers = [int(time) for time in times if isinstance(time, (int, np.integer))]
    if len(numbers) == len(times):
        return _missing(numbers, str, fewest=1)
    moments = [iso_moment(time) for time in times]
    if any(moment is None for moment in moments):
        return [], 0
    days = [moment for moment in moments if moment is not None and not isinstance(moment, datetime)]
    if len(days) < len(moments):
        instants = [moment for moment in moments if isinstance(moment, datetime)]
        if len(instants) < len(moments):
            return [], 0
        return _missing_instants(instants)
    if _keeps_day_of_month(days):
        months = [12 * day.year + day.month - 1 for day in days]
        return _missing(months, lambda month: f"{month // 12:04d}-{month % 12 + 1:02d}", fewest=1)
    is_daily = min(np.diff(np.asarray(days, dtype="datetime64[D]"))) == np.timedelta64(1, "D")
    if is_daily and all(day.weekday() < SATURDAY for day in days) and (days[-1] - days[0]).days > 7:
        return _missing_business_days(days)
    return _missing([day.toordinal() for day in days], _day_name, fewest=1)


def _missing(places: Sequence[int], name: Callable[[int], str], fewest: int) -> tuple[list[str], int]:
    # places count the smallest unit of the calendar; name writes a place as a time
    steps = np.diff(np.asarray(places, dtype=object))
    step = min(steps)
    is_regular = all(size % step == 0 for size in steps) and sum(steps == step) >= REGULAR_SHARE * len(steps)
    if not is_regular or (len(places) < 4 and step > 1):
        return [], 0
    names: list[str] = []
    total = 0
    for before, size in zip(places, steps, strict=False):
        skipped = size // step - 1
        if skipped < fewest:
            continue
        total += skipped
        wanted = min(skipped, SHOWN - len(names))
        names += [name(before + step * (1 + i)) for i in range(wanted)]
    return names, int(total)


def _missing_instants(instants: Sequence[datetime]) -> tuple[list[str], int]:
    if len({instant.tzinfo is None for instant in instants}) > 1:
        return [], 0
    first = instants[0]
    microsecond = timedelta(microseconds=1)
    places = [(instant - first) // microsecond for instant in instants]
    return _missing(places, lambda place: show_time(first + place * microsecond), fewest=1)


def _missing_business_days(days: Sequence[date]) -> tuple[list[str], int]:
    first = np.datetime64(days[0], "D")
    places = np.busday_count(first, np.asarray(days, dtype="datetime64[D]")).tolist()
    return _missing(places, lambda place: str(np.busday_offset(first, place)), fewest=BUSINESS_WEEK)


def _keeps_day_of_month(days: Sequence[date]) -> bool:
    same_day = len({day.day for day in days}) == 1
    last_day = all(day.day == monthrange(day.year, day.month)[1] for day in days)
    return same_day or last_day


def _day_name(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat()
