"""The data object: windows, what may be seen at an origin, devices, equality and its one-line description."""

import dataclasses

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import assemble


@pytest.fixture
def data():
    return assemble(
        times=[10, 20, 30],
        node_ids=["a", "b"],
        features=([0, 1, 2], [0, 1, 0], [[1.0], [2.0], [3.0]]),
        feature_names=["mood"],
        hyperedge_ids=["g", "g", "h"],
        hyperedge_time=[0, 1, 2],
        memberships=([0, 0, 1, 2], [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0]),
        outcomes=([0, 2], [1, 0], [0, 1]),
        class_names=["calm", "upset"],
        influence=[[0], [1]],
        influence_kind="nomination",
        attributes={"source": "made up"},
    )


def test_window_keeps_agents_and_the_groups_of_its_times(data):
    window = data.window(1, 3)
    assert window.times == (20, 30)
    assert window.node_ids == ("a", "b")
    assert window.hyperedge_ids == ("g", "h")
    assert window.hyperedge_time.tolist() == [0, 1]
    assert window.hyperedge_index.tolist() == [[1, 0], [0, 1]]
    assert window.incidence_weight.tolist() == [3.0, 4.0]
    assert torch.equal(window.x, data.x[1:])
    assert torch.equal(window.y_mask, data.y_mask[1:])


def test_windows_of_windows_compose(data):
    assert data.window(0, 3).window(1, 3).window(1, 2).same_as(data.window(2, 3))
    assert data.window(0, 3).same_as(data)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (0, 4)])
def test_window_outside_the_times_is_refused(data, start, stop):
    with pytest.raises(ArgumentError, match="choose 0 <= start < stop <= 3"):
        data.window(start, stop)


@pytest.mark.parametrize("view", ["label", "position"])
def test_nothing_later_than_the_origin_is_reachable(data, view):
    seen = data.until(20) if view == "label" else data.until_index(1)
    assert seen.times == (10, 20)
    assert seen.x.shape[0] == seen.y.shape[0] == seen.x_mask.shape[0] == seen.y_mask.shape[0] == 2
    assert seen.hyperedge_time.max() == 1
    assert seen.num_hyperedges == len(seen.hyperedge_ids) == 2
    assert (seen.influence, seen.influence_kind, seen.attributes) == (None, "", {})


def test_the_label_of_a_time_gives_its_position(data):
    assert [data.time_index(label) for label in (10, 20, 30)] == [0, 1, 2]


def test_until_refuses_a_position(data):
    advice = r"1 is not a time of the data, whose times are 10, 20, 30; position 1 is time 20: .* until_index\(1\)"
    with pytest.raises(ArgumentError, match=advice):
        data.until(1)


@pytest.mark.parametrize("position", [3, -1])
def test_until_index_refuses_what_is_no_position(data, position):
    message = r"position is .*, but the data has 3 times; choose 0 \.\.\. 2, or give the label of a time to until"
    with pytest.raises(ArgumentError, match=message):
        data.until_index(position)


def test_same_as_sees_every_difference(data):
    assert data.same_as(dataclasses.replace(data))
    assert not data.same_as(dataclasses.replace(data, x=data.x + data.x_mask))
    assert not data.same_as(dataclasses.replace(data, node_ids=("a", "c")))
    assert not data.same_as(dataclasses.replace(data, incidence_weight=None))


def test_to_moves_every_tensor(data):
    moved = data.to("meta")
    assert moved.device.type == moved.influence.device.type == moved.incidence_weight.device.type == "meta"
    assert data.device.type == "cpu"


def test_derived_sizes(data):
    assert (data.num_times, data.num_features, data.num_classes, data.num_memberships) == (3, 1, 2, 4)
    assert data.present.tolist() == [[True, True], [False, True], [True, False]]
    assert data.hyperedge_size.tolist() == [2, 1, 1]


def test_repr_tells_its_sizes(data):
    assert repr(data) == (
        "TemporalHypergraph(2 agents, 3 times, 3 groups, 4 memberships, 1 features, 2 classes, 1 nomination links)"
    )


def test_it_is_frozen(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.x = data.x


def test_numbers_have_names(data):
    one = dataclasses.replace(data, y=torch.zeros(3, 2, 1), class_names=())
    two = dataclasses.replace(data, y=torch.zeros(3, 2, 2), class_names=())
    assert (one.outcome_names, two.outcome_names) == (("outcome",), ("outcome_1", "outcome_2"))
    named = dataclasses.replace(two, outcome_names=("joy", "fear"))
    assert named.until(20).outcome_names == ("joy", "fear")
    assert not named.same_as(two)
    assert dataclasses.replace(named, y=data.y, class_names=data.class_names).outcome_names == ()
    with pytest.raises(ArgumentError, match="outcome_names has 1 entries, but y has 2 numbers per agent; give one"):
        dataclasses.replace(two, outcome_names=("joy",))
    with pytest.raises(ArgumentError, match="outcome_names has 'joy' twice"):
        dataclasses.replace(two, outcome_names=("joy", "joy"))
