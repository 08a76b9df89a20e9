"""Times are held out where there are enough, else agents; nothing after the calibration targets is read."""

from dataclasses import replace
from inspect import unwrap

import pytest
import torch

from sphunc.baselines.holdout import (
    HoldoutScheme,
    check_outcomes,
    deal_folds,
    group_members,
    holdout_scheme,
    targets_of,
)
from sphunc.errors import ArgumentError, ArgumentTypeError, DataError
from sphunc.hypergraph import Split, assemble, time_split

MANY = 200
"""Agents whose outcomes at one time are enough to hold out."""


def panel(T, N=MANY):
    data = assemble(times=range(T), node_ids=range(N))
    y_mask = torch.ones(T, N, dtype=torch.bool)
    return replace(data, y=torch.zeros(T, N, dtype=torch.long), y_mask=y_mask, class_names=("calm", "angry"))


def test_many_times_are_held_out_in_order():
    scheme = holdout_scheme(panel(12), 1)
    assert scheme == HoldoutScheme(12, tuple(range(9)), (9,), (10,), 1)
    assert not scheme.by_agents
    assert scheme.train_stop == 10
    assert scheme.all_origins == tuple(range(11))


@pytest.mark.parametrize(("T", "horizon"), [(T, h) for h in (1, 2, 3) for T in range(4 * h + 3, 40)])
def test_no_part_learns_from_a_target_after_the_next_origin(T, horizon):
    scheme = holdout_scheme(panel(T), horizon)
    if not scheme.by_agents:
        assert scheme.train[-1] + horizon <= scheme.validation[0]
        assert scheme.validation[-1] + horizon <= scheme.calibration[0]
        assert scheme.calibration[-1] + horizon == T - 1


@pytest.mark.parametrize("T", [2, 3, 4, 5])
def test_short_panels_hold_out_agents_and_train_on_every_origin(T):
    scheme = holdout_scheme(panel(T), 1)
    assert scheme.by_agents
    assert scheme.train == tuple(range(T - 1))


def test_a_split_hides_what_comes_after_its_calibration():
    data = panel(20)
    split = time_split(data)
    scheme = holdout_scheme(data, 1, split)
    assert (scheme.train, scheme.validation, scheme.calibration) == (split.train, split.validation, split.calibration)
    assert scheme.stop == split.targets("calibration")[-1] + 1 <= split.test[0] + 1


def test_a_short_split_trains_on_all_origins_before_the_test():
    data = panel(5)
    scheme = holdout_scheme(data, 1, time_split(data))
    assert scheme == HoldoutScheme(4, (0, 1, 2), (), (), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": panel(1), "horizon": 1}, "1 time is too few to learn a forecast 1 ahead; give at least 2 times"),
        ({"data": panel(2), "horizon": 2}, "2 times are too few to learn a forecast 2 ahead; give at least 3 times"),
        ({"data": panel(3, N=1), "horizon": 1}, "1 agent at 3 times is too little"),
        ({"data": panel(9), "horizon": 2, "split": time_split(panel(9))}, "split has horizon 1, but the model"),
        ({"data": panel(5), "horizon": 1, "split": Split((0,), (1,), (2,), (9,))}, "but the data ends at 4"),
    ],
)
def test_impossible_schemes_say_why(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        holdout_scheme(**arguments)


@pytest.mark.parametrize("split", [3, ([0, 1], [2], [3])])
def test_what_is_no_split_says_how_to_make_one(split):
    # unwrapped, as users call it: pytest checks annotations, and would refuse it before our own words
    with pytest.raises(ArgumentTypeError, match=r"split=.* must be a Split, got .* with sphunc.time_split\(data, hor"):
        unwrap(holdout_scheme)(panel(9), 1, split)


def silent(data, *times):
    mask = data.y_mask.clone()
    mask[list(times)] = False
    return replace(data, y_mask=mask)


@pytest.mark.parametrize("times", [range(1, 10), [10], [11]])
def test_parts_without_outcomes_hold_out_agents_instead(times):
    assert holdout_scheme(silent(panel(12), *times), 1).by_agents
    assert not holdout_scheme(silent(panel(12, N=1), *times), 1).by_agents
    assert not holdout_scheme(silent(panel(12), 3), 1).by_agents


def outcomes_of_two(T=4, classes=("no", "yes")):
    cells = [(t, a) for t in range(T) for a in range(2)]
    return assemble(
        times=range(T),
        node_ids="ab",
        outcomes=([t for t, _ in cells], [a for _, a in cells], [(t + a) % 2 for t, a in cells]),
        class_names=classes,
    )


@pytest.mark.parametrize("horizon", [1, 2])
def test_outcomes_stand_beside_their_origin(horizon):
    data = outcomes_of_two()
    targets = targets_of(data, horizon)
    for t in range(4 - horizon):
        assert torch.equal(targets.outcome[t], data.y[t + horizon])
    assert targets.mask.sum(1).tolist() == [2] * (4 - horizon) + [0] * horizon


def test_only_the_origins_and_cells_asked_for_count():
    targets = targets_of(outcomes_of_two(), 1, origins=[1])
    assert targets.mask.nonzero().tolist() == [[1, 0], [1, 1]]
    assert targets.only(torch.tensor([True, False])).mask.nonzero().tolist() == [[1, 0]]
    assert targets.until(1).count == 0


def test_the_latest_are_of_as_few_origins_as_have_enough():
    targets = targets_of(outcomes_of_two(6), 1).only(
        torch.arange(6).unsqueeze(1) != 4
    )  # nothing is known at the last origin
    assert [targets.latest(k).mask.any(1).nonzero().flatten().tolist() for k in (1, 2, 3, 6, 99)] == [
        [3],
        [3],
        [2, 3],
        [1, 2, 3],
        [0, 1, 2, 3],
    ]


def test_a_horizon_beyond_the_data_leaves_nothing():
    assert targets_of(outcomes_of_two(), 9).count == 0


def unseen_agents(**groups):
    """Agent a is always observed, b shows an outcome at time 1 only, c at time 2 only."""
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


@pytest.mark.parametrize("part", ["train", "validation"])
def test_a_part_without_outcomes_is_refused(part):
    data = outcomes_of_two(9)
    split = time_split(data)
    y_mask = data.y_mask.clone()
    y_mask[list(split.targets(part))] = False
    unobserved = replace(data, y=torch.where(y_mask, data.y, 0), y_mask=y_mask)
    scheme = holdout_scheme(data, 1, split)
    with pytest.raises(DataError, match=f"no outcome is observed at the targets of the {part} origins"):
        check_outcomes(unobserved, scheme)
