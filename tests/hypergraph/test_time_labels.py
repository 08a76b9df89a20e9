"""Labels name times, in whichever way they are written; positions are never taken for labels."""

from datetime import UTC, date, datetime

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph.time_labels import resolve_time, show_times

WAVES = (1, 2, 5, 9)
DAYS = (date(2024, 1, 1), date(2024, 1, 8), date(2024, 1, 15))
HOURS = (datetime(2024, 1, 1, 9), datetime(2024, 1, 1, 17), datetime(2024, 1, 2, 9))
TEXTS = ("2024-01-01", "2024-01-08", "2024-01-15T12:30:00")
NAMES = ("01 spring", "02 summer", "03 autumn")


@pytest.mark.parametrize("times", [WAVES, DAYS, HOURS, TEXTS, NAMES, (0.5, 1.5)])
def test_every_time_is_its_own_label(times):
    assert [resolve_time(time, times) for time in times] == list(range(len(times)))


@pytest.mark.parametrize(
    ("label", "times", "position"),
    [
        ("5", WAVES, 2),
        (" +5 ", WAVES, 2),
        (np.int32(5), WAVES, 2),
        (torch.tensor(5), WAVES, 2),
        ("2024-01-08", DAYS, 1),
        ("2024-01-08T00:00:00", DAYS, 1),
        (datetime(2024, 1, 8), DAYS, 1),
        (np.datetime64("2024-01-08"), DAYS, 1),
        (np.datetime64("2024-01-08", "ns"), DAYS, 1),
        (np.datetime64("2024-01-01T17:00", "ns"), HOURS, 1),
        ("2024-01-01T17:00", HOURS, 1),
        (date(2024, 1, 2), HOURS, 2),  # the only time of that day
        ("2024-01-02", HOURS, 2),
        (date(2024, 1, 8), TEXTS, 1),
        (datetime(2024, 1, 15, 12, 30), TEXTS, 2),
        (date(2024, 1, 15), TEXTS, 2),
        ("2024-01-01T09:00+00:00", (datetime(2024, 1, 1, 9, tzinfo=UTC),), 0),
    ],
)
def test_the_same_time_written_in_another_way_is_found(label, times, position):
    assert resolve_time(label, times) == position


@pytest.mark.parametrize("label", [date(2024, 1, 1), "2024-01-01"])
def test_a_day_with_two_times_is_ambiguous(label):
    message = r"2024-01-01'? fits 2 times \(2024-01-01T09:00:00, 2024-01-01T17:00:00\); give one of them"
    with pytest.raises(ArgumentError, match=message):
        resolve_time(label, HOURS)


def test_a_clock_time_within_a_day_is_not_that_day():
    with pytest.raises(ArgumentError, match="2024-01-08T13:00:00 is not a time of the data"):
        resolve_time(datetime(2024, 1, 8, 13), DAYS)


@pytest.mark.parametrize(
    ("label", "times", "advice"),
    [
        (0, WAVES, r"0 is not a time of the data, whose times are 1, 2, 5, 9; position 0 is time 1: give this label"),
        (3, WAVES, r"position 3 is time 9: give this label, or until_index\(3\) for the position"),
        (1, DAYS, r"position 1 is time 2024-01-08: give this label, or until_index\(1\)"),
        (2, ("1", "2", "3"), r"position 2 is time '3'"),  # a number may be a position, a text is not
    ],
)
def test_a_position_is_refused_with_the_label_that_it_has(label, times, advice):
    with pytest.raises(ArgumentError, match=advice):
        resolve_time(label, times)


@pytest.mark.parametrize("label", [4, -1, True, None, 2.5, date(2024, 1, 1), "wave"])
def test_what_is_neither_label_nor_position_is_refused(label):
    message = r"is not a time of the data, whose times are 1, 2, 5, 9; give one of .* from 0 to 3 to until_index\(i\)"
    with pytest.raises(ArgumentError, match=message):
        resolve_time(label, WAVES)


@pytest.mark.parametrize(
    ("label", "times", "near"),
    [("02 sumer", NAMES, "02 summer"), ("2024-01-09", TEXTS[:1], "2024-01-01"), ("2024-1-08", DAYS, "2024-01-08")],
)
def test_a_misspelt_label_is_told_the_nearest(label, times, near):
    with pytest.raises(ArgumentError, match=rf"; did you mean '{near}'\?; give one of"):
        resolve_time(label, times)


def test_long_lists_of_times_are_cut_in_the_middle():
    assert show_times(range(100)) == "0, 1, 2, ..., 97, 98, 99"
    assert show_times(range(6)) == "0, 1, 2, 3, 4, 5"
