"""Predictive distributions of outcomes: `Categorical` over classes, `Gaussian` over numbers, behind
one interface.

They are what eq. (predictive) of the paper gives for an agent at the target time. :func:`pool` joins two of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Tensor

SMALLEST_LOG_PROBABILITY = -math.log(1e9)
"""A class is never given less than this, so that one outcome nobody expected costs a finite number
of nats."""


@dataclass(frozen=True, eq=False)
class Categorical:
    """Probabilities of C classes for any batch of agents, times or samples.

    Attributes:
        log_probabilities: ``[*, C]``.
    """

    log_probabilities: Float[Tensor, "*batch class"]

    @property
    def probabilities(self) -> Float[Tensor, "*batch class"]:
        """Probabilities ``[*, C]``."""
        return self.log_probabilities.exp()

    @property
    def entropy(self) -> Float[Tensor, "*batch"]:
        """Entropy in nats."""
        p = self.probabilities
        return -torch.where(p > 0, p * self.log_probabilities, 0.0).sum(-1)

    @property
    def confidence(self) -> Float[Tensor, "*batch"]:
        """Probability of the most probable class."""
        return self.log_probabilities.max(-1).values.exp()

    def nll(self, outcome: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch"]:
        """Negative log-likelihood of outcomes given as indicators ``[*, C]``."""
        return -(outcome * self.log_probabilities.clamp(min=SMALLEST_LOG_PROBABILITY)).sum(-1)

    def squared_error(self, outcome: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch"]:
        """Brier score of outcomes given as indicators."""
        return (self.probabilities - outcome).square().sum(-1)

    def tempered(self, temperature: Float[Tensor, "*batch"]) -> Categorical:
        """Return p to the power of 1 / temperature, normalised; the most probable class stays the
        same."""
        return Categorical(torch.log_softmax(self.log_probabilities / temperature.unsqueeze(-1), -1))

    def select(self, index: Tensor) -> Categorical:
        """Return the rows of an index or mask."""
        return Categorical(self.log_probabilities[index])


@dataclass(frozen=True)
class Tails:
    r"""Standard deviation 1 with outliers: a share of errors comes from a wider normal (Tukey 1960).

    .. math:: (1 - \epsilon) N(0, a^2) + \epsilon N(0, r^2 a^2), \qquad
              a^2 = 1 / (1 - \epsilon + \epsilon r^2)

    Mean and variance are those of the standard normal, whatever the tails.

    Attributes:
        share: :math:`\epsilon`, 0 for the normal distribution.
        ratio: r, deviation of outliers over that of the others.
    """

    share: float = 0.0
    ratio: float = 1.0

    @property
    def is_normal(self) -> bool:
        """True without outliers."""
        return self.share == 0.0

    def nll(self, error: Tensor) -> Tensor:
        """Negative log density of standardised errors, of any shape."""
        if self.is_normal:
            return 0.5 * (error.square() + math.log(2 * math.pi))
        variance = 1.0 / (1.0 - self.share + self.share * self.ratio**2)
        parts = []
        for share, spread in ((1.0 - self.share, variance), (self.share, variance * self.ratio**2)):
            parts.append(math.log(share) - 0.5 * (error.square() / spread + math.log(2 * math.pi * spread)))
        return -torch.logaddexp(parts[0], parts[1])

    @property
    def entropy(self) -> float:
        """Differential entropy in nats; by quadrature where there are outliers."""
        if self.is_normal:
            return 0.5 * math.log(2 * math.pi * math.e)
        # Eight deviations of the outliers; a sinh grid is dense where the ordinary errors lie.
        error = torch.linspace(-math.asinh(8e3), math.asinh(8e3), 20_001, dtype=torch.float64).sinh() / 1e3
        nll = self.nll(error * self.ratio)
        return float(torch.trapezoid(torch.exp(-nll) * nll, error * self.ratio))


NORMAL = Tails()


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Means and variances of K numbers, independent given the forecast; maybe with outliers.

    Attributes:
        mean: ``[*, K]``.
        variance: ``[*, K]``.
        tails: of the standardised errors.
    """

    mean: Float[Tensor, "*batch number"]
    variance: Float[Tensor, "*batch number"]
    tails: Tails = NORMAL

    @property
    def entropy(self) -> Float[Tensor, "*batch"]:
        """Differential entropy in nats, summed over the numbers."""
        return (0.5 * self.variance.log() + self.tails.entropy).sum(-1)

    @property
    def confidence(self) -> Float[Tensor, "*batch"]:
        """Precision relative to a standard normal, in (0, 1): larger is sharper."""
        return 1.0 / (1.0 + self.variance.mean(-1))

    def nll(self, outcome: Float[Tensor, "*batch number"]) -> Float[Tensor, "*batch"]:
        """Negative log-likelihood of numbers ``[*, K]``, summed over them."""
        error = (outcome - self.mean) / self.variance.sqrt()
        return (self.tails.nll(error) + 0.5 * self.variance.log()).sum(-1)

    def squared_error(self, outcome: Float[Tensor, "*batch number"]) -> Float[Tensor, "*batch"]:
        """Mean squared error over the numbers."""
        return (outcome - self.mean).square().mean(-1)

    def tempered(self, temperature: Float[Tensor, "*batch"]) -> Gaussian:
        """Return the same means with deviations multiplied by the temperature."""
        return replace(self, variance=self.variance * temperature.square().unsqueeze(-1))

    def select(self, index: Tensor) -> Gaussian:
        """Return the rows of an index or mask."""
        return replace(self, mean=self.mean[index], variance=self.variance[index])


PredictiveDistribution = Categorical | Gaussian


def concatenate(parts: Sequence[PredictiveDistribution]) -> PredictiveDistribution:
    """Join distributions of one kind, and of the same tails, along their first axis."""
    first = parts[0]
    if isinstance(first, Categorical):
        return Categorical(torch.cat([p.log_probabilities for p in parts if isinstance(p, Categorical)]))
    gaussians = [p for p in parts if isinstance(p, Gaussian)]
    mean = torch.cat([p.mean for p in gaussians])
    return Gaussian(mean, torch.cat([p.variance for p in gaussians]), gaussians[0].tails)


def pool(first: PredictiveDistribution, second: PredictiveDistribution, weight: float) -> PredictiveDistribution:
    r"""Logarithmic pool of two distributions of one kind.

    .. math:: \log p = (1 - \alpha) \log p_1 + \alpha \log p_2 + \text{const}

    For Gaussians precisions are averaged; the result has normal tails. Genest and Zidek (1986).

    Args:
        first: :math:`p_1`.
        second: :math:`p_2`.
        weight: :math:`\alpha`, from 0 (the first alone) to 1.
    """
    if isinstance(first, Categorical) and isinstance(second, Categorical):
        mixed = (1.0 - weight) * first.log_probabilities + weight * second.log_probabilities
        return Categorical(torch.log_softmax(mixed, -1))
    if not isinstance(first, Gaussian) or not isinstance(second, Gaussian):
        raise TypeError("a pool joins two distributions of one kind")
    precision = (1.0 - weight) / first.variance + weight / second.variance
    mean = ((1.0 - weight) * first.mean / first.variance + weight * second.mean / second.variance) / precision
    return Gaussian(mean, 1.0 / precision)
