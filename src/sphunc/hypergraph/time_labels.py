"""Labels of times: which position of the time axis a wave, a date or an ISO string names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import numpy as np

from sphunc._checks import did_you_mean, is_whole, plain_scalar
from sphunc.errors import ArgumentError

SHOWN = 6  # times that an error lists before it leaves some out
MIDNIGHT = datetime.min.time()


def resolve_time(label: object, times: Sequence[object]) -> int:
    """Return the position of the one time that ``label`` names.

    A label equals its time, or writes the same time in another way: a date or datetime for an ISO string and the other
    way round, a date for the only datetime of that day, digits for an integer. Positions are never taken for labels.

    Args:
        label: a wave number, a date, a datetime or a string, as the user writes times.
        times: the times of the data, ascending.

    Raises:
        ArgumentError: no time, or more than one, has this label; the message lists the times.

    Example:
        >>> resolve_time("2024-05-01", (date(2024, 4, 1), date(2024, 5, 1)))
        1
        >>> resolve_time(5, (3, 4, 5))
        2
    """
    label = _plain(label)
    if not isinstance(label, bool):
        positions = _positions_of(label, times)
        if len(positions) == 1:
            return positions[0]
        if positions:
            found = ", ".join(show_time(times[position]) for position in positions[:SHOWN])
            raise ArgumentError(f"{show_time(label)} fits {len(positions)} times ({found}); give one of them")
    raise ArgumentError(_refusal(label, times))


def show_time(time: object) -> str:
    """Write a time as in a table: dates in ISO form, strings in quotes."""
    if isinstance(time, date):
        return time.isoformat()
    return repr(time)


def show_times(times: Sequence[object]) -> str:
    """List times for an error, the middle left out where they are many."""
    shown = [show_time(time) for time in times]
    if len(shown) > SHOWN:
        shown[SHOWN // 2 : -SHOWN // 2] = ["..."]
    return ", ".join(shown)


def _plain(label: object) -> object:
    # numpy and torch scalars as the Python values that tables hold; dates of numpy may be finer than Python's
    if not isinstance(label, np.datetime64):
        return plain_scalar(label)
    unit = "us"
    if np.datetime_data(label.dtype)[0] == "D":
        unit = "D"
    return label.astype(f"datetime64[{unit}]").item()


def _positions_of(label: object, times: Sequence[object]) -> list[int]:
    equal = [position for position, time in enumerate(times) if _is_equal(time, label)]
    if equal:
        return equal
    if isinstance(label, str) and label.strip().lstrip("+-").isdecimal():
        number = int(label)
        same = [position for position, time in enumerate(times) if is_whole(time) and time == number]
        if same:
            return same
    moment = iso_moment(label)
    if moment is None:
        return []
    moments = [iso_moment(time) for time in times]
    if isinstance(moment, datetime):
        return [position for position, time in enumerate(moments) if _at(time) == moment]
    return [position for position, time in enumerate(moments) if _day(time) == moment]


def _is_equal(time: object, label: object) -> bool:
    return isinstance(time, str) == isinstance(label, str) and bool(time == label)


def iso_moment(value: object) -> date | datetime | None:
    """Understand a time as a date or datetime, also one written as an ISO string; None if it is neither."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        return None
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(value.strip())
        except ValueError:
            continue
    return None


def _at(moment: date | datetime | None) -> datetime | None:
    if moment is None or isinstance(moment, datetime):
        return moment
    return datetime.combine(moment, MIDNIGHT)


def _day(moment: date | datetime | None) -> date | None:
    if isinstance(moment, datetime):
        return moment.date()
    return moment


def _refusal(label: object, times: Sequence[object]) -> str:
    found = f"{show_time(label)} is not a time of the data, whose times are {show_times(times)}"
    if is_whole(label) and 0 <= int(label) < len(times):  # type: ignore[call-overload]
        named = show_time(times[int(label)])  # type: ignore[call-overload]
        return f"{found}; position {label} is time {named}: give this label, or until_index({label}) for the position"
    hint = ""
    if isinstance(label, str):
        hint = did_you_mean(label, [_text(time) for time in times])
    return f"{found}{hint}; give one of these labels, or a position from 0 to {len(times) - 1} to until_index(i)"


def _text(time: object) -> str:
    if isinstance(time, date):
        return time.isoformat()
    return str(time)
