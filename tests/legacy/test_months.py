"""Months, quarters and years go on by the calendar, with the type of the times; anything else is left alone."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from sphunc.legacy.months import continue_months


def first_of(*months, day=1):
    return [date(year, month, day) for year, month in months]


@pytest.mark.parametrize(
    ("times", "ahead", "expected"),
    [
        (first_of((2025, 10), (2025, 11), (2025, 12)), 1, date(2026, 1, 1)),
        (first_of((2025, 10), (2025, 11), (2025, 12)), 3, date(2026, 3, 1)),
        (first_of((2025, 4), (2025, 7), (2025, 10)), 1, date(2026, 1, 1)),
        (first_of((2031, 1), (2032, 1), (2033, 1)), 1, date(2034, 1, 1)),
        (first_of((2026, 1), (2026, 2)), 1, date(2026, 3, 1)),
        (first_of((2026, 1), (2026, 2), day=15), 1, date(2026, 3, 15)),
        ([date(2025, 12, 31), date(2026, 1, 31), date(2026, 2, 28)], 1, date(2026, 3, 31)),
        ([date(2025, 6, 30), date(2025, 9, 30)], 1, date(2025, 12, 31)),
        ([date(2025, 12, 31), date(2026, 3, 31), date(2026, 6, 30)], 2, date(2026, 12, 31)),
        ([date(2025, 12, 30), date(2026, 1, 30), date(2026, 2, 28)], 1, date(2026, 3, 30)),
        ([date(2025, 2, 28), date(2026, 2, 28), date(2027, 2, 28)], 1, date(2028, 2, 29)),
    ],
)
def test_whole_months_go_on(times, ahead, expected):
    assert continue_months(times, ahead) == expected


@pytest.mark.parametrize("zone", [None, UTC, ZoneInfo("Europe/Amsterdam")])
def test_hour_and_zone_stay(zone):
    times = [datetime(2026, month, 1, 9, 30, tzinfo=zone) for month in (1, 2, 3)]
    found = continue_months(times, 1)
    assert found == datetime(2026, 4, 1, 9, 30, tzinfo=zone)
    assert type(found) is datetime
    assert found.tzinfo is zone


@pytest.mark.parametrize(
    "times",
    [
        [date(2026, 1, 1)],
        [3, 4, 5],
        [date(2026, 1, day) for day in (1, 8, 15)],
        first_of((2026, 1), (2026, 2), (2026, 4)),
        [date(2026, 1, 1), date(2026, 2, 1), date(2026, 3, 2)],
        [datetime(2026, 1, 1, 9), datetime(2026, 2, 1, 10)],
    ],
)
def test_other_calendars_are_left_alone(times):
    assert continue_months(times, 1) is None
