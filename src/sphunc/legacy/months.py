"""Calendars of months, quarters and years: steps that days cannot count, as no two months need be of one length."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any

LONGEST = 31


def continue_months(times: Sequence[Any], ahead: int) -> date | None:
    """Return the date ``ahead`` steps after the last one where times are whole months apart; else None.

    They are if the same number of months lies between neighbours, at the same hour, and all fall on the same day of
    their month, or on its last day where the month is shorter. Days that are all the last of their month stay so.

    Args:
        times: dates or datetimes, ascending; anything else is no calendar.
        ahead: steps beyond the last one, 1 or more.

    Example:
        >>> continue_months([date(2025, 11, 30), date(2025, 12, 31), date(2026, 1, 31)], 1)
        datetime.date(2026, 2, 28)
    """
    if len(times) < 2 or not all(isinstance(time, date) for time in times) or len({_hour(time) for time in times}) > 1:
        return None
    gaps = {_month(later) - _month(earlier) for earlier, later in pairwise(times)}
    day = LONGEST if all(time.day == _length(_month(time)) for time in times) else max(time.day for time in times)
    if len(gaps) > 1 or 0 in gaps or any(time.day != min(day, _length(_month(time))) for time in times):
        return None
    month = _month(times[-1]) + ahead * gaps.pop()
    return times[-1].replace(year=month // 12, month=month % 12 + 1, day=min(day, _length(month)))


def _month(time: date) -> int:
    return time.year * 12 + time.month - 1


def _length(month: int) -> int:
    return monthrange(month // 12, month % 12 + 1)[1]


def _hour(time: date) -> Any:
    return (time.time(), time.tzinfo) if isinstance(time, datetime) else None
