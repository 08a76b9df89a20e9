r"""Outcomes read from states: classes with a share drawn at random, or numbers; and what an outcome
says of a state.

.. math:: p(y | s) = (1 - \epsilon)\, \mathrm{softmax}(W s + b)_y + \epsilon f_y, \qquad
          \mathrm{logit}\,\epsilon = a_0 + a_1 r

r is what the features outside the state block say of the noise. Numbers:
:math:`y \sim N(W s + b, \sigma^2)`. An outcome updates the belief of a state by expectation
propagation (Minka 2001) with sites that are diagonal in the axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import torch

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Tensor
from sphunc.forecasting import Categorical, Gaussian, PredictiveDistribution
from sphunc.model.dynamics import minimise

POINTS = 64
"""Points of an expectation over logits; with half of them forecasts of five classes lose."""
CHUNK = 4_096
"""Rows whose points are held at a time: few enough to stay in the cache."""
MOST_ROWS = 4_000
WEIGHT_PENALTY = 1e-4
WEIGHT_VARIANCE = 10.0
"""Prior variance of a weight: wide, so that it matters only where rows are few."""
NOISE_PENALTY = 0.002
LARGEST_SITE = 0.95
"""Share of a cavity's precision that one outcome may claim."""


@dataclass(frozen=True, eq=False)
class Readout:
    """Map from states to outcomes.

    Attributes:
        weight: W ``[C, K]``.
        bias: b ``[C]``.
        noise: :math:`(a_0, a_1)` ``[2]``; of numbers the log variances ``[K]``.
        frequency: f, class frequencies ``[C]``; empty for numbers.
    """

    weight: Float[Tensor, "output axis"]
    bias: Float[Tensor, " output"]
    noise: Float[Tensor, " parameter"]
    frequency: Float[Tensor, " class"]

    @property
    def is_numeric(self) -> bool:
        """True when outcomes are numbers."""
        return not len(self.frequency)

    def noise_share(self, remainder: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        r"""Share :math:`\epsilon` of outcomes that are drawn at random.

        Args:
            remainder: r, of each row.
        """
        return torch.sigmoid(self.noise[0] + self.noise[1] * remainder)

    def class_probabilities(
        self, logits: Float[Tensor, "*batch class"], share: Float[Tensor, "*batch2"]
    ) -> Float[Tensor, "*batch class"]:
        """Probabilities of classes given logits and the share of noise.

        Args:
            logits: W s + b.
            share: of outcomes drawn at random.
        """
        return self._with_noise(torch.softmax(logits, -1), share)

    def _with_noise(self, p: Tensor, share: Tensor) -> Tensor:
        return (1 - share.unsqueeze(-1)) * p + share.unsqueeze(-1) * self.frequency

    def distribution(
        self,
        mean: Float[Tensor, "row axis"],
        variance: Float[Tensor, "row axis"],
        remainder: Float[Tensor, " row"],
    ) -> PredictiveDistribution:
        """Predictive distribution of Gaussian beliefs about states, integrated over them.

        Args:
            mean: of the states.
            variance: of the states.
            remainder: r, of each row.
        """
        if self.is_numeric:
            spread = variance @ self.weight.square().mT + self.noise.exp()
            return Gaussian(mean @ self.weight.mT + self.bias, spread)
        p = torch.softmax(self._logit_points(mean, variance), 0).mean(-1).mT
        return Categorical(self._with_noise(p, self.noise_share(remainder)).log())

    def _logit_points(self, mean: Tensor, variance: Tensor) -> Float[Tensor, "class row point"]:
        """Logits at quasi-random points of the states; classes first, so that sums over them run along rows."""
        covariance = torch.einsum("ck,mk,dk->mcd", self.weight, variance, self.weight)
        jitter = 1e-6 * torch.eye(len(self.bias)).to(covariance)
        factor = torch.linalg.cholesky(covariance + jitter)
        points = _kept_points(len(self.bias), POINTS).to(factor)
        centre = mean @ self.weight.mT + self.bias
        return centre.mT.unsqueeze(-1) + factor.permute(1, 0, 2) @ points.mT

    @torch.no_grad()
    def site_derivatives(
        self,
        mean: Float[Tensor, "row axis"],
        variance: Float[Tensor, "row axis"],
        outcome: Float[Tensor, "row output"],
        remainder: Float[Tensor, " row"],
    ) -> tuple[Float[Tensor, "row axis"], Float[Tensor, "row axis"]]:
        """First and negative second derivative of log E p(y | s) in the mean of the cavity, along
        each axis.

        Args:
            mean: of the cavity.
            variance: of the cavity.
            outcome: indicators or numbers.
            remainder: r, of each row.
        """
        if self.is_numeric:
            total = variance @ self.weight.square().mT + self.noise.exp()
            gap = (outcome - mean @ self.weight.mT - self.bias) / total
            return gap @ self.weight, (1.0 / total) @ self.weight.square()
        pieces = zip(*(rows.split(CHUNK) for rows in (mean, variance, outcome, remainder)), strict=True)
        found = [self._class_site(*piece) for piece in pieces]
        return torch.cat([first for first, _ in found]), torch.cat([curvature for _, curvature in found])

    def _class_site(self, mean: Tensor, variance: Tensor, outcome: Tensor, remainder: Tensor) -> tuple[Tensor, Tensor]:
        """Derivatives of :meth:`site_derivatives` for outcomes that are classes.

        With point weights a and class probabilities p the sums over points are
        sum a (y - p) W and sum a (((y - p) W)^2 - p W^2 + (p W)^2): moments of p, taken to the axes once.
        """
        p = torch.softmax(self._logit_points(mean, variance), 0)
        share = self.noise_share(remainder).unsqueeze(-1)
        by_class = outcome.mT.unsqueeze(-1)
        p_read = (1 - share) * (by_class * p).sum(0)
        likelihood = p_read + share * (outcome @ self.frequency).unsqueeze(-1)
        # Weight of a point times the probability that the outcome was read off the state, not drawn at random.
        weight = p_read / likelihood.sum(-1, keepdim=True)
        total = weight.sum(-1).unsqueeze(-1)
        weighted = weight * p
        mean_p = weighted.sum(-1).mT
        moments = torch.stack([(weighted[c] * p).sum(-1) for c in range(len(p))])
        products = self.weight.unsqueeze(1) * self.weight.unsqueeze(0)
        own = outcome @ self.weight
        first = (total * outcome - mean_p) @ self.weight
        squares = torch.einsum("cdm,cdk->mk", moments, products)
        curvature = total * own.square() - 2 * own * (mean_p @ self.weight) + 2 * squares
        curvature = curvature - mean_p @ self.weight.square() - first.square()
        return first, (-curvature).clamp(min=0)


def normal_points(dim: int, count: int = POINTS) -> Float[Tensor, "point dim"]:
    """Points of a standard normal whose mean is 0 and whose covariance is the identity, always the same.

    A scrambled Sobol sequence and its mirror image, whitened: moments up to the third are exact, which no few
    points of the sequence alone have in several dimensions.

    Args:
        dim: of the normal.
        count: of points, a power of two; more where there are many dimensions.
    """
    pairs = max(count // 2, 2 ** math.ceil(math.log2(2 * dim)))
    uniform = torch.quasirandom.SobolEngine(dim, scramble=True, seed=0).draw(pairs, dtype=torch.float64)
    half = torch.special.ndtri(uniform.clamp(1e-4, 1 - 1e-4))
    points = torch.cat([half, -half])
    factor = torch.linalg.cholesky(points.mT @ points / len(points))
    return torch.linalg.solve_triangular(factor, points.mT, upper=False).mT


_kept_points = lru_cache(maxsize=64)(normal_points)


def initial_readout(outcome: Float[Tensor, "row output"], num_classes: int, axes: int) -> Readout:
    """Readout that knows the frequencies, or mean and variance, alone.

    Args:
        outcome: of the training rows, indicators or numbers.
        num_classes: C for classes, 0 for numbers.
        axes: K.
    """
    weight = outcome.new_zeros(outcome.shape[1], axes)
    if not num_classes:
        if not len(outcome):
            nothing = torch.zeros_like(weight[:, 0])
            return Readout(weight, nothing, nothing.clone(), outcome.new_zeros(0))
        variance = outcome.var(0, correction=0).clamp(min=1e-6)
        return Readout(weight, outcome.mean(0), variance.log(), outcome.new_zeros(0))
    frequency = (outcome.sum(0) + 1.0) / (len(outcome) + num_classes)
    return Readout(weight, frequency.log(), outcome.new_tensor([-2.0, 0.0]), frequency)


def learn_readout(
    readout: Readout,
    mean: Float[Tensor, "row axis"],
    variance: Float[Tensor, "row axis"],
    outcome: Float[Tensor, "row output"],
    remainder: Float[Tensor, " row"],
    iterations: int,
) -> Readout:
    """Maximise the expected likelihood of outcomes over beliefs that did not see them.

    Args:
        readout: where to start.
        mean: of the cavity of each training row.
        variance: of the same.
        outcome: indicators or numbers.
        remainder: r, of each row.
        iterations: of L-BFGS.
    """
    rows = len(outcome)
    if not rows:
        return readout
    if rows > MOST_ROWS:
        some = evenly_spaced(rows, MOST_ROWS, outcome.device)
        mean = mean[some]
        variance = variance[some]
        outcome = outcome[some]
        remainder = remainder[some]
        rows = MOST_ROWS

    def current(free: Mapping[str, Tensor]) -> Readout:
        return Readout(free["weight"], free["bias"], free["noise"], readout.frequency)

    def loss(free: Mapping[str, Tensor]) -> Tensor:
        model = current(free)
        nll = model.distribution(mean, variance, remainder).nll(outcome).mean()
        penalty = WEIGHT_PENALTY * free["weight"].square().mean()
        if not readout.is_numeric:
            penalty = penalty + NOISE_PENALTY * (free["noise"][0] + 2.0).square()
            penalty = penalty + 1.0 / rows * free["noise"][1].square()
        ridge = 0.5 / rows * free["weight"].square().sum() / WEIGHT_VARIANCE
        return nll + penalty + ridge

    start = {"weight": readout.weight, "bias": readout.bias, "noise": readout.noise}
    return current(minimise(loss, start, iterations))


def outcome_site(
    first: Float[Tensor, "row axis"],
    curvature: Float[Tensor, "row axis"],
    mean: Float[Tensor, "row axis"],
    variance: Float[Tensor, "row axis"],
) -> tuple[Float[Tensor, "row axis"], Float[Tensor, "row axis"]]:
    """Precision and precision-weighted mean of the Gaussian site that stands for an outcome.

    Args:
        first: derivative of log E p(y | s) in the cavity's mean.
        curvature: its negative second derivative.
        mean: of the cavity.
        variance: of the cavity.
    """
    precision = curvature / (1.0 - (curvature * variance).clamp(max=LARGEST_SITE))
    weighted = precision * mean + first * (1.0 + precision * variance)
    return precision, weighted
