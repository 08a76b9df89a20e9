"""Scores of inferred influence: a score or probability per candidate link against the links that are true.

Rows are the candidates, shared by all systems in a comparison; the random level of every precision is the
:func:`base_rate`. Ties count by their expectation over random order, so that a constant score earns the base rate and
not what the order of the rows happens to give.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score

from sphunc._typing import Bool, Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.calibration import BINS, binned_error, equal_width
from sphunc.evaluation.floor import CalibrationCheck, check_against, null_errors
from sphunc.evaluation.inputs import Numbers, at_least, flat_numbers, flat_truth, inside, unit_interval
from sphunc.evaluation.selective import expected_order


def base_rate(truth: Numbers, *, mask: Numbers | None = None) -> float:
    """Share of candidates that are true links: what random scores reach in P@k and AUPRC."""
    return float(flat_truth(mask, scores=truth, truth=truth)[1].mean())


def precision_at_k(scores: Numbers, truth: Numbers, k: int = 10, *, mask: Numbers | None = None) -> float:
    """Expected share of true links among the k highest scores, ties in random order."""
    s, is_link = flat_truth(mask, scores=scores, truth=truth)
    k = at_least("k", k, 1)
    if k > len(s):
        raise ArgumentError(f"k: got {k}, more than the {len(s)} candidates. Give at most as many as there are.")
    return _top_precision(s, is_link, k)


def precision_at_k_per_target(
    scores: Numbers, truth: Numbers, targets: Numbers, k: int = 10, *, mask: Numbers | None = None
) -> float:
    """Mean over influenced agents of the expected precision among the k best candidates of each.

    Agents without a true link are left out: no ranking could be right for them. An agent with fewer than k
    candidates is judged on all of them.
    """
    s, is_link = flat_truth(mask, scores=scores, truth=truth)
    target, _ = flat_numbers(mask, targets=targets, truth=truth)
    _check_any_link(is_link)
    k = at_least("k", k, 1)
    order = np.argsort(target, kind="stable")
    rows_of = np.split(order, np.flatnonzero(np.diff(target[order])) + 1)
    influenced = [rows for rows in rows_of if is_link[rows].any()]
    return float(np.mean([_top_precision(s[rows], is_link[rows], min(k, len(rows))) for rows in influenced]))


def r_precision(scores: Numbers, truth: Numbers, *, mask: Numbers | None = None) -> float:
    """Expected precision among the R highest scores, R the number of true links; it is also the recall there."""
    s, is_link = flat_truth(mask, scores=scores, truth=truth)
    _check_any_link(is_link)
    return _top_precision(s, is_link, int(is_link.sum()))


def auprc(scores: Numbers, truth: Numbers, *, mask: Numbers | None = None) -> float:
    """Area under the precision-recall curve as average precision (no interpolation); ties enter together."""
    s, is_link = flat_truth(mask, scores=scores, truth=truth)
    _check_any_link(is_link)
    return float(average_precision_score(is_link, s))


def link_ece(probabilities: Numbers, truth: Numbers, *, bins: int = BINS, mask: Numbers | None = None) -> float:
    """Expected calibration error of link probabilities over equal-width bins of the probability itself."""
    p, is_link = flat_truth(mask, probabilities=probabilities, truth=truth)
    p = unit_interval("probabilities", p)
    return binned_error(p, is_link, equal_width(p, bins))


def check_link_calibration(
    probabilities: Numbers,
    truth: Numbers,
    *,
    bins: int = BINS,
    samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mask: Numbers | None = None,
) -> CalibrationCheck:
    """:func:`link_ece` with its floor and band under perfect calibration, links taken as independent."""
    level = inside("level", level)
    p, is_link = flat_truth(mask, probabilities=probabilities, truth=truth)
    p = unit_interval("probabilities", p)
    errors = null_errors(p, bins=bins, samples=samples, seed=seed)
    return check_against(binned_error(p, is_link, equal_width(p, bins)), errors, len(p), bins, level)


def _top_precision(scores: Float[np.ndarray, " row"], is_link: Bool[np.ndarray, " row"], k: int) -> float:
    return float(expected_order(-scores, is_link.astype(np.float64))[:k].mean())


def _check_any_link(is_link: Bool[np.ndarray, " row"]) -> None:
    if not is_link.any():
        raise ArgumentError(
            f"truth: none of the {len(is_link)} candidates is a true link, so that no ranking is better than another. "
            "Check that candidates and true links use the same agents."
        )
