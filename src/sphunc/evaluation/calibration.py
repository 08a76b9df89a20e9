"""Calibration of class forecasts by bins: expected calibration error, its variants, reliability curve.

All compare the confidence (largest probability) with whether that class occurred, except the
classwise error. The binned error of a perfect forecaster is not 0 on finitely many rows: see
:mod:`sphunc.evaluation.floor`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sphunc._checks import whole_number
from sphunc._typing import Float, Int
from sphunc.evaluation.inputs import Flags, Labels, Mask, Numbers, Rows, class_forecast

BINS = 15
"""Equal-width bins of the usual expected calibration error; the last one is closed at 1."""

Bins = Float[np.ndarray, " bin"]


def ece(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    r"""Expected calibration error of the top label over equal-width bins.

    .. math:: \sum_b \tfrac{n_b}{n} |\text{accuracy}_b - \text{confidence}_b|

    Bins are closed on the left, the last on both sides. Too large on few rows: compare with
    :func:`sphunc.evaluation.check_calibration`.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    confidence, correct = top_label(probabilities, labels, mask)
    return binned_error(confidence, correct, equal_width(confidence, bins))


def adaptive_ece(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    """Expected calibration error over bins that hold equally many rows (quantiles of the confidence).

    Equal confidences stay in one bin, that of their middle rank, so that the value does not depend
    on the order of the rows. Ties make fewer bins; two values that each fill a bin never share one.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins.
        mask: True where a row counts, ``[...]``.
    """
    confidence, correct = top_label(probabilities, labels, mask)
    return binned_error(confidence, correct, equal_mass(confidence, bins))


def classwise_ece(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    """Mean over all classes of the binned error of that class's probability, equal-width bins.

    Reference: Kull et al. (2019), Beyond temperature scaling.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    p, y = class_forecast(probabilities, labels, mask)
    errors = [binned_error(of_class, y == c, equal_width(of_class, bins)) for c, of_class in enumerate(p.T)]
    return float(np.mean(errors))


def debiased_ece(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    """Root of :func:`debiased_squared_error`, 0 where that is negative.

    A root mean square, so at least as large as the mean absolute error that :func:`ece` estimates.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    return max(debiased_squared_error(probabilities, labels, bins=bins, mask=mask), 0.0) ** 0.5


def debiased_squared_error(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> float:
    r"""Squared calibration error over equal-width bins, less its sampling noise.

    .. math:: \sum_b \tfrac{n_b}{n}
              \left(\bar r_b^2 - \tfrac{1}{n_b (n_b - 1)} \sum_{i \in b} (r_i - \bar r_b)^2\right)

    with :math:`r_i` = correct - confidence. Its expectation is 0 for a perfect forecaster, so it may
    be negative; average this one over seeds, not its clipped root. It equals the estimator of Kumar,
    Liang and Ma (2019) where confidence is constant in a bin, and stays unbiased where it varies. A
    bin with one row has no variance and counts 0, as there.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    confidence, correct = top_label(probabilities, labels, mask)
    _, bin_of = np.unique(equal_width(confidence, bins), return_inverse=True)
    residual = correct - confidence
    count = np.bincount(bin_of)
    mean = np.bincount(bin_of, residual) / count
    scatter = np.bincount(bin_of, (residual - mean[bin_of]) ** 2)
    several = count > 1
    n = count[several]
    excess = mean[several] ** 2 - scatter[several] / (n * (n - 1.0))
    return float((n / len(residual)) @ excess)


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """What a reliability diagram draws: one entry per bin that holds rows.

    Attributes:
        low, high: edges of the bin.
        count: rows in it.
        confidence: their mean confidence.
        accuracy: share of them that were right.
    """

    low: Bins
    high: Bins
    count: Int[np.ndarray, " bin"]
    confidence: Bins
    accuracy: Bins


def reliability_curve(
    probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None
) -> ReliabilityCurve:
    """Confidence and accuracy per equal-width bin, empty bins left out; its weighted gap is :func:`ece`.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    confidence, correct = top_label(probabilities, labels, mask)
    occupied, bin_of, count = np.unique(equal_width(confidence, bins), return_inverse=True, return_counts=True)
    return ReliabilityCurve(
        low=occupied / bins,
        high=(occupied + 1) / bins,
        count=count,
        confidence=np.bincount(bin_of, confidence) / count,
        accuracy=np.bincount(bin_of, correct) / count,
    )


def top_label(probabilities: Numbers, labels: Numbers, mask: Mask = None) -> tuple[Rows, Flags]:
    """Confidence in the most probable class, and whether it occurred.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
    """
    p, y = class_forecast(probabilities, labels, mask)
    return p.max(axis=1), p.argmax(axis=1) == y


def binned_error(probability: Rows, occurred: Flags, bin_of: Labels) -> float:
    """Mean over rows of the absolute mean residual of their bin.

    Args:
        probability: forecast of an event, per row.
        occurred: whether it happened.
        bin_of: bin of each row.
    """
    return float(np.abs(np.bincount(bin_of, occurred - probability)).sum() / len(probability))


def equal_width(probability: Rows, bins: int) -> Labels:
    """Bin of each probability among bins of equal width on [0, 1], the last closed at 1.

    Args:
        probability: per row, in [0, 1].
        bins: how many.
    """
    edges = np.linspace(0.0, 1.0, whole_number("bins", bins, least=1) + 1)
    return np.searchsorted(edges[1:-1], probability, side="right")


def equal_mass(probability: Rows, bins: int) -> Labels:
    """Bin of each probability by its rank among all; ties stay together, in the bin of their middle rank.

    Args:
        probability: per row.
        bins: how many.
    """
    bins = whole_number("bins", bins, least=1)
    _, value, count = np.unique(probability, return_inverse=True, return_counts=True)
    last = np.cumsum(count) - 1
    twice_middle = 2 * last - count + 1  # in whole numbers: a rank on the edge of a bin is on it exactly
    bin_of_value = twice_middle * bins // max(2 * (len(probability) - 1), 1)
    return np.minimum(bin_of_value, bins - 1)[value]
