"""Values that travel through JSON come back as they were."""

import json
from datetime import UTC, date, datetime

import pytest

from sphunc.causal.plain import is_plain, read_back, written


@pytest.mark.parametrize(
    "value",
    [
        "a",
        3,
        0.5,
        None,
        (1, ("b", 2.0)),
        date(2026, 2, 28),
        datetime(2026, 2, 28, 12),
        (datetime(2026, 1, 1, tzinfo=UTC),),
    ],
)
def test_round_trip(value) -> None:
    assert is_plain(value)
    read = read_back(json.loads(json.dumps(written(value))))
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("value", [{"date": "today"}, {"date": 3}, {"day": "2026-02-28"}, {}, {"date": "x", "b": 1}])
def test_objects_that_are_no_dates_stay_objects(value) -> None:
    assert read_back(value) == value
    assert not is_plain(value)
