"""Scores of numbers against quadrature, a double loop and uniform laws."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from sphunc.errors import ArgumentError
from sphunc.evaluation import (
    crps_gaussian,
    crps_samples,
    interval_coverage,
    interval_width,
    pit_gaussian,
    pit_samples,
)


@pytest.mark.parametrize(("mean", "deviation", "observed"), [(0, 1, 0), (0, 1, 2.5), (3, 0.2, 2.9), (-1, 4, 9)])
def test_gaussian_score_is_the_integral_that_defines_it(mean, deviation, observed):
    law = stats.norm(mean, deviation)
    below = integrate.quad(lambda x: law.cdf(x) ** 2, mean - 40 * deviation, observed, limit=400)[0]
    above = integrate.quad(lambda x: law.sf(x) ** 2, observed, mean + 40 * deviation, limit=400)[0]
    assert crps_gaussian([mean], [deviation], [observed]) == pytest.approx(below + above, rel=1e-7)


def test_gaussian_score_at_the_centre_by_hand():
    assert crps_gaussian([0.0], [1.0], [0.0]) == pytest.approx((np.sqrt(2) - 1) / np.sqrt(np.pi))


@pytest.mark.parametrize("fair", [False, True])
def test_sample_score_is_its_double_sum(fair):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 3, 4)), rng.normal(size=(3, 4))
    pairs = np.abs(x[:, None] - x[None]).sum((0, 1)) / (7 * (6 if fair else 7))
    expected = (np.abs(x - y).mean(0) - 0.5 * pairs).mean()
    assert crps_samples(torch.from_numpy(x), y, fair=fair) == pytest.approx(expected, abs=1e-12)


def test_one_draw_scores_its_absolute_error():
    assert crps_samples([[2.0, 5.0]], [3.0, 1.0]) == pytest.approx(2.5)


def test_fair_score_of_few_draws_is_that_of_the_law():
    rng = np.random.default_rng(1)
    y = np.full(20_000, 0.7)
    found = crps_samples(rng.normal(size=(3, 20_000)), y, fair=True)
    exact = crps_gaussian([0.0], [1.0], [0.7])
    assert abs(found - exact) < 0.02
    assert crps_samples(rng.normal(size=(3, 20_000)), y) > exact + 0.1


def test_outcomes_of_the_law_itself_are_uniform():
    rng = np.random.default_rng(2)
    mean, deviation = rng.normal(size=2000), rng.uniform(0.5, 2, 2000)
    y = rng.normal(mean, deviation)
    assert stats.kstest(pit_gaussian(mean, deviation, y), "uniform").pvalue > 0.01
    assert stats.kstest(pit_gaussian(mean, deviation / 2, y), "uniform").pvalue < 1e-6
    assert stats.kstest(pit_samples(rng.normal(mean, deviation, (9, 2000)), y), "uniform").pvalue > 0.01


def test_ranks_of_counts_with_ties_are_uniform_too():
    rng = np.random.default_rng(3)
    assert stats.kstest(pit_samples(rng.poisson(1.0, (5, 3000)), rng.poisson(1.0, 3000)), "uniform").pvalue > 0.01


def test_rank_by_hand():
    found = pit_samples([[0.0], [1.0], [3.0]], [2.0], seed=0)
    assert 2 / 4 <= found[0] <= 3 / 4
    assert pit_gaussian([1.0], [2.0], [1.0])[0] == 0.5


def test_intervals_by_hand_and_masked():
    low, high, y = [0.0, 0.0, 0.0, np.nan], [1.0, 2.0, 3.0, 1.0], [1.0, 2.5, -0.1, 0.0]
    mask = [True, True, True, False]
    assert interval_coverage(low, high, y, mask=mask) == pytest.approx(1 / 3)
    assert interval_width(low, high, mask=mask) == pytest.approx(2.0)


def test_gaussian_intervals_cover_what_they_promise():
    y = np.random.default_rng(4).normal(size=10_000)
    ends = stats.norm.ppf([0.05, 0.95])
    found = interval_coverage(np.full(10_000, ends[0]), np.full(10_000, ends[1]), y)
    assert abs(found - 0.9) < 4 * np.sqrt(0.09 / 10_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: crps_gaussian([0.0], [0.0], [1.0]), "deviation: smallest value 0, expected standard deviations above"),
        (lambda: crps_samples([[1.0]], [1.0], fair=True), "samples: one draw per forecast"),
        (lambda: crps_samples([[1.0, 2.0]], [1.0]), r"samples: shape \(1, 2\), expected \[S, ...\] over observed"),
        (
            lambda: crps_samples([[1.0], [1.0, 2.0]], [1.0]),
            r"samples: rows have unequally many entries",
        ),
        (lambda: pit_samples([[1.0]], [1.0], seed=-1), "seed=-1 must be at least 0"),
        (lambda: pit_samples([[np.nan]], [1.0]), "samples: 1 of 1 rows are NaN"),
        (lambda: interval_width([2.0], [1.0]), "low: above high in 1 of 1 rows"),
        (lambda: interval_coverage([0.0], [1.0], [np.nan]), "observed: 1 of 1 rows are NaN"),
    ],
)
def test_faults_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
