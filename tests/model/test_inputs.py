"""What a model reads of data: indicators, zeros where nothing was observed, and nothing after an origin."""

import pytest
import torch

from sphunc.hypergraph import assemble
from sphunc.model.inputs import read_inputs

NAN = float("nan")


def panel(classes=("no", "yes", "maybe"), values=(1, 0, 2)):
    return assemble(
        times=[0, 1, 2],
        node_ids="ab",
        features=([0, 1, 2], [0, 1, 0], [[1.0, NAN], [2.0, 5.0], [3.0, 4.0]]),
        feature_names=("mood", "age"),
        outcomes=([0, 1, 2], [0, 1, 1], values),
        class_names=classes,
        hyperedge_ids=["pair"],
        hyperedge_time=[1],
        memberships=([0, 0], [0, 1]),
    )


def test_classes_are_indicators():
    inputs = read_inputs(panel(), 3, 3)
    assert inputs.y[0, 0].tolist() == [0.0, 1.0, 0.0]
    assert inputs.y[2, 1].tolist() == [0.0, 0.0, 1.0]
    assert inputs.y[0, 1].tolist() == [0.0, 0.0, 0.0]  # not observed
    assert inputs.labels[2, 1] == 2
    assert not inputs.is_numeric
    assert inputs.y.dtype == torch.float64


def test_numbers_are_numbers():
    inputs = read_inputs(panel(classes=(), values=(0.5, -1.0, 7.0)), 0, 1)
    assert inputs.is_numeric
    assert inputs.y[2, 1].tolist() == [7.0]
    assert inputs.y[2, 0].tolist() == [0.0]
    assert inputs.num_outputs == 1


def test_what_was_not_observed_is_zero_and_masked():
    inputs = read_inputs(panel(), 3, 3)
    assert inputs.x[0, 0].tolist() == [1.0, 0.0]
    assert inputs.x_mask[0, 0].tolist() == [True, False]
    assert inputs.observed.tolist() == [[True, False], [False, True], [True, False]]
    assert inputs.x.isfinite().all()


def test_data_without_outcomes_has_none():
    data = assemble(times=[0], node_ids="ab")
    inputs = read_inputs(data, 3, 3)
    assert inputs.y.shape == (1, 2, 3)
    assert not inputs.y_mask.any()
    assert inputs.x.shape == (1, 2, 0)


def test_until_an_origin_nothing_later_is_left():
    inputs = read_inputs(panel(), 3, 3).until(1)
    assert (inputs.num_times, inputs.num_agents, len(inputs.groups)) == (2, 2, 2)
    assert inputs.groups[0].num_groups == 0
    assert inputs.groups[1].agent.tolist() == [0, 1]


def test_hidden_outcomes_are_as_if_not_observed():
    inputs = read_inputs(panel(), 3, 3)
    hidden = torch.zeros(3, 2, dtype=torch.bool)
    hidden[0, 0] = True
    less = inputs.hide_outcomes(hidden)
    assert less.y[0, 0].abs().sum() == 0
    assert not less.y_mask[0, 0]
    assert less.y_mask.sum() == inputs.y_mask.sum() - 1
    assert inputs.y[0, 0].sum() == 1


@pytest.mark.parametrize("time", [0, 1, 2])
def test_groups_are_those_of_each_time(time):
    inputs = read_inputs(panel(), 3, 3)
    assert inputs.groups[time].num_groups == (1 if time == 1 else 0)
