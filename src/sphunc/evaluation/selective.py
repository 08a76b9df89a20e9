"""Is uncertainty largest where it should be: on errors (selective prediction) and on newcomers (out of distribution).

All take an *uncertainty* per row: larger means less sure. Ties count by their expectation over random order, so that
a constant uncertainty scores exactly as chance does.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.metrics import roc_auc_score

from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Numbers, flat_numbers, flat_truth, share


def risk_coverage(
    uncertainty: Numbers, loss: Numbers, *, mask: Numbers | None = None
) -> tuple[Float[np.ndarray, " row"], Float[np.ndarray, " row"]]:
    """Coverage k/n and mean loss of the k surest rows, for k = 1 ... n.

    Args:
        uncertainty: any score, larger is less sure.
        loss: what a row costs: 1 for an error and 0 else, or any loss such as its NLL.
        mask: True where a row counts.
    """
    u, costs = flat_numbers(mask, uncertainty=uncertainty, loss=loss)
    kept = np.arange(1, len(u) + 1)
    return kept / len(u), np.cumsum(expected_order(u, costs)) / kept


def aurc(uncertainty: Numbers, loss: Numbers, *, mask: Numbers | None = None) -> float:
    """Area under the risk-coverage curve: the mean over k of the mean loss of the k surest rows (Geifman 2019)."""
    return float(risk_coverage(uncertainty, loss, mask=mask)[1].mean())


def excess_aurc(uncertainty: Numbers, loss: Numbers, *, mask: Numbers | None = None) -> float:
    """AURC above the best that an ordering of these losses could reach (E-AURC); 0 is perfect."""
    u, costs = flat_numbers(mask, uncertainty=uncertainty, loss=loss)
    return aurc(u, costs) - aurc(costs, costs)


def risk_at_coverage(uncertainty: Numbers, loss: Numbers, coverage: float, *, mask: Numbers | None = None) -> float:
    """Mean loss when only the surest share ``coverage`` of the rows (rounded up) is answered."""
    coverage = share("coverage", coverage)
    _, risk = risk_coverage(uncertainty, loss, mask=mask)
    # 0.07 * 100 is 7.000000000000001: a share of whole rows must not round up for that
    return float(risk[math.ceil(coverage * len(risk) * (1.0 - 1e-12)) - 1])


def misclassification_auroc(uncertainty: Numbers, correct: Numbers, *, mask: Numbers | None = None) -> float:
    """Probability that an error is less sure than a hit; 0.5 is chance, ties count half."""
    u, is_correct = flat_truth(mask, uncertainty=uncertainty, correct=correct)
    if is_correct.all() or not is_correct.any():
        raise ArgumentError(
            f"correct: all {len(u)} rows are {'hits' if is_correct.all() else 'errors'}, so that there is nothing "
            "to tell apart. Evaluate on more rows, or report the accuracy alone."
        )
    return float(roc_auc_score(~is_correct, u))


def out_of_distribution_auroc(familiar: Numbers, novel: Numbers) -> float:
    """Probability that a novel row is less sure than a familiar one; 0.5 is chance, ties count half.

    Args:
        familiar: uncertainties of rows like those of training.
        novel: uncertainties of rows from elsewhere.
    """
    inside, outside = _two_samples(familiar, novel)
    truth = np.repeat([False, True], [len(inside), len(outside)])
    return float(roc_auc_score(truth, np.concatenate([inside, outside])))


def fpr95(familiar: Numbers, novel: Numbers, *, keep: float = 0.95) -> float:
    """Share of novel rows that pass as familiar at the threshold that passes 95 % of the familiar; 0 is perfect.

    Familiar is the positive class, as in the literature on out-of-distribution detection. The threshold is the
    smallest observed uncertainty under which at least ``keep`` of the familiar rows lie.
    """
    keep = share("keep", keep)
    inside, outside = _two_samples(familiar, novel)
    rank = math.ceil(keep * len(inside) * (1.0 - 1e-12)) - 1
    return float((outside <= np.sort(inside)[rank]).mean())


def expected_order(key: Float[np.ndarray, " row"], value: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Values in ascending order of their key, each the mean of those that tie with it."""
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.repeat(np.bincount(group, value) / count, count)


def _two_samples(familiar: Numbers, novel: Numbers) -> tuple[np.ndarray, np.ndarray]:
    (inside,), (outside,) = flat_numbers(familiar=familiar), flat_numbers(novel=novel)
    return inside, outside
