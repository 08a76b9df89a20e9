"""Conformal sets cover as promised on exchangeable outcomes, and say what the promise rests on."""

import math

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.legacy.conformal import ConformalScores, class_sets, intervals
from sphunc.legacy.outlook import Outlook


def classes(n, generator):
    logits = torch.randn(n, 4, generator=generator)
    y = torch.multinomial((logits / 3).softmax(-1), 1, generator=generator)[:, 0]  # forecasts are overconfident
    return Outlook(logits.log_softmax(-1), None, None, torch.zeros(n)), y


def numbers(n, generator):
    y = torch.randn(n, 2, generator=generator) * 2
    return Outlook(None, torch.zeros(n, 2), torch.ones(n, 2), torch.zeros(n)), y


@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("make", [classes, numbers])
def test_coverage_is_met_on_exchangeable_outcomes(make, coverage):
    hits, trials, held, new = 0.0, 200, 50, 50
    for seed in range(trials):
        generator = torch.Generator().manual_seed(seed)
        outlook, y = make(held + new, generator)
        first = torch.arange(held + new) < held
        threshold = ConformalScores(outlook.rows(first).scores(y[first]), "times").threshold(coverage)
        later, truth = outlook.rows(~first), y[~first]
        if make is classes:
            hits += float(class_sets(later, threshold).gather(1, truth[:, None]).float().mean())
        else:
            low, high = intervals(later, threshold).unbind(-1)
            hits += float(((low <= truth) & (truth <= high)).all(-1).float().mean())
    spread = 4 * math.sqrt(coverage * (1 - coverage) * (1 / held + 1 / new) / trials)
    assert coverage - spread < hits / trials < coverage + 1 / held + spread


def test_a_set_is_never_empty():
    outlook = Outlook(torch.tensor([[0.5, 0.5]]).log(), None, None, torch.zeros(1))
    assert class_sets(outlook, 0.1).tolist() == [[True, False]]


def test_too_few_scores_promise_nothing():
    scores = ConformalScores(torch.zeros(3), "agents")
    assert scores.threshold(0.9) == math.inf
    outlook, _ = numbers(2, torch.Generator().manual_seed(0))
    assert intervals(outlook, math.inf).isinf().all()
    assert class_sets(classes(2, torch.Generator().manual_seed(0))[0], math.inf).all()


def test_caveat_says_where_scores_come_from():
    assert "not guaranteed when the population drifts" in ConformalScores(torch.zeros(1), "times").caveat
    assert "held-out agents" in ConformalScores(torch.zeros(1), "agents").caveat
    assert "nothing was held out" in ConformalScores(torch.zeros(0), "times").caveat


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90.0])
def test_coverage_is_a_share(coverage):
    with pytest.raises(ArgumentError, match=f"coverage is {coverage}; choose a share strictly between 0 and 1"):
        ConformalScores(torch.zeros(1), "times").threshold(coverage)


def test_intervals_are_in_the_unit_of_the_numbers():
    mean, variance, unit = torch.tensor([[3e-30]]), torch.tensor([[4.0]]), torch.tensor([[1e-30]])
    ends = intervals(Outlook(None, mean, variance, torch.zeros(1), unit), 1.5)
    assert (ends / 1e-30).flatten().tolist() == pytest.approx([0.0, 6.0], abs=1e-5)
