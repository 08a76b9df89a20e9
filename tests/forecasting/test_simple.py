"""Simple forecasts are counted by hand; agents without a past get what holds for all."""

import math

import pytest
import torch

from sphunc.forecasting import class_forecasts, number_forecasts

LABELS = torch.tensor([[0, 1, -1], [0, 0, -1], [1, -1, -1]])
MASK = LABELS >= 0


def test_classes_are_counted_by_hand():
    frequencies, persistence = class_forecasts(LABELS, MASK, 1, 2)
    share = torch.tensor([4 / 7, 3 / 7], dtype=torch.float64)
    torch.testing.assert_close(frequencies.probabilities, share.expand(3, 2))
    # Followed by time: 0 by 0, 0 by 1, 1 by 0. The second agent was last seen in class 0, the third never.
    after_0 = (torch.tensor([1.0, 1.0]) + share) / 3
    after_1 = (torch.tensor([1.0, 0.0]) + share) / 2
    torch.testing.assert_close(persistence.probabilities, torch.stack([after_1, after_0, share]))


@pytest.mark.parametrize("horizon", [2, 3, 5])
def test_pairs_of_classes_are_the_horizon_apart(horizon):
    _, persistence = class_forecasts(LABELS, MASK, horizon, 2)
    share = torch.tensor([4 / 7, 3 / 7], dtype=torch.float64)
    pairs = 1.0 if horizon == 2 else 0.0
    after_0 = (torch.tensor([0.0, pairs]) + share) / (1 + pairs)
    torch.testing.assert_close(persistence.probabilities, torch.stack([share, after_0, share]))


def test_no_outcomes_make_classes_equally_probable():
    for found in class_forecasts(LABELS, torch.zeros_like(MASK), 1, 2):
        assert found.log_probabilities.flatten().tolist() == pytest.approx([-math.log(2)] * 6)


def test_numbers_have_the_mean_and_the_last():
    values = torch.tensor([[1.0, 5.0, 9.0], [2.0, 3.0, 9.0], [4.0, 9.0, 9.0]]).unsqueeze(-1)
    mean, last = number_forecasts(values, MASK, 1)
    past = torch.tensor([1.0, 5.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    assert mean.mean.flatten().tolist() == pytest.approx([3.0] * 3)
    assert mean.variance.flatten().tolist() == pytest.approx([float(past.var(correction=0))] * 3)
    assert last.mean.flatten().tolist() == pytest.approx([4.0, 3.0, 3.0])
    assert last.variance.flatten().tolist() == pytest.approx([3.0, 3.0, float(past.var(correction=0))])


def test_numbers_without_a_past_are_standard_normal():
    values = torch.full((2, 3, 1), 7.0)
    for found in number_forecasts(values, torch.zeros(2, 3).bool(), 1):
        assert found.mean.flatten().tolist() == [0.0] * 3
        assert found.variance.flatten().tolist() == [1.0] * 3
    _, constant = number_forecasts(values, torch.ones(2, 3).bool(), 4)
    assert constant.variance.flatten().tolist() == pytest.approx([1e-6] * 3)
