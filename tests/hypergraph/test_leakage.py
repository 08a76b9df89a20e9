"""Leaks that are made on purpose are found, and honest views pass."""

import dataclasses

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import Split, agent_split, assemble, check_agents, check_split, check_view, scramble_future
from sphunc.hypergraph.temporal import tensors


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    return assemble(
        times=range(5),
        node_ids=range(6),
        features=([t for t in range(5) for _ in range(6)], list(range(6)) * 5, torch.randn(30, 2, generator=generator)),
        feature_names=["f", "g"],
        hyperedge_ids=range(5),
        hyperedge_time=range(5),
        memberships=([t for t in range(5) for _ in range(3)], [0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 0, 1, 5], range(15)),
        outcomes=([t for t in range(5) for _ in range(6)], list(range(6)) * 5, [0, 1, 0, 1, 0, 1] * 5),
        class_names=["a", "b"],
    )


@pytest.mark.parametrize("origin", range(5))
def test_until_passes_at_every_origin(data, origin):
    check_view(data.until_index(origin), data, origin)
    check_view(data.window(max(origin - 1, 0), origin + 1), data, origin)


def test_a_later_time_is_found(data):
    with pytest.raises(ArgumentError, match="leak: the view holds time 3, later than its origin 2"):
        check_view(data.until_index(3), data, 2)


def test_a_later_group_is_found_even_under_an_earlier_time(data):
    honest = data.until_index(2)
    leaky = dataclasses.replace(honest, hyperedge_ids=(0, 1, 4))
    with pytest.raises(ArgumentError, match="leak: the view holds group 4, which had not met at 2"):
        check_view(leaky, data, 2)


def test_targets_after_a_later_origin_are_found(data):
    with pytest.raises(
        ArgumentError, match="leak: train is judged on time index 2, which lies after origin 1 of valid"
    ):
        check_split(data, Split((0,), (1,), (1,), (2,), horizon=2))


def test_targets_beyond_the_data_are_found(data):
    with pytest.raises(ArgumentError, match="test forecasts from origin 4 to time index 5, but the data ends at 4"):
        check_split(data, Split((0,), (1,), (2,), (4,)))


def test_agents_of_another_part_are_found(data):
    split = agent_split(data, seed=0)
    check_agents(split, "train", torch.tensor(split.train))
    with pytest.raises(ArgumentError, match=f"leak: train uses agent {split.test[0]}, who belongs to test"):
        check_agents(split, "train", torch.tensor([*split.train, split.test[0]]))


@pytest.mark.parametrize("origin", range(5))
def test_scrambling_changes_the_future_and_nothing_else(data, origin):
    scrambled = scramble_future(data, origin, seed=1)
    assert scrambled.until_index(origin).same_as(data.until_index(origin))
    if origin < 4:
        assert not torch.equal(scrambled.x[origin + 1 :], data.x[origin + 1 :])
        assert not torch.equal(scrambled.hyperedge_index, data.hyperedge_index)


def test_no_tensor_of_a_view_reaches_a_later_value(data):
    seen = scramble_future(data, 2).until_index(2)
    for name, value in tensors(data.until_index(2)).items():
        assert torch.equal(value, getattr(seen, name)), name
