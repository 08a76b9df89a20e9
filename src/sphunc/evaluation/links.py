"""Scores of inferred influence: a score or probability per candidate link against the true links.

Rows are the candidates, shared by all systems in a comparison; the random level of every precision
is the :func:`base_rate`. Ties count by their expectation over random order, so that a constant score
earns the base rate and not what the order of the rows happens to give.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score

from sphunc._checks import whole_number
from sphunc.errors import ArgumentError
from sphunc.evaluation.calibration import BINS, binned_error, equal_width
from sphunc.evaluation.floor import SAMPLES, CalibrationCheck, check_events
from sphunc.evaluation.inputs import ROUNDING, Flags, Mask, Numbers, Rows, flat_numbers, flat_truth
from sphunc.evaluation.selective import expected_order


def base_rate(truth: Numbers, *, mask: Mask = None) -> float:
    """Share of candidates that are true links: what random scores reach in P@k and AUPRC.

    Args:
        truth: whether each candidate is a true link.
        mask: True where a candidate counts.
    """
    _, is_link = _ranking(truth, truth, mask)
    return float(is_link.mean())


def precision_at_k(scores: Numbers, truth: Numbers, k: int = 10, *, mask: Mask = None) -> float:
    """Expected share of true links among the k highest scores, ties in random order.

    Args:
        scores: of the candidates, larger is stronger.
        truth: whether each candidate is a true link.
        k: candidates taken.
        mask: True where a candidate counts.
    """
    s, is_link = _ranking(scores, truth, mask)
    k = whole_number("k", k, least=1)
    if k > len(s):
        raise ArgumentError(f"k: got {k}, more than the {len(s)} candidates. Give at most as many as there are.")
    return _top_precision(s, is_link, k)


def precision_at_k_per_target(
    scores: Numbers, truth: Numbers, targets: Numbers, k: int = 10, *, mask: Mask = None
) -> float:
    """Mean over influenced agents of the expected precision among the k best candidates of each.

    Agents without a true link are left out: no ranking could be right for them. An agent with fewer
    than k candidates is scored on all of them.

    Args:
        scores: of the candidates, larger is stronger.
        truth: whether each candidate is a true link.
        targets: index of the influenced agent of each candidate.
        k: candidates taken per agent.
        mask: True where a candidate counts.
    """
    s, is_link = _ranking(scores, truth, mask)
    target, _ = flat_numbers({"targets": targets, "truth": truth}, mask)
    _check_any_link(is_link)
    k = whole_number("k", k, least=1)
    order = np.argsort(target, kind="stable")
    rows_of = np.split(order, np.flatnonzero(np.diff(target[order])) + 1)
    influenced = [rows for rows in rows_of if is_link[rows].any()]
    precisions = [_top_precision(s[rows], is_link[rows], k) for rows in influenced]
    return float(np.mean(precisions))


def r_precision(scores: Numbers, truth: Numbers, *, mask: Mask = None) -> float:
    """Expected precision among the R highest scores, R the number of true links; also the recall there.

    Args:
        scores: of the candidates, larger is stronger.
        truth: whether each candidate is a true link.
        mask: True where a candidate counts.
    """
    s, is_link = _ranking(scores, truth, mask)
    _check_any_link(is_link)
    return _top_precision(s, is_link, int(is_link.sum()))


def auprc(scores: Numbers, truth: Numbers, *, mask: Mask = None) -> float:
    """Area under the precision-recall curve as average precision (no interpolation); ties enter together.

    Args:
        scores: of the candidates, larger is stronger.
        truth: whether each candidate is a true link.
        mask: True where a candidate counts.
    """
    s, is_link = _ranking(scores, truth, mask)
    _check_any_link(is_link)
    return float(average_precision_score(is_link, s))


def link_ece(probabilities: Numbers, truth: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    """Expected calibration error of link probabilities over equal-width bins of the probability itself.

    Args:
        probabilities: of the candidates.
        truth: whether each candidate is a true link.
        bins: number of bins on [0, 1].
        mask: True where a candidate counts.
    """
    p, is_link = _link_probabilities(probabilities, truth, mask)
    return binned_error(p, is_link, equal_width(p, bins))


def check_link_calibration(
    probabilities: Numbers,
    truth: Numbers,
    *,
    bins: int = BINS,
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    mask: Mask = None,
) -> CalibrationCheck:
    """:func:`link_ece` with its floor and band under perfect calibration, links taken as independent.

    Args:
        probabilities: of the candidates.
        truth: whether each candidate is a true link.
        bins: number of bins on [0, 1].
        samples: simulated sets of links.
        level: share of them inside the band.
        seed: of the simulation.
        mask: True where a candidate counts.
    """
    p, is_link = _link_probabilities(probabilities, truth, mask)
    return check_events(p, is_link, bins=bins, samples=samples, level=level, seed=seed)


def _ranking(scores: Numbers, truth: Numbers, mask: Mask) -> tuple[Rows, Flags]:
    return flat_truth({"scores": scores, "truth": truth}, mask)


def _link_probabilities(probabilities: Numbers, truth: Numbers, mask: Mask) -> tuple[Rows, Flags]:
    p, is_link = flat_truth({"probabilities": probabilities, "truth": truth}, mask)
    if p.min() < -ROUNDING or p.max() > 1 + ROUNDING:
        raise ArgumentError(
            f"probabilities: range [{p.min():.4g}, {p.max():.4g}], expected probabilities in [0, 1]. "
            "Scores without a scale have a ranking, not a calibration."
        )
    return p.clip(0.0, 1.0), is_link


def _top_precision(scores: Rows, is_link: Flags, k: int) -> float:
    return float(expected_order(-scores, is_link.astype(np.float64))[:k].mean())


def _check_any_link(is_link: Flags) -> None:
    if not is_link.any():
        raise ArgumentError(
            f"truth: none of the {len(is_link)} candidates is a true link, so that no ranking is better than another. "
            "Check that candidates and true links use the same agents."
        )
