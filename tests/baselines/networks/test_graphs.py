"""Graphs against dense matrices, and pairs of agents that met against plain loops."""

import pytest
import torch

from sphunc.baselines.networks.graphs import (
    WeightedGraph,
    agent_pairs,
    closest,
    convolve,
    normalised,
    pair_counts,
    pairs_so_far,
    segment_softmax,
)
from sphunc.hypergraph import Buckets, group_by_size

# Two times, three agents: node t * 3 + i. Agents 0, 1, 2 meet at time 0 and 0, 1 twice; 1, 2 meet at time 1.
MEETINGS = [[0, 1, 2], [0, 1], [4, 5]]


def buckets(members: list[list[int]], nodes: int) -> Buckets:
    rows = [[i, e] for e, group in enumerate(members) for i in group]
    index = torch.tensor(rows, dtype=torch.long).view(-1, 2).T
    return group_by_size(index, num_nodes=nodes, num_hyperedges=len(members))


def as_dict(pairs: torch.Tensor, count: torch.Tensor) -> dict[tuple[int, ...], int]:
    return {tuple(pair): n for pair, n in zip(pairs.T.tolist(), count.tolist(), strict=True)}


def both(one_way: dict[tuple[int, int], int]) -> dict[tuple[int, ...], int]:
    return {**one_way, **{(b, a): n for (a, b), n in one_way.items()}}


def test_pairs_are_counted_once_per_shared_group() -> None:
    assert as_dict(*pair_counts(buckets(MEETINGS, 6))) == both({(0, 1): 2, (0, 2): 1, (1, 2): 1, (4, 5): 1})


def test_pairs_so_far_remember_earlier_times_and_never_later_ones() -> None:
    expected = both({(0, 1): 2, (0, 2): 1, (1, 2): 1, (3, 4): 2, (3, 5): 1, (4, 5): 2})
    assert as_dict(*pairs_so_far(buckets(MEETINGS, 6), 2, 3)) == expected
    later = buckets([[3, 4]], 6)
    assert as_dict(*pairs_so_far(later, 2, 3)) == both({(3, 4): 1})


def test_agent_pairs_forget_time() -> None:
    assert agent_pairs(buckets([[0, 1], [4, 5], [3, 4]], 6), 3).T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]


def test_closest_prefers_shared_groups_then_distance() -> None:
    pairs, count = pair_counts(buckets([[0, 1, 2, 3], [0, 3]], 5))
    x = torch.tensor([[0.0], [2.0], [1.0], [9.0], [0.0]])
    kept, rank = closest(pairs, count, x, 2)
    chosen = {(int(t), int(r)): int(s) for (s, t), r in zip(kept.T, rank, strict=True)}
    assert chosen == {(0, 0): 3, (0, 1): 2, (1, 0): 2, (1, 1): 0, (2, 0): 0, (2, 1): 1, (3, 0): 0, (3, 1): 1}


def test_nobody_met() -> None:
    nobody = buckets([], 4)
    assert pair_counts(nobody)[0].shape == (2, 0)
    assert pairs_so_far(nobody, 2, 2)[0].shape == (2, 0)
    assert agent_pairs(nobody, 2).shape == (2, 0)


def test_normalised_adjacency_is_its_dense_matrix() -> None:
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weight = torch.tensor([0.5, 0.5, 2.0, 2.0])
    dense = torch.eye(4)
    dense[pairs[1], pairs[0]] = weight
    root = dense.sum(1).rsqrt()
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    adjacency = normalised(WeightedGraph(pairs, weight), 4)
    assert torch.allclose(convolve(x, adjacency), (root[:, None] * dense * root) @ x, atol=1e-6)


def test_messages_are_added_to_their_targets() -> None:
    graph = WeightedGraph(torch.tensor([[0, 1], [2, 2]]), torch.tensor([0.5, 2.0]))
    x = torch.tensor([[1.0], [3.0], [7.0]])
    assert graph.add_messages(10.0 * x, x).flatten().tolist() == [10.0, 30.0, 76.5]


def test_softmax_within_segments() -> None:
    score = torch.tensor([[0.0], [100.0], [1.0], [1.0]])
    weight = segment_softmax(score + 1000, torch.tensor([0, 0, 1, 1]), 3)
    assert weight.flatten().tolist() == pytest.approx([0.0, 1.0, 0.5, 0.5])
