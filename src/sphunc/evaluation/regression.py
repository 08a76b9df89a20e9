"""Scores of forecasts of numbers: a proper score, the rank of outcomes in the forecast, and intervals."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from sphunc._checks import seed_number
from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Mask, Numbers, Rows, counted, flat_numbers, to_array


def crps_gaussian(mean: Numbers, deviation: Numbers, observed: Numbers, *, mask: Mask = None) -> float:
    r"""Mean continuous ranked probability score of Gaussian forecasts, in the unit of the outcome.

    .. math:: (y - \mu)(2 \Phi(z) - 1) + 2 \sigma \varphi(z) - \sigma / \sqrt\pi, \qquad z = (y - \mu) / \sigma

    Args:
        mean: mu, of each forecast.
        deviation: sigma, its standard deviation, above 0.
        observed: y, the outcome.
        mask: True where an outcome counts.
    """
    mu, sigma, y = _gaussian(mean, deviation, observed, mask)
    z = (y - mu) / sigma
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return float(np.mean((y - mu) * (2.0 * ndtr(z) - 1.0) + sigma * (2.0 * density - 1.0 / np.sqrt(np.pi))))


def crps_samples(samples: Numbers, observed: Numbers, *, fair: bool = False, mask: Mask = None) -> float:
    r"""Mean continuous ranked probability score of forecasts given as samples.

    .. math:: \tfrac1S \sum_s |x_s - y| - \tfrac{1}{2 S^2} \sum_{s, s'} |x_s - x_{s'}|

    Args:
        samples: draws from each forecast on the first axis, ``[S, ...]``.
        observed: outcomes ``[...]``.
        fair: divide the second sum by S (S - 1): the score of the distribution behind the draws
            without bias, whatever S is. Else the score of the draws themselves, which few draws
            make worse.
        mask: True where an outcome counts.
    """
    x, y = _ensemble(samples, observed, mask)
    size = len(x)
    if fair and size < 2:
        raise ArgumentError("samples: one draw per forecast, and the fair score needs two or more. Draw more.")
    # The sum over pairs of sorted draws: each draw counts by its rank.
    weight = 2.0 * np.arange(1, size + 1) - size - 1.0
    pair_sum = 2.0 * weight @ np.sort(x, axis=0)
    pairs = size * (size - fair)
    return float((np.abs(x - y).mean(axis=0) - 0.5 * pair_sum / pairs).mean())


def pit_gaussian(mean: Numbers, deviation: Numbers, observed: Numbers, *, mask: Mask = None) -> Rows:
    """Probability integral transform: the forecast's distribution function at the outcome.

    Uniform if calibrated.

    Args:
        mean: of each forecast.
        deviation: its standard deviation, above 0.
        observed: the outcome.
        mask: True where an outcome counts.
    """
    mu, sigma, y = _gaussian(mean, deviation, observed, mask)
    return ndtr((y - mu) / sigma)


def pit_samples(samples: Numbers, observed: Numbers, *, seed: int = 0, mask: Mask = None) -> Rows:
    r"""Randomised rank of each outcome among the draws of its forecast, exactly uniform if calibrated.

    .. math:: \frac{\#\{x_s < y\} + v (1 + \#\{x_s = y\})}{S + 1}, \qquad v \sim U(0, 1)

    Args:
        samples: draws from each forecast on the first axis, ``[S, ...]``.
        observed: outcomes ``[...]``.
        seed: of v.
        mask: True where an outcome counts.
    """
    rng = np.random.default_rng(seed_number(seed))
    x, y = _ensemble(samples, observed, mask)
    jitter = rng.random(len(y))
    return ((x < y).sum(axis=0) + jitter * (1 + (x == y).sum(axis=0))) / (len(x) + 1)


def interval_coverage(low: Numbers, high: Numbers, observed: Numbers, *, mask: Mask = None) -> float:
    """Share of outcomes inside their closed interval; compare with the level that was promised.

    Args:
        low: lower ends.
        high: upper ends.
        observed: outcomes.
        mask: True where an outcome counts.
    """
    bottom, top, y = flat_numbers({"low": low, "high": high, "observed": observed}, mask)
    _check_ordered(bottom, top)
    return float(((bottom <= y) & (y <= top)).mean())


def interval_width(low: Numbers, high: Numbers, *, mask: Mask = None) -> float:
    """Mean width of intervals; of two with the same coverage the narrower is better.

    Args:
        low: lower ends.
        high: upper ends.
        mask: True where an interval counts.
    """
    bottom, top = flat_numbers({"low": low, "high": high}, mask)
    _check_ordered(bottom, top)
    return float((top - bottom).mean())


def _gaussian(mean: Numbers, deviation: Numbers, observed: Numbers, mask: Mask) -> tuple[Rows, Rows, Rows]:
    mu, sigma, y = flat_numbers({"mean": mean, "deviation": deviation, "observed": observed}, mask)
    if sigma.min() <= 0.0:
        raise ArgumentError(
            f"deviation: smallest value {sigma.min():.4g}, expected standard deviations above 0. "
            "Score a point forecast by its absolute error, which is its CRPS."
        )
    return mu, sigma, y


def _ensemble(samples: Numbers, observed: Numbers, mask: Mask) -> tuple[Float[np.ndarray, "sample row"], Rows]:
    x = to_array("samples", samples)
    y = to_array("observed", observed)
    if x.ndim < 2 or x.shape[1:] != y.shape or len(x) == 0:
        raise ArgumentError(f"samples: shape {x.shape}, expected [S, ...] over observed {y.shape} with S draws first.")
    keep = counted(mask, y.shape)
    (outcomes,) = flat_numbers({"observed": y}, keep)
    (draws,) = flat_numbers({"samples": x}, np.broadcast_to(keep, x.shape))
    return draws.reshape(len(x), -1), outcomes


def _check_ordered(low: Rows, high: Rows) -> None:
    crossed = np.flatnonzero(low > high)
    if crossed.size:
        raise ArgumentError(
            f"low: above high in {crossed.size} of {len(low)} rows, first at row {crossed[0]}. Swap the two ends."
        )
