"""What a forecast may see: nothing later, and groups as averages."""

from dataclasses import replace

import torch

from sphunc.hypergraph import TemporalHypergraph, scramble_future
from sphunc.legacy.observed import group_matrices, observe
from sphunc.worlds import simulate


def world() -> TemporalHypergraph:
    return simulate("snare", seed=0, agents=20, times=4, groups=30).data


def test_nothing_later_is_reached() -> None:
    data = world()
    seen = observe(data, upto=2)
    other = observe(scramble_future(data, 1, seed=1), upto=2)
    for name in ("x", "x_mask", "y", "y_mask", "present"):
        assert torch.equal(getattr(seen, name), getattr(other, name))
    assert seen.num_times == 2
    assert torch.equal(seen.groups.node, other.groups.node)


def test_seen_again_is_who_was_there_and_shows_something_next() -> None:
    data = world()
    shown = torch.ones_like(data.x_mask)
    shown[2, 5] = False
    again = observe(replace(data, x=data.x * shown, x_mask=data.x_mask & shown)).seen_again
    assert again.shape == (3, 20)
    assert not bool(again[1, 5])
    assert int(again.sum()) == 59


def test_matrices_average_over_members_and_over_groups() -> None:
    data = world()
    matrices = group_matrices(data, 1)
    assert matrices is not None
    gather, spread = (matrix.to_dense() for matrix in matrices)
    values = torch.randn(data.num_nodes, 3, generator=torch.Generator().manual_seed(0))
    groups = [
        data.hyperedge_index[0][data.hyperedge_index[1] == edge]
        for edge in range(data.num_hyperedges)
        if data.hyperedge_time[edge] == 1
    ]
    means = torch.stack([values[members].mean(0) for members in groups])
    torch.testing.assert_close(gather @ values, means)
    for agent in range(data.num_nodes):
        mine = [k for k, members in enumerate(groups) if agent in members]
        expected = means[mine].mean(0) if mine else torch.zeros(3)
        torch.testing.assert_close((spread @ means)[agent], expected)


def test_time_without_groups_has_no_matrices() -> None:
    data = world()
    kept = data.hyperedge_time[data.hyperedge_index[1]] != 2
    empty = replace(data, hyperedge_index=data.hyperedge_index[:, kept])
    assert observe(empty).pull[2] is None


def test_data_without_outcomes_show_none() -> None:
    data = world()
    bare = replace(data, y=None, y_mask=torch.zeros_like(data.y_mask), class_names=())
    assert not observe(bare).y_mask.any()
