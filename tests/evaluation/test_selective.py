"""Selective prediction and detection of newcomers against dense transcriptions, scikit-learn and closed forms."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from sphunc.errors import ArgumentError
from sphunc.evaluation import (
    aurc,
    excess_aurc,
    fpr95,
    misclassification_auroc,
    out_of_distribution_auroc,
    risk_at_coverage,
    risk_coverage,
)

U, LOSS = np.array([0.1, 0.4, 0.2, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])


def test_by_hand():
    coverage, risk = risk_coverage(U, LOSS)
    np.testing.assert_allclose(coverage, [0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(risk, [0, 0, 1 / 3, 1 / 2])
    assert aurc(U, LOSS) == pytest.approx(5 / 24)
    assert excess_aurc(U, LOSS) == 0.0
    # reversed: risks 1, 1, 2/3, 1/2
    assert excess_aurc(-U, LOSS) == pytest.approx((1 + 1 + 2 / 3 + 1 / 2) / 4 - 5 / 24)
    assert misclassification_auroc(U, 1 - LOSS) == 1.0


def test_ties_count_by_their_mean_over_all_orders():
    u, loss = np.array([1.0, 0.0, 1.0, 1.0, 0.0]), np.array([3.0, 1.0, 0.0, 0.5, 0.0])
    orders = [o for o in permutations(range(5)) if all(u[a] <= u[b] for a, b in pairwise(o))]
    brute = np.mean([np.mean(np.cumsum(loss[list(o)]) / np.arange(1, 6)) for o in orders])
    assert aurc(u, loss) == pytest.approx(brute, abs=1e-12)


def test_a_constant_uncertainty_answers_with_the_mean_loss_at_every_coverage():
    loss = np.random.default_rng(0).random(30)
    assert aurc(np.zeros(30), loss) == pytest.approx(loss.mean())


def test_perfect_order_approaches_its_closed_form():
    rate, rows = 0.2, 100_000
    loss = np.arange(rows) < rate * rows
    assert aurc(loss, loss) == pytest.approx(rate + (1 - rate) * np.log(1 - rate), abs=1e-4)


@pytest.mark.parametrize(("coverage", "kept"), [(0.07, 7), (0.5, 50), (0.501, 51), (1.0, 100), (0.001, 1)])
def test_risk_at_coverage_keeps_the_surest_rows_rounded_up(coverage, kept):
    rng = np.random.default_rng(1)
    u, loss = rng.random(100), rng.random(100)
    assert risk_at_coverage(u, loss, coverage) == pytest.approx(loss[np.argsort(u)[:kept]].mean())


def test_detection_equals_scikit_learn_and_the_rank_sum():
    rng = np.random.default_rng(2)
    familiar, novel = rng.normal(0, 1, 300).round(1), rng.normal(1, 1, 200).round(1)
    pairs = stats.mannwhitneyu(novel, familiar).statistic / (300 * 200)
    assert out_of_distribution_auroc(familiar, novel) == pytest.approx(pairs, abs=1e-12)
    correct = np.repeat([1, 0], [300, 200])
    u = np.concatenate([familiar, novel])
    assert misclassification_auroc(u, correct) == pytest.approx(roc_auc_score(1 - correct, u), abs=1e-12)
    # familiar is positive: its score is the negative uncertainty
    false, true, _ = roc_curve(correct, -u, drop_intermediate=False)
    assert fpr95(familiar, novel) == pytest.approx(false[np.argmax(true >= 0.95)])


def test_detection_of_shifted_gaussians_has_its_closed_form():
    rng = np.random.default_rng(3)
    familiar, novel = rng.normal(0, 1, 40_000), rng.normal(2, 1, 40_000)
    assert out_of_distribution_auroc(familiar, novel) == pytest.approx(stats.norm.cdf(2 / np.sqrt(2)), abs=0.006)
    assert fpr95(familiar, novel) == pytest.approx(stats.norm.cdf(stats.norm.ppf(0.95) - 2), abs=0.015)


def test_constant_uncertainty_detects_nothing():
    assert out_of_distribution_auroc([1.0, 1.0], [1.0]) == 0.5
    assert fpr95([1.0, 1.0], [1.0]) == 1.0


def test_masked_rows_do_not_count():
    u, loss = np.append(U, np.nan), np.append(LOSS, np.nan)
    mask = np.array([True] * 4 + [False])
    assert aurc(u, loss, mask=mask) == aurc(U, LOSS)
    assert excess_aurc(u, loss, mask=mask) == 0.0


def test_faults_are_named():
    with pytest.raises(ArgumentError, match=r"coverage=0 is outside the open interval"):
        risk_at_coverage(U, LOSS, 0.0)
    with pytest.raises(ArgumentError, match="correct: 4 of 4 rows are hits, and an AUROC compares"):
        misclassification_auroc(U, np.ones(4))
    with pytest.raises(ArgumentError, match="correct: 0 of 4 rows are hits"):
        misclassification_auroc(U, np.zeros(4))
    with pytest.raises(ArgumentError, match="correct: expected only 0 and 1"):
        misclassification_auroc(U, U)
    with pytest.raises(ArgumentError, match="keep=95 is outside 0"):
        fpr95(U, U, keep=95.0)
    with pytest.raises(ArgumentError, match="novel: 1 of 1 rows are NaN"):
        out_of_distribution_auroc(U, [np.nan])
    with pytest.raises(ArgumentError, match=r"loss: shape \(3,\) differs from \(4,\) of uncertainty"):
        aurc(U, LOSS[:3])
