"""A small world, and a panel whose numbers can be worked out by hand."""

from dataclasses import replace

import pytest
import torch

from sphunc.baselines.panel import Panel, make_panel, statistics_of
from sphunc.hypergraph import assemble, time_split
from sphunc.worlds import simulate


@pytest.fixture(scope="session")
def world():
    """50 agents at 9 times: held out by times."""
    return simulate("snare", agents=50, times=9, seed=0)


@pytest.fixture(scope="session")
def data(world):
    return world.data


@pytest.fixture(scope="session")
def split(data):
    return time_split(data)


@pytest.fixture(scope="session")
def panel(data):
    return make_panel(data, statistics_of(data, data.num_times), data.num_classes)


@pytest.fixture(scope="session")
def without_groups(data):
    """The same agents and features, where nobody meets."""
    return replace(
        data,
        hyperedge_index=data.hyperedge_index[:, :0],
        hyperedge_time=data.hyperedge_time[:0],
        hyperedge_ids=(),
        num_hyperedges=0,
    )


@pytest.fixture
def tiny():
    """Agents a, b, c, d at two times, one feature; a, b, c meet at time 0, b and c at time 0 too; d meets nobody."""
    return assemble(
        times=[0, 1],
        node_ids=["a", "b", "c", "d"],
        features=([0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2], [[1.0], [3.0], [2.0], [6.0], [3.0], [1.0], [2.0]]),
        feature_names=["mood"],
        hyperedge_ids=["trio", "pair"],
        hyperedge_time=[0, 0],
        memberships=([0, 0, 0, 1, 1], [0, 1, 2, 1, 2]),
        outcomes=([0, 0, 1], [0, 1, 0], [0, 1, 1]),
        class_names=["calm", "tense"],
    )


@pytest.fixture
def bare():
    """Make a panel from given inputs ``[T, N, P]`` and the groups of another panel."""

    def make(inputs: torch.Tensor, of: Panel) -> Panel:
        return Panel(inputs, inputs, of.present, of.groups, of.agents)

    return make
