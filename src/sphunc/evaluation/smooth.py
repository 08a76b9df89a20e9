"""Smooth calibration error: a kernel in the place of bins, with its width chosen by the data."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

from sphunc.evaluation.calibration import top_label
from sphunc.evaluation.inputs import Flags, Mask, Numbers, Rows

_CELLS = 4096  # confidences are read to 1/8192: far below any width that matters


def smooth_ece(probabilities: Numbers, labels: Numbers, *, mask: Mask = None) -> float:
    r"""Smooth calibration error of the top label (Błasiok and Nakkiran, ICLR 2024).

    .. math:: \text{smECE}_\sigma = \int_0^1 \Big| \tfrac1n \sum_i K_\sigma(t, f_i)(y_i - f_i) \Big| dt,
              \qquad \text{smECE} = \sigma^* \text{ with } \text{smECE}_{\sigma^*} = \sigma^*

    :math:`K_\sigma` is the Gaussian kernel reflected at 0 and 1. Continuous in the forecasts, no bins
    to choose. It is 1 at most, when every forecast is certain and wrong: no width changes the error
    then. Accurate to 1e-4.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
    """
    confidence, correct = top_label(probabilities, labels, mask)
    return smooth_error(confidence, correct)


def smooth_error(confidence: Rows, correct: Flags) -> float:
    """Smooth calibration error of probabilities of single events.

    Args:
        confidence: probability of each event.
        correct: whether it happened.
    """
    if smooth_error_at(0.0, confidence, correct) == 0.0:
        return 0.0
    if smooth_error_at(1.0, confidence, correct) >= 1.0:  # above 1 by rounding alone: 1 is the fixed point
        return 1.0

    def gap(width: float) -> float:
        return smooth_error_at(width, confidence, correct) - width

    return float(brentq(gap, 0.0, 1.0, xtol=1e-8))  # pyright: ignore[reportArgumentType]


def smooth_error_at(width: float, confidence: Rows, correct: Flags) -> float:
    """Smooth calibration error with a kernel of fixed width; falls as the width grows.

    Args:
        width: standard deviation of the kernel.
        confidence: probability of each event.
        correct: whether it happened.
    """
    cell = np.minimum((confidence * _CELLS).astype(np.int64), _CELLS - 1)
    residual = np.bincount(cell, correct - confidence, minlength=_CELLS) / len(confidence)
    # The reflected Gaussian kernel is the heat kernel of [0, 1], which the cosine transform makes diagonal.
    spectrum = np.asarray(dct(residual, type=2, norm="ortho"))
    damping = np.exp(-0.5 * (np.pi * width * np.arange(_CELLS)) ** 2)
    return float(np.abs(np.asarray(idct(spectrum * damping, type=2, norm="ortho"))).sum())
