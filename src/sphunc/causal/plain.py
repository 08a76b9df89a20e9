"""Ids and times as JSON keeps them: texts, numbers, and dates with the name of their kind."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

DATES: dict[str, type[date]] = {"date": date, "datetime": datetime}


def is_plain(value: Any) -> bool:
    """Say whether JSON keeps a value: a text, a number, a date, nothing, or a tuple of them."""
    if isinstance(value, tuple):
        return all(is_plain(part) for part in value)
    return value is None or isinstance(value, str | int | float | date)


def written(value: Any) -> Any:
    """Return a plain value as JSON takes it: a date is ``{"date": "2026-02-28"}``.

    Example:
        >>> written((1, date(2026, 2, 28)))
        [1, {'date': '2026-02-28'}]
    """
    if isinstance(value, tuple):
        return [written(part) for part in value]
    if isinstance(value, date):
        return {"datetime" if isinstance(value, datetime) else "date": value.isoformat()}
    return value


def read_back(value: Any) -> Any:
    """Return what :func:`written` was given; objects that are no dates stay as they are."""
    if isinstance(value, list):
        return tuple(read_back(part) for part in value)
    if not isinstance(value, dict) or len(value) != 1:
        return value
    (kind, text), *_ = value.items()
    try:
        return DATES[kind].fromisoformat(text)
    except (KeyError, TypeError, ValueError):
        return value
