"""Smooth calibration error: a kernel in the place of bins, with its width chosen by the data."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq

from sphunc._typing import Bool, Float
from sphunc.evaluation.calibration import top_label
from sphunc.evaluation.inputs import Numbers

_CELLS = 4096  # confidences are read to 1/8192: far below any width that matters


def smooth_ece(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None) -> float:
    r"""Smooth calibration error of the top label (Błasiok and Nakkiran, ICLR 2024).

    .. math:: \text{smECE}_\sigma = \int_0^1 \Big| \tfrac1n \sum_i K_\sigma(t, f_i)(y_i - f_i) \Big| dt,
              \qquad \text{smECE} = \sigma^* \text{ with } \text{smECE}_{\sigma^*} = \sigma^*

    :math:`K_\sigma` is the Gaussian kernel reflected at 0 and 1. Continuous in the forecasts, no bins to choose.
    It is 1 at most, when every forecast is certain and wrong: no width changes the error then. Accurate to 1e-4.
    """
    return smooth_error(*top_label(probabilities, labels, mask))


def smooth_error(confidence: Float[np.ndarray, " row"], correct: Bool[np.ndarray, " row"]) -> float:
    """Smooth calibration error of probabilities of single events."""
    spectrum = _residual_spectrum(confidence, correct)
    if _error_at(0.0, spectrum) == 0.0:
        return 0.0
    if _error_at(1.0, spectrum) >= 1.0:  # never above 1 but for rounding, so 1 itself is the fixed point
        return 1.0
    return float(brentq(lambda width: _error_at(width, spectrum) - width, 0.0, 1.0, xtol=1e-8))  # pyright: ignore[reportArgumentType]


def smooth_error_at(width: float, confidence: Float[np.ndarray, " row"], correct: Bool[np.ndarray, " row"]) -> float:
    """Smooth calibration error with a kernel of this width; falls as the width grows."""
    return _error_at(width, _residual_spectrum(confidence, correct))


def _residual_spectrum(
    confidence: Float[np.ndarray, " row"], correct: Bool[np.ndarray, " row"]
) -> Float[np.ndarray, " cell"]:
    cell = np.minimum((confidence * _CELLS).astype(np.int64), _CELLS - 1)
    residual = np.bincount(cell, correct - confidence, minlength=_CELLS) / len(confidence)
    return np.asarray(dct(residual, type=2, norm="ortho"))


def _error_at(width: float, spectrum: Float[np.ndarray, " cell"]) -> float:
    # The reflected Gaussian kernel is the heat kernel of [0, 1], which the cosine transform makes diagonal.
    damping = np.exp(-0.5 * (np.pi * width * np.arange(len(spectrum))) ** 2)
    return float(np.abs(np.asarray(idct(spectrum * damping, type=2, norm="ortho"))).sum())
