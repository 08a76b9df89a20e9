"""Conformal sets cover as promised on exchangeable outcomes, and say what the promise rests on."""

import math

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.forecasting.conformal import (
    CAVEATS,
    conformal_intervals,
    conformal_scores,
    conformal_sets,
    conformal_threshold,
)
from sphunc.forecasting.distribution import Categorical, Gaussian


def classes(n, generator):
    logits = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    label = torch.multinomial((logits / 3).softmax(-1), 1, generator=generator)[:, 0]  # forecasts are overconfident
    return Categorical(logits.log_softmax(-1)), torch.nn.functional.one_hot(label, 4).double()


def numbers(n, generator):
    outcome = torch.randn(n, 2, generator=generator, dtype=torch.float64) * 2
    return Gaussian(torch.zeros(n, 2, dtype=torch.float64), torch.ones(n, 2, dtype=torch.float64)), outcome


def is_inside(distribution, outcome, threshold):
    if isinstance(distribution, Categorical):
        return (conformal_sets(distribution, threshold) & outcome.bool()).any(-1)
    low, high = conformal_intervals(distribution, threshold).unbind(-1)
    return ((low <= outcome) & (outcome <= high)).all(-1)


@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("make", [classes, numbers])
def test_coverage_is_met_on_exchangeable_outcomes(make, coverage):
    hits = 0.0
    trials = 200
    held = 50
    new = 50
    for seed in range(trials):
        distribution, outcome = make(held + new, torch.Generator().manual_seed(seed))
        first = torch.arange(held + new) < held
        threshold = conformal_threshold(conformal_scores(distribution.select(first), outcome[first]), coverage)
        hits += float(is_inside(distribution.select(~first), outcome[~first], threshold).double().mean())
    spread = 4 * math.sqrt(coverage * (1 - coverage) * (1 / held + 1 / new) / trials)
    assert coverage - spread < hits / trials < coverage + 1 / held + spread


def test_scores_are_expected_ranks_or_the_largest_standardised_error():
    distribution = Categorical(torch.tensor([[0.7, 0.3], [0.2, 0.8]]).double().log())
    scores = conformal_scores(distribution, torch.tensor([[1.0, 0.0], [1.0, 0.0]]).double())
    # Classes by 1 - p: .2 (mass .8), .3 (.7), .7 (.3), .8 (.2), of 2 in all.
    assert scores.tolist() == pytest.approx([(0.8 + 0.7) / 2, 1.0])
    gaussian = Gaussian(torch.tensor([[0.0, 1.0]]), torch.tensor([[4.0, 0.25]]))
    assert conformal_scores(gaussian, torch.tensor([[6.0, 2.0]])).tolist() == pytest.approx([3.0])


def test_ranks_are_taken_among_forecasts_of_the_same_block():
    distribution, outcome = classes(30, torch.Generator().manual_seed(1))
    block = torch.arange(30) % 2
    scores = conformal_scores(distribution, outcome, block)
    for one in (0, 1):
        alone = conformal_scores(distribution.select(block == one), outcome[block == one])
        assert torch.equal(scores[block == one], alone)


def test_sets_of_one_agent_are_adaptive():
    p = torch.tensor([[0.15, 0.6, 0.05, 0.2]]).double()
    assert conformal_sets(Categorical(p.log()), 0.8).tolist() == [[False, True, False, True]]
    assert conformal_sets(Categorical(p.log()), 0.95).tolist() == [[True, True, False, True]]


def test_coverage_holds_when_all_forecasts_become_wider():
    """A threshold on 1 - p learned among sharp forecasts covers too little where all are wide."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(8_000, 3, generator=generator, dtype=torch.float64)
    sharpness = torch.where(torch.arange(8_000) < 4_000, 4.0, 1.0).unsqueeze(1)
    distribution = Categorical((sharpness * logits).log_softmax(-1))
    label = torch.multinomial(distribution.probabilities, 1, generator=generator)[:, 0]
    outcome = torch.nn.functional.one_hot(label, 3).double()
    first = torch.arange(8_000) < 4_000
    scores = conformal_scores(distribution.select(first), outcome[first])
    inside = is_inside(distribution.select(~first), outcome[~first], conformal_threshold(scores, 0.9))
    assert 0.88 < float(inside.double().mean()) < 0.92
    plain = 1.0 - (distribution.probabilities * outcome).sum(-1)
    assert float((plain[~first] <= plain[first].quantile(0.9)).double().mean()) < 0.8


def test_threshold_is_an_order_statistic():
    scores = torch.tensor([0.4, 0.1, 0.3, 0.2, 0.6, 0.5, 0.9, 0.8, 0.7])
    assert conformal_threshold(scores, 0.5) == pytest.approx(0.5)  # rank ceil(10 * 0.5) = 5
    assert conformal_threshold(scores, 0.55) == pytest.approx(0.6)
    assert conformal_threshold(scores, 0.9) == pytest.approx(0.9)
    assert conformal_threshold(scores, 0.91) == math.inf


def test_rounding_of_the_coverage_does_not_cost_a_rank():
    scores = torch.arange(1.0, 100.0)  # 99 scores: rank 100 * 0.9 = 90, and 0.07 * 100 = 7.000000000000001
    assert conformal_threshold(scores, 0.9) == 90
    assert conformal_threshold(scores, 0.07) == 7


def test_a_set_is_never_empty_and_sets_are_nested():
    p = torch.tensor([[0.5, 0.5], [0.6, 0.4]]).double()
    assert conformal_sets(Categorical(p.log()), 0.1).tolist() == [[True, False], [True, False]]
    distribution, _ = classes(20, torch.Generator().manual_seed(0))
    small = conformal_sets(distribution, 0.4)
    large = conformal_sets(distribution, 0.9)
    assert not (small & ~large).any()
    assert (large & ~small).any()


def test_too_few_scores_promise_nothing():
    generator = torch.Generator().manual_seed(0)
    assert conformal_threshold(torch.zeros(3), 0.9) == math.inf
    assert conformal_threshold(torch.zeros(0), 0.1) == math.inf
    assert conformal_intervals(numbers(2, generator)[0], math.inf).isinf().all()
    assert conformal_sets(classes(2, generator)[0], math.inf).all()


def test_intervals_are_deviations_around_the_mean():
    ends = conformal_intervals(Gaussian(torch.tensor([[1.0, -2.0]]), torch.tensor([[4.0, 0.25]])), 1.5)
    assert ends.tolist() == [[[-2.0, 4.0], [-2.75, -1.25]]]


def test_caveats_say_where_scores_come_from():
    assert "not guaranteed when the population drifts" in CAVEATS["origins"]
    assert "held-out agents" in CAVEATS["agents"]
    assert "nothing was held out" in CAVEATS["nothing"]


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90.0, math.nan])
def test_coverage_is_a_share(coverage):
    with pytest.raises(ArgumentError, match=f"coverage is {coverage}; choose a share strictly between 0 and 1"):
        conformal_threshold(torch.zeros(1), coverage)


@pytest.mark.parametrize("coverage", ["0.9", True, None])
def test_coverage_is_a_number(coverage):
    with pytest.raises(ArgumentTypeError, match=r"coverage=.* must be a number, got .*; choose a share such as 0.9"):
        conformal_threshold(torch.zeros(1), coverage)


def test_numbers_of_numpy_are_numbers():
    scores = torch.arange(1.0, 100.0)
    assert conformal_threshold(scores, np.float32(0.5)) == 50
