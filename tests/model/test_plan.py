"""Plans use times where there are enough, agents where there are not, and never look beyond the calibration targets."""

from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import Split, assemble, time_split
from sphunc.model.plan import Plan, make_plan

MANY = 200
"""Agents whose outcomes at one time are enough to hold out."""


def panel(T, N=MANY):
    data = assemble(times=range(T), node_ids=range(N))
    y_mask = torch.ones(T, N, dtype=torch.bool)
    return replace(data, y=torch.zeros(T, N, dtype=torch.long), y_mask=y_mask, class_names=("calm", "angry"))


def test_many_times_are_held_out_in_order():
    plan = make_plan(panel(12), 1)
    assert plan == Plan(12, tuple(range(9)), (9,), (10,), 1)
    assert not plan.by_agents
    assert plan.train_stop == 10
    assert plan.everything == tuple(range(11))


@pytest.mark.parametrize(("T", "horizon"), [(T, h) for h in (1, 2, 3) for T in range(4 * h + 3, 40)])
def test_no_part_learns_from_a_target_after_the_next_origin(T, horizon):
    plan = make_plan(panel(T), horizon)
    if not plan.by_agents:
        assert plan.train[-1] + horizon <= plan.validation[0]
        assert plan.validation[-1] + horizon <= plan.calibration[0]
        assert plan.calibration[-1] + horizon == T - 1


@pytest.mark.parametrize("T", [2, 3, 4, 5])
def test_short_panels_hold_out_agents_and_train_on_every_origin(T):
    plan = make_plan(panel(T), 1)
    assert plan.by_agents
    assert plan.train == tuple(range(T - 1))


def test_a_split_hides_what_comes_after_its_calibration():
    data = panel(20)
    split = time_split(data)
    plan = make_plan(data, 1, split)
    assert (plan.train, plan.validation, plan.calibration) == (split.train, split.validation, split.calibration)
    assert plan.stop == split.targets("calibration")[-1] + 1 <= split.test[0] + 1


def test_a_short_split_trains_on_all_origins_before_the_test():
    data = panel(5)
    plan = make_plan(data, 1, time_split(data))
    assert plan == Plan(4, (0, 1, 2), (), (), 1)


def test_holdout_can_be_chosen():
    assert make_plan(panel(12), 1, holdout="agents").by_agents
    assert make_plan(panel(5), 1, holdout="times") == Plan(5, (0, 1), (2,), (3,), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": panel(2), "horizon": 2}, "2 times are too few to learn a forecast 2 ahead; give at least 3 times"),
        ({"data": panel(3), "horizon": 1, "holdout": "times"}, "3 times leave none to train on; give at least 4"),
        ({"data": panel(3, N=1), "horizon": 1}, "1 agent at 3 times is too little"),
        ({"data": panel(9), "horizon": 2, "split": time_split(panel(9))}, "split has horizon 1, but the model"),
        ({"data": panel(5), "horizon": 1, "split": Split((0,), (1,), (2,), (9,))}, "but the data ends at 4"),
    ],
)
def test_impossible_plans_say_why(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        make_plan(**arguments)
