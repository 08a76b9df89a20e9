"""Pairs of agents that met, against plain loops."""

import gc

import torch

from sphunc.baselines.pairs import agent_pairs, closest, pair_counts, pairs_so_far, per_panel
from sphunc.baselines.panel import Panel
from sphunc.hypergraph.buckets import Buckets, group_by_size

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


def test_what_is_derived_from_a_panel_lives_as_long_as_the_panel() -> None:
    calls = []

    @per_panel
    def derive(panel: Panel, most: int) -> int:
        calls.append(most)
        return most

    empty = torch.zeros(1, 2, 1)
    panel = Panel(empty, empty, empty[..., 0] > 0, buckets([], 2), torch.zeros(0, dtype=torch.long), ("a", "b"))
    assert [derive(panel, 3), derive(panel, 3), derive(panel, 4)] == [3, 3, 4]
    assert calls == [3, 4]
    del panel
    gc.collect()
    assert calls == [3, 4]
