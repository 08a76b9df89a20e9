"""Link scores against all orders of ties, scikit-learn, netcal and hand-computed numbers."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from sphunc.errors import ArgumentError
from sphunc.evaluation import (
    auprc,
    base_rate,
    check_link_calibration,
    link_ece,
    precision_at_k,
    precision_at_k_per_target,
    r_precision,
)

SCORES, TRUTH = np.array([0.9, 0.8, 0.7, 0.6, 0.1]), np.array([1, 0, 1, 0, 1])


def test_by_hand():
    assert [precision_at_k(SCORES, TRUTH, k) for k in (1, 2, 3, 5)] == pytest.approx([1, 1 / 2, 2 / 3, 3 / 5])
    assert r_precision(SCORES, TRUTH) == pytest.approx(2 / 3)
    assert base_rate(TRUTH) == pytest.approx(3 / 5)
    assert auprc(SCORES, TRUTH) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_ties_count_by_their_mean_over_all_orders(k):
    scores, truth = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 0.0]), np.array([0, 1, 0, 0, 1, 0])
    orders = [list(o) for o in permutations(range(6)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
    assert precision_at_k(scores, truth, k) == pytest.approx(np.mean([truth[o[:k]].mean() for o in orders]))


def test_a_constant_score_earns_the_base_rate():
    truth = np.arange(40) < 3
    for found in (precision_at_k(np.zeros(40), truth), r_precision(np.zeros(40), truth), auprc(np.zeros(40), truth)):
        assert found == pytest.approx(3 / 40)


def test_area_is_the_average_precision_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, truth = rng.random((20, 20)).round(1), rng.random((20, 20)) < 0.1
    candidates = ~np.eye(20, dtype=bool)
    expected = average_precision_score(truth[candidates], scores[candidates])
    assert auprc(torch.from_numpy(scores), truth, mask=candidates) == pytest.approx(expected)


def test_per_target_by_hand():
    # target 0: best two candidates hold one link; target 1: one candidate, true; target 2: no true link, left out
    scores, truth = [0.9, 0.8, 0.1, 0.5, 0.7], [0, 1, 1, 1, 0]
    targets = torch.tensor([0, 0, 0, 1, 2])
    assert precision_at_k_per_target(scores, truth, targets, k=2) == pytest.approx((1 / 2 + 1) / 2)


def test_calibration_of_probabilities_equals_netcal():
    metrics = pytest.importorskip("netcal.metrics")
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 3, 800)
    truth = rng.random(800) < p
    assert link_ece(p, truth) == pytest.approx(metrics.ECE(15).measure(p, truth.astype(int)), abs=1e-12)
    check = check_link_calibration(p, truth)
    assert check.ece == link_ece(p, truth)
    assert check.is_calibrated
    assert not check_link_calibration(np.sqrt(p), truth).is_calibrated


def test_masked_candidates_are_never_read():
    scores, truth = np.append(SCORES, np.nan), np.append(TRUTH.astype(float), np.nan)
    mask, targets = np.arange(6) < 5, np.array([0, 0, 1, 1, 1, 7])
    assert precision_at_k(scores, truth, 2, mask=mask) == precision_at_k(SCORES, TRUTH, 2)
    assert base_rate(truth, mask=mask) == base_rate(TRUTH)
    masked = precision_at_k_per_target(scores, truth, targets, 2, mask=mask)
    assert masked == precision_at_k_per_target(SCORES, TRUTH, targets[:5], 2)


def test_calibration_by_hand():
    assert link_ece([0.1, 0.1, 0.95, 0.95], [0, 1, 1, 1]) == pytest.approx((0.4 + 0.05) / 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: precision_at_k(SCORES, TRUTH, 6), "k: got 6, more than the 5 candidates"),
        (lambda: precision_at_k(SCORES, TRUTH, 0), "k=0 must be at least 1"),
        (lambda: r_precision(SCORES, np.zeros(5)), "truth: none of the 5 candidates is a true link"),
        (lambda: auprc(SCORES, np.zeros(5)), "truth: none of the 5 candidates"),
        (lambda: precision_at_k_per_target(SCORES, np.zeros(5), np.zeros(5)), "truth: none of the 5 candidates"),
        (lambda: auprc(SCORES, TRUTH * 2), "truth: expected only 0 and 1"),
        (lambda: link_ece(SCORES * 3, TRUTH), r"probabilities: range \[0.3, 2.7\], expected probabilities in \[0, 1\]"),
        (lambda: precision_at_k(SCORES[:4], TRUTH), r"truth: shape \(5,\) differs from \(4,\) of scores"),
        (lambda: precision_at_k([np.nan] * 5, TRUTH), "scores: 5 of 5 rows are NaN"),
    ],
)
def test_faults_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
