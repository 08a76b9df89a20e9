"""The expected calibration error of a perfect forecaster: its floor and its band, by simulation.

With finitely many rows accuracy scatters around confidence even when every confidence is exactly right, and the
binned error adds up the absolute scatter. An error below the floor is luck or an error in the evaluation, not skill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sphunc._typing import Float
from sphunc.evaluation.calibration import BINS, binned_error, equal_width, top_label
from sphunc.evaluation.inputs import Numbers, at_least, class_probabilities, generator, inside

_CHUNK = 4_000_000  # numbers drawn at once: 32 MB


@dataclass(frozen=True)
class CalibrationNull:
    """Binned error of a forecaster with these confidences, were all of them exactly right.

    Attributes:
        floor: its expectation.
        low, high: the central band that holds a share ``level`` of it.
        level: that share.
        rows, bins, samples: rows evaluated, equal-width bins, simulated label sets.
    """

    floor: float
    low: float
    high: float
    level: float
    rows: int
    bins: int
    samples: int

    def contains(self, error: float) -> bool:
        """Whether an error is what perfect calibration would show."""
        return self.low <= error <= self.high


@dataclass(frozen=True)
class CalibrationCheck:
    """An expected calibration error beside what perfect calibration would show.

    Attributes:
        ece: the error found.
        null: the same error under perfect calibration.
        p_value: share of perfectly calibrated label sets with an error as large (one-sided, never below
            1 / (samples + 1)).
    """

    ece: float
    null: CalibrationNull
    p_value: float

    @property
    def excess(self) -> float:
        """Error above the floor; around 0 for a perfect forecaster, negative half the time."""
        return self.ece - self.null.floor

    @property
    def is_calibrated(self) -> bool:
        """Whether the error does not exceed the band of perfect calibration."""
        return self.ece <= self.null.high

    def __str__(self) -> str:
        null = self.null
        return (
            f"ECE {self.ece:.4f} (floor {null.floor:.4f}, {100 * null.level:g} % band of perfect calibration "
            f"{null.low:.4f} to {null.high:.4f}, n = {null.rows}, {null.bins} bins)"
        )


def check_calibration(
    probabilities: Numbers,
    labels: Numbers,
    *,
    bins: int = BINS,
    samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mask: Numbers | None = None,
) -> CalibrationCheck:
    """Expected calibration error of the top label with its floor and band.

    Example:
        >>> print(check_calibration([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3, samples=100))  # doctest: +ELLIPSIS
        ECE 0.0000 (floor 0.1..., n = 10, 15 bins)
    """
    level = inside("level", level)
    confidence, correct = top_label(probabilities, labels, mask)
    found = binned_error(confidence, correct, equal_width(confidence, bins))
    return check_against(
        found, null_errors(confidence, bins=bins, samples=samples, seed=seed), len(confidence), bins, level
    )


def calibration_null(
    probabilities: Numbers,
    *,
    bins: int = BINS,
    samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mask: Numbers | None = None,
) -> CalibrationNull:
    """Floor and band of :func:`sphunc.evaluation.ece` for these probabilities; needs no labels."""
    level = inside("level", level)
    confidence = class_probabilities(probabilities, mask).max(axis=1)
    errors = null_errors(confidence, bins=bins, samples=samples, seed=seed)
    return summarise_null(errors, len(confidence), bins, level)


def null_errors(
    confidence: Float[np.ndarray, " row"], *, bins: int, samples: int, seed: int
) -> Float[np.ndarray, " sample"]:
    r"""Binned errors of label sets drawn as :math:`\text{correct}_i \sim \text{Bernoulli}(\text{confidence}_i)`.

    Cost and memory: ``samples * rows`` uniform numbers, a few million at a time.
    """
    samples, rng = at_least("samples", samples, 1), generator(seed)
    order = np.argsort(equal_width(confidence, bins), kind="stable")
    sorted_confidence = confidence[order]
    starts = np.unique(equal_width(sorted_confidence, bins), return_index=True)[1]
    rows = len(confidence)
    step = max(1, _CHUNK // rows)
    errors = []
    for first in range(0, samples, step):
        draws = rng.random((min(step, samples - first), rows)) < sorted_confidence
        residual = np.add.reduceat(draws - sorted_confidence, starts, axis=1)
        errors.append(np.abs(residual).sum(axis=1) / rows)
    return np.concatenate(errors)


def check_against(
    found: float, errors: Float[np.ndarray, " sample"], rows: int, bins: int, level: float
) -> CalibrationCheck:
    """Set an error beside the simulated errors of perfect calibration."""
    null = summarise_null(errors, rows, bins, level)
    return CalibrationCheck(found, null, float((1 + (errors >= found).sum()) / (1 + len(errors))))


def summarise_null(errors: Float[np.ndarray, " sample"], rows: int, bins: int, level: float) -> CalibrationNull:
    """Mean and central band of simulated errors."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(errors, (tail, 1.0 - tail))
    return CalibrationNull(float(errors.mean()), float(low), float(high), level, rows, bins, len(errors))
