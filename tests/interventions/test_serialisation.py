"""What JSON keeps comes back as it was; what it does not keep is known before."""

import json
from datetime import date, datetime

import pytest

from sphunc.interventions.serialisation import can_serialise, deserialise, serialise


@pytest.mark.parametrize(
    "value",
    [None, "a", 3, 2.5, date(2026, 2, 28), datetime(2026, 2, 28, 12), ("a", (1, date(2026, 1, 1)))],
)
def test_values_come_back(value) -> None:
    assert can_serialise(value)
    assert deserialise(json.loads(json.dumps(serialise(value)))) == value


def test_other_values_are_not_kept() -> None:
    assert not can_serialise(frozenset())
    assert not can_serialise(("a", frozenset()))


@pytest.mark.parametrize("value", [{"date": "no date"}, {"date": 3}, {"when": "2026-01-01"}, {"a": 1, "b": 2}, {}])
def test_objects_that_are_no_dates_stay(value) -> None:
    assert deserialise(value) == value
