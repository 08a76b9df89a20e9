"""Predictive distributions of outcomes: `Categorical` over classes, `Gaussian` over numbers, behind
one interface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Means and variances of K numbers, independent given the forecast.

    Attributes:
        mean: ``[*, K]``.
        variance: ``[*, K]``.
    """

    mean: Float[Tensor, "*batch number"]
    variance: Float[Tensor, "*batch number"]

    @property
    def entropy(self) -> Float[Tensor, "*batch"]:
        """Differential entropy in nats, summed over the numbers."""
        return 0.5 * (self.variance.log() + math.log(2 * math.pi * math.e)).sum(-1)

    @property
    def confidence(self) -> Float[Tensor, "*batch"]:
        """Precision relative to a standard normal, in (0, 1): larger is sharper."""
        return 1.0 / (1.0 + self.variance.mean(-1))

    def nll(self, outcome: Float[Tensor, "*batch number"]) -> Float[Tensor, "*batch"]:
        """Negative log-likelihood of numbers ``[*, K]``, summed over them."""
        squared = (outcome - self.mean).square() / self.variance
        return 0.5 * (squared + self.variance.log() + math.log(2 * math.pi)).sum(-1)

    def squared_error(self, outcome: Float[Tensor, "*batch number"]) -> Float[Tensor, "*batch"]:
        """Mean squared error over the numbers."""
        return (outcome - self.mean).square().mean(-1)

    def tempered(self, temperature: Float[Tensor, "*batch"]) -> Gaussian:
        """Return the same means with deviations multiplied by the temperature."""
        return Gaussian(self.mean, self.variance * temperature.square().unsqueeze(-1))

    def select(self, index: Tensor) -> Gaussian:
        """Return the rows of an index or mask."""
        return Gaussian(self.mean[index], self.variance[index])


PredictiveDistribution = Categorical | Gaussian


def concatenate(parts: Sequence[PredictiveDistribution]) -> PredictiveDistribution:
    """Join distributions of one kind along their first axis."""
    first = parts[0]
    if isinstance(first, Categorical):
        return Categorical(torch.cat([p.log_probabilities for p in parts if isinstance(p, Categorical)]))
    gaussians = [p for p in parts if isinstance(p, Gaussian)]
    return Gaussian(torch.cat([p.mean for p in gaussians]), torch.cat([p.variance for p in gaussians]))


def pool(first: PredictiveDistribution, second: PredictiveDistribution, weight: float) -> PredictiveDistribution:
    r"""Logarithmic pool of two distributions of one kind.

    .. math:: \log p = (1 - \alpha) \log p_1 + \alpha \log p_2 + \text{const}

    For Gaussians precisions are averaged. Genest and Zidek (1986).

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
