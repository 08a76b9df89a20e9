"""PyG snapshots both ways."""

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import assemble
from sphunc.io import from_pyg, to_pyg
from sphunc.io.extras import load_extra

HyperGraphData = load_extra("torch_geometric.data.hypergraph_data", "pyg").HyperGraphData


def world(**changes):
    columns = {
        "times": [10, 20],
        "node_ids": ["a", "b", "isolated"],
        "features": ([0, 1], [0, 1], [[1.0, 2.0], [3.0, float("nan")]]),
        "feature_names": ["mood", "age"],
        "hyperedge_ids": ["g", "g", "empty"],
        "hyperedge_time": [0, 1, 1],
        "memberships": ([0, 0, 1], [0, 1, 1], [0.5, 1.5, 2.0]),
        "outcomes": ([0, 1], [0, 1], [0, 1]),
        "class_names": ["calm", "upset"],
        "influence": [[0], [1]],
        "influence_kind": "reply",
        "attributes": {"licence": "CC0"},
    }
    return assemble(**{**columns, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"memberships": ([0, 0, 1], [0, 1, 1])},
        {"outcomes": None, "class_names": ()},
        {"outcomes": ([0], [0], [[0.5, 1.5]]), "class_names": ()},
        {"outcomes": ([0], [0], [[0.5, 1.5]]), "class_names": (), "outcome_names": ["joy", "fear"]},
        {"influence": None, "influence_kind": "", "attributes": {}},
    ],
)
def test_there_and_back_gives_the_same(changes):
    data = world(**changes)
    assert from_pyg(to_pyg(data)).same_as(data)


def test_snapshots_follow_the_conventions_of_pyg():
    first, second = to_pyg(world())
    assert first.edge_index.tolist() == [[0, 1], [0, 0]]
    assert second.x.shape == (3, 2)
    assert second.num_nodes == 3
    assert (second.num_hyperedges, second.time) == (2, 20)


def test_plain_snapshots_count_as_observed():
    plain = [
        HyperGraphData(x=torch.ones(3, 2), edge_index=torch.tensor([[2, 0], [0, 0]]), y=torch.tensor([0, 2, 1]))
    ] * 2
    data = from_pyg(plain, times=[5, 6])
    assert (data.times, data.num_nodes, data.num_hyperedges, data.class_names) == ((5, 6), 3, 2, ("0", "1", "2"))
    assert data.x_mask.all()
    assert data.y_mask.all()
    assert data.hyperedge_index.tolist() == [[0, 2, 0, 2], [0, 0, 1, 1]]
    assert from_pyg(plain).times == (0, 1)


def test_snapshots_must_fit_together():
    with pytest.raises(ArgumentError, match="snapshots is empty"):
        from_pyg([])
    sizes = [HyperGraphData(x=torch.ones(n, 1), edge_index=torch.zeros(2, 0, dtype=torch.int64)) for n in (2, 3)]
    with pytest.raises(ArgumentError, match="the snapshots have different numbers of agents"):
        from_pyg(sizes)


def test_what_is_no_snapshot_is_named():
    one = HyperGraphData(x=torch.ones(3, 2), hyperedge_index=torch.zeros(2, 0, dtype=torch.int64))
    with pytest.raises(ArgumentError, match=r"snapshots\[0\] has no edge_index; give HyperGraphData"):
        from_pyg([one])
