"""Regular calendars go on, with the type of their times; irregular ones are counted in steps."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from sphunc.forecasting.calendar import time_label


def first_of(*months, day=1):
    return [date(year, month, day) for year, month in months]


@pytest.mark.parametrize(
    ("times", "index", "label"),
    [
        ((3, 5, 7), 1, 5),
        ((3, 5, 7), 4, 11),
        ((3, 5, 8), 3, "8 + 1"),
        ((date(2020, 1, 1), date(2020, 1, 3)), 2, date(2020, 1, 5)),
        ((date(2033, 1, 1), date(2034, 1, 1)), 2, date(2035, 1, 1)),
        ((date(2026, 1, 1), date(2026, 2, 1), date(2026, 2, 2)), 3, "2026-02-02 + 1"),
        ((datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10)), 2, datetime(2026, 1, 1, 11)),
        ((4,), 1, "4 + 1"),
        (("a", "b"), 3, "b + 2"),
    ],
)
def test_one_distance_goes_on(times, index, label) -> None:
    assert time_label(times, index) == label


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
def test_whole_months_go_on(times, ahead, expected) -> None:
    assert time_label(times, len(times) - 1 + ahead) == expected


@pytest.mark.parametrize("zone", [None, UTC, ZoneInfo("Europe/Amsterdam")])
def test_hour_and_zone_stay(zone) -> None:
    times = [datetime(2026, month, 1, 9, 30, tzinfo=zone) for month in (1, 2, 3)]
    found = time_label(times, 3)
    assert found == datetime(2026, 4, 1, 9, 30, tzinfo=zone)
    assert type(found) is datetime
    assert found.tzinfo is zone


@pytest.mark.parametrize(
    ("times", "label"),
    [
        (first_of((2026, 1), (2026, 2), (2026, 4)), "2026-04-01 + 1"),
        ([date(2026, 1, 1), date(2026, 2, 1), date(2026, 3, 2)], "2026-03-02 + 1"),
        ([date(2026, 1, day) for day in (1, 8, 15)], date(2026, 1, 22)),
        ([datetime(2026, 1, 1, 9), datetime(2026, 2, 1, 10)], datetime(2026, 3, 4, 11)),
    ],
)
def test_what_is_not_whole_months_apart_goes_by_distance_or_by_steps(times, label) -> None:
    assert time_label(times, len(times)) == label
