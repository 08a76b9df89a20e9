r"""Conformal sets and intervals: which outcomes to reckon with, for a stated coverage.

Split conformal prediction (Vovk, Gammerman and Shafer 2005): with n held-out scores a set holds
every outcome whose score is at most their :math:`\lceil (n+1) \gamma \rceil`-th smallest. The
coverage is guaranteed on average over agents if held-out and future outcomes are exchangeable; over
time they are not quite.

The score of a class is the rank of its :math:`1 - p` among those that the forecasts of the same
time expect,

.. math:: F_t(s) = \frac{1}{N} \sum_{i,c} p_{ic} 1[1 - p_{ic} \le s]

so that a trend which makes all forecasts sharper or wider moves the sets with it. For one agent
these are the adaptive sets of Romano, Sesia and Candes (2020).
"""

from __future__ import annotations

import math
from numbers import Real

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.forecasting.distribution import Categorical, Gaussian, PredictiveDistribution

ROUNDING = 1e-9
"""Scores that differ by less are the same."""
CAVEATS = {
    "origins": "coverage holds on average if the outcomes to come resemble those of the held-out times; "
    "it is not guaranteed when the population drifts",
    "agents": "coverage was calibrated on held-out agents at times that the fit saw: it says nothing about drift "
    "over time, and agents who influence each other are not quite exchangeable",
    "nothing": "nothing was held out for calibration: every class is in every set",
}


def expected_rank(distribution: Categorical, score: Float[Tensor, "row *class"]) -> Float[Tensor, "row *class"]:
    """Share of the probability of all forecasts that lies on classes with at most this score.

    Args:
        distribution: forecasts of one time.
        score: 1 - p of some of their classes.
    """
    p = distribution.probabilities.flatten()
    order = (1.0 - p).argsort()
    scores = (1.0 - p)[order].contiguous()
    mass = p[order].cumsum(0) / p.sum()
    place = torch.searchsorted(scores, score.contiguous() + ROUNDING, right=True) - 1
    return mass[place.clamp(min=0)]


def conformal_scores(
    distribution: PredictiveDistribution,
    outcome: Float[Tensor, "row output"],
    block: Int[Tensor, " row"] | None = None,
) -> Float[Tensor, " row"]:
    """Nonconformity: expected rank of the class that came, or the largest standardised error of the
    numbers.

    Args:
        distribution: held-out forecasts.
        outcome: what came, indicators or numbers.
        block: rows that were forecast together; all of them by default.
    """
    if not isinstance(distribution, Categorical):
        return ((outcome - distribution.mean).abs() / distribution.variance.sqrt()).amax(-1)
    score = 1.0 - (distribution.probabilities * outcome).sum(-1)
    if block is None:
        return expected_rank(distribution, score)
    ranks = torch.zeros_like(score)
    for one in block.unique():
        rows = block == one
        ranks[rows] = expected_rank(distribution.select(rows), score[rows])
    return ranks


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


def conformal_sets(distribution: Categorical, threshold: float) -> Bool[Tensor, "row class"]:
    """Classes whose score is at most the threshold; the most probable class is always in.

    Args:
        distribution: forecasts of one time.
        threshold: of :func:`conformal_threshold`.
    """
    p = distribution.probabilities
    top = torch.nn.functional.one_hot(p.argmax(-1), p.shape[-1]).bool()
    if math.isinf(threshold):
        return torch.ones_like(top)
    return (expected_rank(distribution, 1.0 - p) <= threshold + ROUNDING) | top


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
