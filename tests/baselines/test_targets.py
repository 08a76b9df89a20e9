"""Outcomes stand in the row of their origin, and only those that were asked for count."""

import pytest
import torch

from sphunc.baselines.targets import deal_folds, group_members, targets_of
from sphunc.errors import ArgumentError
from sphunc.hypergraph import assemble


def panel(T=4, classes=("no", "yes")):
    cells = [(t, a) for t in range(T) for a in range(2)]
    return assemble(
        times=range(T),
        node_ids="ab",
        outcomes=([t for t, _ in cells], [a for _, a in cells], [(t + a) % 2 for t, a in cells]),
        class_names=classes,
    )


@pytest.mark.parametrize("horizon", [1, 2])
def test_outcomes_stand_beside_their_origin(horizon):
    data = panel()
    targets = targets_of(data, horizon)
    for t in range(4 - horizon):
        assert torch.equal(targets.outcome[t], data.y[t + horizon])
    assert targets.mask.sum(1).tolist() == [2] * (4 - horizon) + [0] * horizon


def test_only_the_origins_and_cells_asked_for_count():
    targets = targets_of(panel(), 1, origins=[1])
    assert targets.mask.nonzero().tolist() == [[1, 0], [1, 1]]
    assert targets.only(torch.tensor([True, False])).mask.nonzero().tolist() == [[1, 0]]
    assert targets.until(1).count == 0


def test_the_latest_are_of_as_few_origins_as_have_enough():
    targets = targets_of(panel(6), 1).only(torch.arange(6).unsqueeze(1) != 4)  # nothing is known at the last origin
    assert [targets.latest(k).mask.any(1).nonzero().flatten().tolist() for k in (1, 2, 3, 6, 99)] == [
        [3],
        [3],
        [2, 3],
        [1, 2, 3],
        [0, 1, 2, 3],
    ]


def test_a_horizon_beyond_the_data_leaves_nothing():
    assert targets_of(panel(), 9).count == 0


def unseen_agents(**groups):
    """Agent a is always seen, b shows an outcome at time 1 only, c at time 2 only."""
    outcomes = ([0, 1, 2, 1, 2], [0, 0, 0, 1, 2], [0, 1, 0, 1, 1])
    return assemble(times=range(3), node_ids="abc", outcomes=outcomes, class_names=("no", "yes"), **groups)


def test_outcomes_of_unseen_agents_do_not_count():
    data = unseen_agents()
    assert targets_of(data, 1).mask.tolist() == [[True, False, False], [True, False, False], [False] * 3]


def test_a_member_of_a_group_is_no_unseen_agent():
    data = unseen_agents(hyperedge_ids=["g"], hyperedge_time=[0], memberships=([0, 0], [0, 1]))
    assert group_members(data).tolist() == [[True, True, False], [False] * 3, [False] * 3]
    assert targets_of(data, 1).mask.tolist() == [[True, True, False], [True, False, False], [False] * 3]


def test_origins_with_unseen_agents_alone_keep_them():
    data = assemble(
        times=range(3), node_ids="ab", outcomes=([1, 2, 2], [0, 0, 1], [0, 1, 1]), class_names=("no", "yes")
    )
    assert targets_of(data, 1, origins=[0]).mask.tolist() == [[True, False], [False, False], [False, False]]
    assert targets_of(data, 1, origins=[1]).mask.tolist() == [[False, False], [True, False], [False, False]]


def test_where_nobody_was_observed_before_all_outcomes_count():
    data = assemble(times=range(2), node_ids="ab", outcomes=([0, 1], [0, 1], [0, 1]), class_names=("no", "yes"))
    assert targets_of(data, 1).mask.tolist() == [[False, True], [False, False]]


def test_data_without_outcomes_is_refused():
    with pytest.raises(ArgumentError, match="data has no outcomes; give an outcomes table"):
        targets_of(assemble(times=[0], node_ids="a"), 1)


def test_folds_are_even_random_and_repeatable():
    parts = [deal_folds(10, 3, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.bincount(parts[0]).tolist() == [4, 3, 3]
    assert torch.equal(parts[0], parts[1])
    assert not torch.equal(parts[0], parts[2])
