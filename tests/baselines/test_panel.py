from dataclasses import replace

import pytest
import torch

from sphunc.baselines.panel import inputs_of, learn_scale, make_panel
from sphunc.errors import DataError
from sphunc.hypergraph import scramble_future


def test_inputs_by_hand(tiny) -> None:
    scale = learn_scale(tiny, 1)
    assert (scale.mean.item(), scale.deviation.item()) == pytest.approx((3.0, 3.5**0.5))
    panel = make_panel(tiny, scale, 2)
    assert panel.inputs.shape == (2, 4, inputs_of(1, 2))
    first = -2.0 / 3.5**0.5
    # Agent a at time 1: its feature is the mean; half of its past; outcome tense, of two outcomes one calm, one tense.
    assert panel.inputs[1, 0].tolist() == pytest.approx([0.0, 1.0, first / 2, 0.0, 1.0, 0.5, 0.5, 2 / 3])
    # Agent d was not seen at time 1: no feature, no outcome; the mean of its features so far stays.
    assert panel.inputs[1, 3].tolist() == pytest.approx([0.0, 0.0, 3.0 / 3.5**0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert panel.present.tolist() == [[True] * 4, [True, True, True, False]]


def test_groups_speak_of_agents_at_times(tiny) -> None:
    panel = make_panel(tiny, learn_scale(tiny, 2), 2)
    assert panel.groups.num_nodes == 8
    assert [rectangle.tolist() for rectangle in panel.groups.rectangles()] == [[[1, 2]], [[0, 1, 2]]]
    assert torch.equal(panel.flat[5], panel.inputs[1, 1])


def test_inputs_up_to_a_time_do_not_depend_on_what_follows(data) -> None:
    scale = learn_scale(data, 4)
    before = make_panel(data, scale, data.num_classes).inputs[:4]
    after = make_panel(scramble_future(data, 3), scale, data.num_classes).inputs[:4]
    assert torch.equal(before, after)


def test_a_constant_feature_keeps_its_scale(tiny) -> None:
    constant = replace(tiny, x=torch.where(tiny.x_mask, 2.0, 0.0))
    assert learn_scale(constant, 2).deviation.tolist() == [1.0]


def test_numbers_are_refused(tiny) -> None:
    numbers = replace(tiny, y=torch.zeros(2, 4, 1), class_names=())
    with pytest.raises(DataError, match="numbers as outcomes"):
        make_panel(numbers, learn_scale(tiny, 1), 2)
