"""Label of a future time: the calendar of the data is continued where it is regular.

Regular are times at one distance (waves, days, hours), and dates whole months apart, which days
cannot count because months differ in length.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any

LONGEST_MONTH = 31


def time_label(times: Sequence[Any], index: int) -> Any:
    """Label of time ``index``, which may lie beyond the last time of the data.

    Args:
        times: labels of the data's times, ascending: integers, dates, datetimes or texts.
        index: position, 0 or more.

    Returns:
        The label itself, that of the continued calendar, or "last + steps" where it is not regular.

    Example:
        >>> time_label((3, 5, 7), 4), time_label((3, 5, 8), 3)
        (11, '8 + 1')
        >>> time_label((date(2025, 11, 30), date(2025, 12, 31), date(2026, 1, 31)), 3)
        datetime.date(2026, 2, 28)
    """
    if index < len(times):
        return times[index]
    last = times[-1]
    ahead = index - len(times) + 1
    month = _continue_months(times, ahead)
    if month is not None:
        return month
    distance = _common_distance(times)
    if distance is None:
        return f"{last} + {ahead}"
    return last + ahead * distance


def _common_distance(times: Sequence[Any]) -> Any:
    """Distance between neighbours where all are at the same one; else None."""
    if len(times) < 2 or not hasattr(times[0], "__sub__"):
        return None
    distances = {later - earlier for earlier, later in pairwise(times)}
    if len(distances) > 1:
        return None
    return distances.pop()


def _continue_months(times: Sequence[Any], ahead: int) -> date | None:
    """Date ``ahead`` steps after the last one where times are whole months apart; else None.

    The same number of months lies between neighbours, at the same hour, and all fall on the same
    day of their month, or on its last day where the month is shorter.
    """
    if len(times) < 2 or not all(isinstance(time, date) for time in times):
        return None
    if len({_hour(time) for time in times}) > 1:
        return None
    months = [_month(time) for time in times]
    gaps = {later - earlier for earlier, later in pairwise(months)}
    if len(gaps) > 1 or 0 in gaps:
        return None
    # Days that are all the last of their month stay so: February 28 is followed by March 31.
    day = max(time.day for time in times)
    if all(time.day == _month_length(month) for time, month in zip(times, months, strict=True)):
        day = LONGEST_MONTH
    for time, month in zip(times, months, strict=True):
        if time.day != min(day, _month_length(month)):
            return None
    target = months[-1] + ahead * gaps.pop()
    target_day = min(day, _month_length(target))
    return times[-1].replace(year=target // 12, month=target % 12 + 1, day=target_day)


def _month(time: date) -> int:
    """Months since the year 0."""
    return time.year * 12 + time.month - 1


def _month_length(month: int) -> int:
    return monthrange(month // 12, month % 12 + 1)[1]


def _hour(time: date) -> Any:
    if isinstance(time, datetime):
        return time.time(), time.tzinfo
    return None
