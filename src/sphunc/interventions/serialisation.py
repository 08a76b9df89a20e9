"""Ids, times and numbers as JSON keeps them: texts, numbers, lists, dates with their kind."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

DATES: dict[str, type[date]] = {"date": date, "datetime": datetime}


def can_serialise(value: object) -> bool:
    """Say whether JSON keeps a value: a text, a number, a date, None, or a tuple of them."""
    if isinstance(value, tuple):
        return all(can_serialise(part) for part in value)
    return value is None or isinstance(value, str | int | float | date)


def serialise(value: Any) -> Any:
    """Return a value as JSON takes it: a date is ``{"date": "2026-02-28"}``.

    Example:
        >>> serialise((1, date(2026, 2, 28)))
        [1, {'date': '2026-02-28'}]
    """
    if isinstance(value, tuple):
        return [serialise(part) for part in value]
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return value


def deserialise(value: Any) -> Any:
    """Return what :func:`serialise` was given; objects that are no dates stay as they are."""
    if isinstance(value, list):
        return tuple(deserialise(part) for part in value)
    if not isinstance(value, dict) or len(value) != 1:
        return value
    kind = next(iter(value))
    try:
        return DATES[kind].fromisoformat(value[kind])
    except (KeyError, TypeError, ValueError):
        return value
