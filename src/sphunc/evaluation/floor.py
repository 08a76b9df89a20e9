"""The expected calibration error of a perfect forecaster: its floor and its band, by simulation.

With finitely many rows accuracy scatters around confidence even when every confidence is exactly
right, and the binned error adds up the absolute scatter. An error below the floor is luck or an
error in the evaluation, not skill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Float
from sphunc.evaluation.calibration import BINS, binned_error, equal_width, top_label
from sphunc.evaluation.inputs import Flags, Mask, Numbers, Rows, class_probabilities, share

SAMPLES = 2000
"""Simulated label sets: the ends of a 95 % band are then quantiles of 50 of them each."""
_CHUNK = 4_000_000  # numbers drawn at once: 32 MB

Errors = Float[np.ndarray, " sample"]


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
    """An expected calibration error with what perfect calibration would show.

    Attributes:
        ece: the error found.
        null: the same error under perfect calibration.
        p_value: share of perfectly calibrated label sets with an error as large (one-sided, never
            below 1 / (samples + 1)).
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
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    mask: Mask = None,
) -> CalibrationCheck:
    """Expected calibration error of the top label with its floor and band.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: equal-width bins.
        samples: simulated label sets.
        level: share of them inside the band.
        seed: of the simulation.
        mask: True where a row counts, ``[...]``.

    Example:
        >>> print(check_calibration([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3, samples=100))  # doctest: +ELLIPSIS
        ECE 0.0000 (floor 0.1..., n = 10, 15 bins)
    """
    confidence, correct = top_label(probabilities, labels, mask)
    return check_events(confidence, correct, bins=bins, samples=samples, level=level, seed=seed)


def check_events(
    probability: Rows, occurred: Flags, *, bins: int, samples: int, level: float, seed: int
) -> CalibrationCheck:
    """Binned error of forecasts of single events with its floor and band.

    Args:
        probability: forecast of each event.
        occurred: whether it happened.
        bins: equal-width bins.
        samples: simulated label sets.
        level: share of them inside the band.
        seed: of the simulation.
    """
    level = share("level", level, allow_one=False)
    errors = null_errors(probability, bins=bins, samples=samples, seed=seed)
    found = binned_error(probability, occurred, equal_width(probability, bins))
    null = _summarise(errors, len(probability), bins, level)
    p_value = (1 + (errors >= found).sum()) / (1 + len(errors))
    return CalibrationCheck(found, null, float(p_value))


def calibration_null(
    probabilities: Numbers,
    *,
    bins: int = BINS,
    samples: int = SAMPLES,
    level: float = 0.95,
    seed: int = 0,
    mask: Mask = None,
) -> CalibrationNull:
    """Floor and band of :func:`sphunc.evaluation.ece` for these probabilities; needs no labels.

    Args:
        probabilities: of the classes, ``[..., C]``.
        bins: equal-width bins.
        samples: simulated label sets.
        level: share of them inside the band.
        seed: of the simulation.
        mask: True where a row counts, ``[...]``.
    """
    level = share("level", level, allow_one=False)
    confidence = class_probabilities(probabilities, mask).max(axis=1)
    errors = null_errors(confidence, bins=bins, samples=samples, seed=seed)
    return _summarise(errors, len(confidence), bins, level)


def null_errors(probability: Rows, *, bins: int, samples: int, seed: int) -> Errors:
    r"""Binned errors of label sets drawn as :math:`o_i \sim \text{Bernoulli}(p_i)`.

    Cost and memory: ``samples * rows`` uniform numbers, a few million at a time.

    Args:
        probability: p, per row.
        bins: equal-width bins.
        samples: label sets.
        seed: of the draws.
    """
    samples = whole_number("samples", samples, least=1)
    rng = np.random.default_rng(seed_number(seed))
    # Rows sorted by bin, so that the residuals of a bin are one stretch.
    ordered = probability[np.argsort(equal_width(probability, bins), kind="stable")]
    _, starts = np.unique(equal_width(ordered, bins), return_index=True)
    rows = len(probability)
    step = max(1, _CHUNK // rows)
    errors = []
    for first in range(0, samples, step):
        occurred = rng.random((min(step, samples - first), rows)) < ordered
        residual = np.add.reduceat(occurred - ordered, starts, axis=1)
        errors.append(np.abs(residual).sum(axis=1) / rows)
    return np.concatenate(errors)


def _summarise(errors: Errors, rows: int, bins: int, level: float) -> CalibrationNull:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(errors, (tail, 1.0 - tail))
    return CalibrationNull(float(errors.mean()), float(low), float(high), level, rows, bins, len(errors))
