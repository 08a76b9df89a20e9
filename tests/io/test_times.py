"""Times keep their kind: integers, dates, datetimes with and without a zone."""

import datetime as dt

import polars as pl
import pytest

from sphunc.io.times import factorize, parse_time, parse_times, time_kind


@pytest.mark.parametrize(
    ("text", "time", "kind"),
    [
        ("7", 7, "integer"),
        (" -3 ", -3, "integer"),
        ("2026-01-31", dt.date(2026, 1, 31), "date"),
        ("2026-03", dt.date(2026, 3, 1), "date"),
        ("2026Q1", dt.date(2026, 1, 1), "date"),
        ("2026-Q4", dt.date(2026, 10, 1), "date"),
        ("2026-01-31T10:30", dt.datetime(2026, 1, 31, 10, 30), "datetime"),
        ("2026-01-31 10:30:05.25", dt.datetime(2026, 1, 31, 10, 30, 5, 250000), "datetime"),
        ("2026-01-31T10:00Z", dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC), "datetime with time zone"),
        ("2026-01-31T11:00+01:00", dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC), "datetime with time zone"),
    ],
)
def test_text_times(text, time, kind):
    assert parse_time(text) == time
    assert time_kind(parse_time(text)) == kind


@pytest.mark.parametrize(
    "text", ["", "spring", "1.5", "2026-13-01", "2026-13", "2026Q5", "31/01/2026", True, 1.5, None]
)
def test_what_is_no_time(text):
    assert parse_time(text) is None


def test_columns_of_every_type_agree():
    day = dt.date(2026, 1, 31)
    for column, values in [
        (pl.Series([2, None, 1, 2]), (1, 2)),
        (pl.Series([2, None, 1, 2], dtype=pl.UInt8), (1, 2)),
        (pl.Series([day, None, day - dt.timedelta(1), day]), (day - dt.timedelta(1), day)),
    ]:
        parsed = parse_times(column)
        assert parsed is not None
        assert (parsed.codes.tolist(), parsed.values) == ([1, -1, 0, 1], values)


def test_zones_survive():
    moment = dt.datetime(2026, 7, 31, 12, tzinfo=dt.UTC)
    parsed = parse_times(pl.Series([moment]).dt.convert_time_zone("Europe/Amsterdam"))
    assert parsed is not None
    assert parsed.values == (moment,)
    assert str(parsed.values[0].tzinfo) == "Europe/Amsterdam"


def test_kinds_masks_and_places():
    parsed = parse_times(pl.Series(["1", "x", None, "2026-01-31", "1"]))
    assert parsed is not None
    assert parsed.kinds() == ["integer", "date"]
    assert parsed.mask(value is None for value in parsed.values).tolist() == [False, True, False, False, False]
    assert parsed.index([0, 1]).tolist() == [1, -1, -1, -1, 1]


@pytest.mark.parametrize("column", [pl.Series([0.5]), pl.Series([[1]]), pl.Series([dt.timedelta(1)])])
def test_types_that_are_never_times(column):
    assert parse_times(column) is None


def test_factorize_keeps_the_order_of_appearance():
    codes, texts = factorize(pl.Series(["b", None, "a", "b"]))
    assert (codes.tolist(), texts) == ([0, -1, 1, 0], ["b", "a"])
