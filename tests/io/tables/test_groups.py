"""Meetings: a group at a time, in time order and then in order of appearance; empty ones kept if wanted."""

import numpy as np
import pytest

from sphunc import DataError, from_frames
from sphunc.io.tables.groups import _meetings

FEATURES = {"time": [1, 1, 2, 2], "agent": ["a", "b", "a", "b"], "f": [1, 2, 3, 4]}


def test_meetings_stand_in_time_order_then_as_they_appear():
    groups = {"time": [2, 1, 1, 2, 1], "group": ["z", "z", "b", "a", "b"], "agent": ["a", "a", "b", "b", "a"]}
    data = from_frames(features=FEATURES, groups=groups)
    assert data.hyperedge_ids == ("z", "b", "z", "a")
    assert data.hyperedge_time.tolist() == [0, 0, 1, 1]
    assert data.hyperedge_index.tolist() == [[0, 0, 1, 0, 1], [0, 1, 1, 2, 3]]


def test_empty_groups_and_weights():
    groups = {"time": [1, 2], "group": ["g", "h"], "agent": ["a", None], "weight": [0.5, None]}
    data = from_frames(features=FEATURES, groups=groups, allow_empty_groups=True)
    assert data.hyperedge_size.tolist() == [1, 0]
    assert data.incidence_weight is not None
    assert data.incidence_weight.tolist() == [0.5]


def test_integer_groups_stay_integers_and_floats_are_refused():
    assert from_frames(features=FEATURES, groups={"time": [1], "group": [7], "agent": ["a"]}).hyperedge_ids == (7,)
    with pytest.raises(DataError, match="group ids have type Float64"):
        from_frames(features=FEATURES, groups={"time": [1], "group": [7.5], "agent": ["a"]})


def test_links_are_checked_and_kept():
    data = from_frames(features=FEATURES, influence={"source": ["b"], "target": ["a"]}, influence_kind="reply")
    assert data.influence is not None
    assert (data.influence.tolist(), data.influence_kind) == ([[1], [0]], "reply")


def test_rows_without_a_place_are_left_out_of_meetings():
    time, group = np.array([0, -1, 1], dtype=np.int32), np.array([0, 0, -1], dtype=np.int32)
    meetings, _ = _meetings(time, group, np.ones(3, dtype=bool))
    assert meetings.tolist() == [[0], [0]]
