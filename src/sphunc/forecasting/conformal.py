r"""Conformal sets and intervals: which outcomes to reckon with, for a stated coverage.

Split conformal prediction (Vovk, Gammerman and Shafer 2005): with n held-out scores a set holds
every outcome whose score is at most their :math:`\lceil (n+1) \gamma \rceil`-th smallest. The
coverage is guaranteed on average over agents if held-out and future outcomes are exchangeable; over
time they are not quite.
"""

from __future__ import annotations

import math
from numbers import Real

import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.forecasting.distribution import Categorical, Gaussian, PredictiveDistribution

CAVEATS = {
    "origins": "coverage holds on average if the outcomes to come resemble those of the held-out times; "
    "it is not guaranteed when the population drifts",
    "agents": "coverage was calibrated on held-out agents at times that the fit saw: it says nothing about drift "
    "over time, and agents who influence each other are not quite exchangeable",
    "nothing": "nothing was held out for calibration: every class is in every set",
}


def conformal_scores(
    distribution: PredictiveDistribution, outcome: Float[Tensor, "row output"]
) -> Float[Tensor, " row"]:
    """Nonconformity: 1 - p of the class that came, or the largest standardised error of the
    numbers.

    Args:
        distribution: held-out forecasts.
        outcome: what came, indicators or numbers.
    """
    if isinstance(distribution, Categorical):
        return 1.0 - (distribution.probabilities * outcome).sum(-1)
    return ((outcome - distribution.mean).abs() / distribution.variance.sqrt()).amax(-1)


def conformal_threshold(scores: Float[Tensor, " row"], coverage: object) -> float:
    r"""The :math:`\lceil (n + 1) \gamma \rceil`-th smallest score; infinite where rows are too few.

    Args:
        scores: of held-out rows.
        coverage: :math:`\gamma`, a number strictly between 0 and 1; anything else is refused.
    """
    share = _checked_coverage(coverage)
    rank = math.ceil((len(scores) + 1) * share - 1e-9)
    if rank > len(scores):
        return math.inf
    return float(scores.sort().values[rank - 1])


def _checked_coverage(coverage: object) -> float:
    if isinstance(coverage, bool) or not isinstance(coverage, Real):
        kind = type(coverage).__name__
        raise ArgumentTypeError(f"coverage={coverage!r} must be a number, got {kind}; choose a share such as 0.9")
    share = float(coverage)
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"coverage is {coverage}; choose a share strictly between 0 and 1, such as 0.9")
    return share


def conformal_sets(distribution: Categorical, threshold: float) -> Bool[Tensor, "*batch class"]:
    """Classes whose score is at most the threshold; the most probable class is always in.

    Args:
        distribution: forecasts.
        threshold: of :func:`conformal_threshold`.
    """
    p = distribution.probabilities
    top = torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).bool()
    return (1.0 - p <= threshold) | top


def conformal_intervals(distribution: Gaussian, threshold: float) -> Float[Tensor, "*batch number 2"]:
    """Mean plus and minus ``threshold`` deviations; without limits where the threshold is infinite.

    Args:
        distribution: forecasts.
        threshold: of :func:`conformal_threshold`.
    """
    if math.isinf(threshold):
        half = torch.full_like(distribution.mean, math.inf)
    else:
        half = threshold * distribution.variance.sqrt()
    return torch.stack([distribution.mean - half, distribution.mean + half], -1)
