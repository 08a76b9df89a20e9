"""Is uncertainty largest where it should be: on errors (selective prediction), and out of distribution.

All take an *uncertainty* per row: larger means less certain. Ties count by their expectation over
random order, so that a constant uncertainty scores exactly as chance does.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.metrics import roc_auc_score

from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Mask, Numbers, Rows, flat_numbers, flat_truth, share


def risk_coverage(uncertainty: Numbers, loss: Numbers, *, mask: Mask = None) -> tuple[Rows, Rows]:
    """Coverage k/n and mean loss of the k most certain rows, for k = 1 ... n.

    Args:
        uncertainty: any score, larger is less certain.
        loss: what a row costs: 1 for an error and 0 else, or any loss such as its NLL.
        mask: True where a row counts.
    """
    u, costs = flat_numbers({"uncertainty": uncertainty, "loss": loss}, mask)
    kept = np.arange(1, len(u) + 1)
    return kept / len(u), np.cumsum(expected_order(u, costs)) / kept


def aurc(uncertainty: Numbers, loss: Numbers, *, mask: Mask = None) -> float:
    """Area under the risk-coverage curve: mean over k of the mean loss of the k most certain rows.

    Reference: Geifman, Uziel and El-Yaniv (2019), Bias-reduced uncertainty estimation.

    Args:
        uncertainty: any score, larger is less certain.
        loss: what a row costs.
        mask: True where a row counts.
    """
    _, risk = risk_coverage(uncertainty, loss, mask=mask)
    return float(risk.mean())


def excess_aurc(uncertainty: Numbers, loss: Numbers, *, mask: Mask = None) -> float:
    """AURC above the best that an ordering of these losses could reach (E-AURC); 0 is perfect.

    Args:
        uncertainty: any score, larger is less certain.
        loss: what a row costs.
        mask: True where a row counts.
    """
    u, costs = flat_numbers({"uncertainty": uncertainty, "loss": loss}, mask)
    return aurc(u, costs) - aurc(costs, costs)


def risk_at_coverage(uncertainty: Numbers, loss: Numbers, coverage: float, *, mask: Mask = None) -> float:
    """Mean loss when only the most certain rows are answered.

    Args:
        uncertainty: any score, larger is less certain.
        loss: what a row costs.
        coverage: share of the rows that is answered, rounded up to whole rows.
        mask: True where a row counts.
    """
    coverage = share("coverage", coverage)
    _, risk = risk_coverage(uncertainty, loss, mask=mask)
    return float(risk[_rank(coverage, len(risk))])


def misclassification_auroc(uncertainty: Numbers, correct: Numbers, *, mask: Mask = None) -> float:
    """Probability that an error is less certain than a hit; 0.5 is chance, ties count half.

    Args:
        uncertainty: any score, larger is less certain.
        correct: whether the forecast of the row was right.
        mask: True where a row counts.
    """
    u, is_correct = flat_truth({"uncertainty": uncertainty, "correct": correct}, mask)
    if is_correct.all() or not is_correct.any():
        raise ArgumentError(
            f"correct: {int(is_correct.sum())} of {len(u)} rows are hits, and an AUROC compares hits with errors. "
            "Evaluate on more rows, or report the accuracy alone."
        )
    return float(roc_auc_score(~is_correct, u))


def out_of_distribution_auroc(familiar: Numbers, novel: Numbers) -> float:
    """Probability that a novel row is less certain than a familiar one; 0.5 is chance, ties count half.

    Args:
        familiar: uncertainties of rows like those of training.
        novel: uncertainties of rows from elsewhere.
    """
    (inside,) = flat_numbers({"familiar": familiar})
    (outside,) = flat_numbers({"novel": novel})
    truth = np.repeat([False, True], [len(inside), len(outside)])
    return float(roc_auc_score(truth, np.concatenate([inside, outside])))


def fpr95(familiar: Numbers, novel: Numbers, *, keep: float = 0.95) -> float:
    """Share of novel rows that pass as familiar at the threshold that passes 95 % of the familiar.

    0 is perfect. Familiar is the positive class, as in the literature on out-of-distribution
    detection. The threshold is the smallest observed uncertainty under which at least ``keep`` of
    the familiar rows lie.

    Args:
        familiar: uncertainties of rows like those of training.
        novel: uncertainties of rows from elsewhere.
        keep: share of the familiar rows that passes.
    """
    keep = share("keep", keep)
    (inside,) = flat_numbers({"familiar": familiar})
    (outside,) = flat_numbers({"novel": novel})
    threshold = np.sort(inside)[_rank(keep, len(inside))]
    return float((outside <= threshold).mean())


def expected_order(key: Rows, value: Rows) -> Rows:
    """Values in ascending order of their key, each the mean of those that tie with it.

    Args:
        key: what is sorted by.
        value: what is returned in that order.
    """
    _, tie, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.repeat(np.bincount(tie, value) / count, count)


def _rank(part: float, rows: int) -> int:
    """Position of the last of a share of rows, rounded up."""
    # 0.07 * 100 is 7.000000000000001: a share of whole rows must not round up for that
    return math.ceil(part * rows * (1.0 - 1e-12)) - 1
