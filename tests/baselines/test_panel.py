import gc
from dataclasses import replace

import pytest
import torch

from sphunc.baselines.panel import Panel, count_inputs, make_panel, per_panel, statistics_of
from sphunc.errors import DataError
from sphunc.hypergraph import group_by_size, scramble_future


def test_inputs_by_hand(tiny) -> None:
    mean, deviation = statistics_of(tiny, 1)
    assert (mean.item(), deviation.item()) == pytest.approx((3.0, 3.5**0.5))
    panel = make_panel(tiny, (mean, deviation), 2)
    assert panel.inputs.shape == (2, 4, count_inputs(1, 2))
    first = -2.0 / 3.5**0.5
    # Agent a at time 1: its feature is the mean; half of its past; outcome tense, of two outcomes one calm, one tense.
    assert panel.inputs[1, 0].tolist() == pytest.approx([0.0, 1.0, first / 2, 0.0, 1.0, 0.5, 0.5, 2 / 3])
    # Agent d was not observed at time 1: no feature, no outcome; the mean of its features so far stays.
    assert panel.inputs[1, 3].tolist() == pytest.approx([0.0, 0.0, 3.0 / 3.5**0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert panel.present.tolist() == [[True] * 4, [True, True, True, False]]


def test_groups_join_agents_at_times(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    assert panel.groups.num_nodes == 8
    assert [rectangle.tolist() for rectangle in panel.groups.rectangles()] == [[[1, 2]], [[0, 1, 2]]]
    assert torch.equal(panel.flat[5], panel.inputs[1, 1])


def test_inputs_up_to_a_time_do_not_depend_on_what_follows(data) -> None:
    statistics = statistics_of(data, 4)
    before = make_panel(data, statistics, data.num_classes).inputs[:4]
    after = make_panel(scramble_future(data, 3), statistics, data.num_classes).inputs[:4]
    assert torch.equal(before, after)


def test_a_constant_feature_has_deviation_one(tiny) -> None:
    constant = replace(tiny, x=torch.where(tiny.x_mask, 2.0, 0.0))
    assert statistics_of(constant, 2)[1].tolist() == [1.0]


def test_numbers_are_refused(tiny) -> None:
    numbers = replace(tiny, y=torch.zeros(2, 4, 1), class_names=())
    with pytest.raises(DataError, match="numbers as outcomes"):
        make_panel(numbers, statistics_of(tiny, 1), 2)


def test_what_is_derived_from_a_panel_lives_as_long_as_the_panel() -> None:
    calls = []

    @per_panel
    def derive(panel: Panel, most: int) -> int:
        calls.append(most)
        return most

    empty = torch.zeros(1, 2, 1)
    nobody = group_by_size(torch.zeros(2, 0, dtype=torch.long), num_nodes=2, num_hyperedges=0)
    panel = Panel(empty, empty, empty[..., 0] > 0, nobody, ("a", "b"))
    assert [derive(panel, 3), derive(panel, 3), derive(panel, 4)] == [3, 3, 4]
    assert calls == [3, 4]
    del panel
    gc.collect()
    assert calls == [3, 4]
