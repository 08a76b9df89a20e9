"""Predictive laws against their definitions, for classes and for numbers."""

import math

import pytest
import torch

from sphunc.legacy.outlook import Outlook, merge, stacked

P = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], dtype=torch.float64)
CLASSES = Outlook(P.log(), None, None, torch.tensor([0.2, 0.8]))
NUMBERS = Outlook(None, torch.zeros(2, 1), torch.tensor([[1.0], [4.0]]), torch.tensor([0.2, 0.8]))
ALL = torch.ones(2, dtype=torch.bool)


def test_surprise_of_a_class_is_minus_its_log_probability():
    assert CLASSES.surprise(torch.tensor([1, 2])).tolist() == pytest.approx([-math.log(0.2), -math.log(0.8)])


def test_surprise_of_a_number_is_minus_its_gaussian_log_density():
    law = torch.distributions.Normal(NUMBERS.mean, NUMBERS.variance.sqrt())
    y = torch.tensor([[1.0], [2.0]])
    assert torch.allclose(NUMBERS.surprise(y), -law.log_prob(y).sum(-1))


def test_standardised_surprise_differs_by_the_logarithm_of_the_unit():
    numbers = Outlook(None, torch.ones(2, 1), torch.tensor([[1.0], [4.0]]), torch.zeros(2), torch.full((2, 1), 3.0))
    y = torch.tensor([[4.0], [-2.0]])
    standard, gap = numbers.standardised(y)
    assert gap.flatten().tolist() == [1.0, -1.0]
    assert torch.allclose(standard.surprise(gap) + math.log(3.0), numbers.surprise(y))
    assert CLASSES.standardised(torch.tensor([1, 2]))[0] is CLASSES


def test_squared_error_of_classes_and_of_numbers():
    assert CLASSES.squared_error(torch.tensor([0, 0]), ALL).tolist() == pytest.approx([0.09, 0.81])
    assert CLASSES.squared_error(torch.tensor([0, 0]), torch.tensor([True, False]))[1] == 0
    error = NUMBERS.squared_error(torch.tensor([[1.0], [-1.0]]), ALL)  # spread 1, so z = 1
    assert error.tolist() == pytest.approx([0.5, 0.5])


def test_a_temperature_keeps_the_class_named_and_changes_how_sure():
    hot = CLASSES.tempered(torch.tensor([2.0, 0.5], dtype=torch.float64)).log_probabilities.exp()
    assert torch.equal(hot.argmax(-1), P.argmax(-1))
    assert torch.allclose(hot[0], P[0].sqrt() / P[0].sqrt().sum())
    assert hot[1].max() > P[1].max()
    assert NUMBERS.tempered(torch.tensor([2.0, 1.0])).variance.flatten().tolist() == [4.0, 4.0]


def test_scores_are_small_for_what_was_expected():
    assert CLASSES.scores(torch.tensor([0, 0])).tolist() == pytest.approx([0.3, 0.9])
    assert NUMBERS.scores(torch.tensor([[1.0], [1.0]])).tolist() == pytest.approx([1.0, 0.5])


def test_rows_keep_what_the_mask_says():
    assert CLASSES.rows(torch.tensor([False, True])).total.tolist() == pytest.approx([0.8])


def test_merge_reads_every_agent_from_its_own_member():
    members = [Outlook(torch.full((2, 3, 2), float(k)), None, None, torch.full((2, 3), float(k))) for k in range(2)]
    merged = merge(members, torch.tensor([1, 0, 1]))
    assert merged.log_probabilities.shape == (2, 3, 2)
    assert merged.total.tolist() == [[1, 0, 1], [1, 0, 1]]
    assert merged.log_probabilities.is_contiguous()


def test_stacked_forecasts_come_apart_again():
    for law in (CLASSES, NUMBERS):
        both = stacked([law, law])
        assert both.total.shape == (2, 2)
        assert torch.equal(
            both.at(1).surprise(torch.tensor([1, 2]) if law is CLASSES else torch.ones(2, 1)),
            law.surprise(torch.tensor([1, 2]) if law is CLASSES else torch.ones(2, 1)),
        )


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e30])
def test_nothing_hangs_on_what_numbers_were_measured_in(unit):
    y, law = torch.tensor([[1.0], [-2.0]]), NUMBERS
    scaled = Outlook(None, unit * law.mean, law.variance, law.total, torch.full((2, 1), unit))
    assert torch.allclose(scaled.surprise(unit * y) - math.log(unit), law.surprise(y))
    assert torch.allclose(scaled.squared_error(unit * y, ALL), law.squared_error(y, ALL))
    assert torch.allclose(scaled.scores(unit * y), law.scores(y))
    assert scaled.sureness() == law.sureness()
    hot = scaled.double().rows(ALL).tempered(torch.tensor([2.0, 1.0])).raw_variance
    assert hot.flatten().tolist() == pytest.approx([4.0 * unit**2, 4.0 * unit**2], rel=1e-6)
    assert law.raw_variance.flatten().tolist() == [1.0, 4.0]


def test_outcomes_that_are_all_alike_have_an_error_too():
    unit = torch.full((2, 1), 1e-8)
    law = Outlook(None, torch.tensor([[1e-8], [2e-8]]), torch.ones(2, 1), torch.zeros(2), unit)
    error = law.squared_error(torch.full((2, 1), 1e-8), ALL)
    assert error[0] == 0
    assert error[1] == pytest.approx(1.0)
