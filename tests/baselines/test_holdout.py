"""Times are held out where there are enough, else agents; nothing after the calibration targets is read."""

from dataclasses import replace
from inspect import unwrap

import pytest
import torch

from sphunc.baselines.holdout import HoldoutScheme, holdout_scheme
from sphunc.errors import ArgumentError, ArgumentTypeError
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
