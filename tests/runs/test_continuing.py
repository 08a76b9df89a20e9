"""Later tables continue the data of a run; all tables at once stand by themselves."""

import pytest

import sphunc
from sphunc.errors import DataError
from sphunc.runs import continue_data


@pytest.fixture
def data():
    return sphunc.from_frames(
        features={"time": [1, 1, 2, 2, 3, 3], "agent": ["a", "b"] * 3, "mood": [1.0, 2, 3, 4, None, 6]},
        groups={"time": [1, 1, 3], "group": ["g", "g", "h"], "agent": ["a", "b", "b"]},
        outcomes={"time": [1, 2, 3], "agent": ["a", "b", "a"], "outcome": ["x", "y", "x"]},
        classes=["y", "x"],
        allow_rare_classes=True,
    )


def test_later_times_are_put_behind(data):
    later = sphunc.from_frames(
        features={"time": [3, 3], "agent": ["a", "b"], "mood": [None, 6.0]},
        groups={"time": [3], "group": ["h"], "agent": ["b"]},
        outcomes={"time": [3], "agent": ["a"], "outcome": ["x"]},
        allow_rare_classes=True,
    )
    merged, sentence = continue_data(data.until(2), later)
    assert sentence == "what came before 3 is taken from the run (2 times)"
    assert merged.same_as(data)


def test_all_times_at_once_and_strangers_stand_by_themselves(data):
    assert continue_data(data.until(2), data) == (data, "")
    other = sphunc.from_frames(features={"time": [9], "agent": ["z"], "mood": [1.0]})
    found, sentence = continue_data(data, other)
    assert found is other
    assert "none of its agents is known" in sentence


def test_times_of_another_kind(data):
    other = sphunc.from_frames(features={"time": ["2026-01-31"], "agent": ["a"], "mood": [1.0]})
    with pytest.raises(DataError, match="of different kinds"):
        continue_data(data, other)
