"""Missing steps of regular calendars are named; irregular calendars, weekends and holidays are left alone."""

from datetime import date, datetime, timedelta

import pytest

from sphunc.hypergraph.time_gaps import missing_times

MONDAY = date(2024, 1, 1)


def days(*offsets):
    return tuple(MONDAY + timedelta(days=offset) for offset in offsets)


@pytest.mark.parametrize(
    ("times", "names"),
    [
        ((1, 2, 3, 5), ["4"]),
        ((1, 2, 4), ["3"]),
        ((2000, 2002, 2004, 2010, 2012), ["2006", "2008"]),
        (days(0, 7, 14, 28, 35), ["2024-01-22"]),
        (days(0, 1, 2, 3, 4, 5, 7, 8), ["2024-01-07"]),
        ((date(2023, 11, 1), date(2023, 12, 1), date(2024, 2, 1), date(2024, 3, 1)), ["2024-01"]),
        ((date(2023, 12, 31), date(2024, 1, 31), date(2024, 2, 29), date(2024, 4, 30)), ["2024-03"]),
        (tuple(datetime(2024, 1, 1) + timedelta(hours=hours) for hours in (0, 6, 18, 24)), ["2024-01-01T12:00:00"]),
        (("2024-01-01", "2024-01-02", "2024-01-03", "2024-01-06"), ["2024-01-04", "2024-01-05"]),
    ],
)
def test_missing_steps_are_named(times, names):
    assert missing_times(times) == (names, len(names))


@pytest.mark.parametrize(
    "times",
    [
        (0, 1, 2, 3),
        (1, 3),
        (0, 60, 162, 440, 1190),
        (1990, 2000, 2005),
        (2000, 2001, 2003, 2005, 2007),  # steps of 2 with one of 1: no calendar
        days(*(day for day in range(60) if day % 7 < 5)),  # no weekends
        days(*(day for day in range(60) if day % 7 < 5 and day not in (22, 23))),  # nor holidays
        tuple(date(2020 + year, month, 1) for year in range(2) for month in range(1, 13)),
        tuple(date(2020 + year, 3, 1) for year in range(6)),  # leap years are no gaps
        (datetime(2024, 1, 1), date(2024, 1, 2), "2024-01-03"),
        ("spring", "summer", "winter"),
        (0.5, 1.5, 3.5),
    ],
)
def test_whole_and_irregular_calendars_have_no_gaps(times):
    assert missing_times(times) == ([], 0)


def test_a_week_without_trading_is_a_gap():
    times = days(*(day for day in range(60) if day % 7 < 5 and not 14 <= day < 21))
    names, total = missing_times(times)
    assert total == 5
    assert names[0] == "2024-01-15"


def test_many_missing_times_are_counted():
    names, total = missing_times((*range(50), *range(70, 100)))
    assert (names, total) == (["50", "51", "52", "53", "54"], 20)
