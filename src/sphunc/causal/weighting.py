r"""Weighted samples: means, their influence on an error, and stand-ins of equal weight.

.. math:: \bar x = \sum_s w_s x_s, \qquad w_s = \ell_s \Big/ \sum_r \ell_r, \qquad
          \mathrm{Var}(\bar x) \approx \mathrm{Var}\Big(\frac1S \sum_s S w_s (x_s - \bar x)\Big)

Every agent has weights of its own, the likelihood :math:`\ell` of what it showed under each draw: those of all agents
together would leave a single draw. On spheres of many dimensions those of one agent nearly do, too, unless they are
:func:`tempered`.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Int, Tensor

FEWEST_EFFECTIVE = 4.0
"""Samples that have to count, by :func:`effective_size`, for an error to be told."""
LEAST_EFFECTIVE = 20.0
"""Samples that evidence has to leave, or half of all: the more are drawn, the less it is tempered."""
HALVINGS = 20
"""Steps of the bisection for the power of a tempered likelihood."""
LEAST_TOTAL = torch.finfo(torch.float32).tiny
ROUNDING = 1e-6
"""Of a unit weight: what is left to other samples once one of them takes nearly all."""


def normalised(log_likelihood: Float[Tensor, "agent sample"]) -> Float[Tensor, "agent sample"]:
    """Weights of the samples, adding up to 1; equal to the bit where likelihoods are."""
    likelihood = (log_likelihood - log_likelihood.amax(1, keepdim=True)).exp()
    return likelihood / likelihood.sum(1, keepdim=True)


def effective_size(weights: Float[Tensor, "agent sample"]) -> Float[Tensor, " agent"]:
    r"""Number of equal samples that tell as much, :math:`1/\sum_s w_s^2`."""
    return 1.0 / weights.square().sum(1)


def tempered(log_likelihood: Float[Tensor, "agent sample"]) -> Float[Tensor, "agent sample"]:
    r"""Log-likelihood times the largest :math:`\tau \le 1` that leaves 20 effective samples, or half of all.

    A likelihood that leaves one or two draws of hundred tells which draws there were, not what happened. With the
    number of samples :math:`\tau` goes to 1, agent by agent.
    """
    least = min(LEAST_EFFECTIVE, log_likelihood.shape[1] / 2)
    low, high = torch.zeros(len(log_likelihood)), torch.ones(len(log_likelihood))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = effective_size(normalised(middle.unsqueeze(1) * log_likelihood)) >= least
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    plenty = effective_size(normalised(log_likelihood)) >= least
    return torch.where(plenty, 1.0, low).unsqueeze(1) * log_likelihood


def weighted_mean(
    values: Float[Tensor, "agent sample output"], weights: Float[Tensor, "agent sample"]
) -> Float[Tensor, "agent output"]:
    """Mean of the samples."""
    return (values * weights.unsqueeze(-1)).sum(1)


def weighted_variance(
    values: Float[Tensor, "agent sample output"], weights: Float[Tensor, "agent sample"]
) -> Float[Tensor, "agent output"]:
    """Variance of the samples around their mean."""
    return weighted_mean((values - weighted_mean(values, weights).unsqueeze(1)).square(), weights)


def influence(
    values: Float[Tensor, "agent sample output"], weights: Float[Tensor, "agent sample"]
) -> Float[Tensor, "output sample agent"]:
    r""":math:`S w_s (x_s - \bar x)`, whose plain mean varies as the weighted mean does; laid out for errors."""
    gaps = values - weighted_mean(values, weights).unsqueeze(1)
    return (gaps * (values.shape[1] * weights).unsqueeze(-1)).permute(2, 1, 0)


def by_structure(
    values: Float[Tensor, "agent sample output"], weights: Float[Tensor, "agent sample"], draws: int
) -> tuple[
    Float[Tensor, "agent structure output"],
    Float[Tensor, "agent structure output"],
    Float[Tensor, "agent structure"],
]:
    """Mean of every structure over its draws, the variance of that mean, and the weight of the structure."""
    split, each = values.unflatten(1, (-1, draws)), weights.unflatten(1, (-1, draws))
    total = each.sum(2)
    share = torch.where(total.unsqueeze(2) > 0, each / total.clamp(min=LEAST_TOTAL).unsqueeze(2), 1.0 / draws)
    mean = (split * share.unsqueeze(-1)).sum(2)
    gaps = (split - mean.unsqueeze(2)) * share.unsqueeze(-1)
    return mean, gaps.square().sum(2) * (draws / max(1, draws - 1)), total


def resampled(
    values: Float[Tensor, "agent sample output"], weights: Float[Tensor, "agent sample"]
) -> Float[Tensor, "agent sample output"]:
    """As many samples of equal weight, each as often as its weight says, in order; the same if weights are equal."""
    return values.gather(1, stand_ins(weights).unsqueeze(-1).expand_as(values))


def stand_ins(weights: Float[Tensor, "agent sample"]) -> Int[Tensor, "agent sample"]:
    """Positions of the samples of :func:`resampled`."""
    S = weights.shape[1]
    wanted = ((torch.arange(S, dtype=torch.float64) + 0.5) / S).expand(len(weights), -1).contiguous()
    return torch.searchsorted(weights.double().cumsum(1), wanted).clamp(max=S - 1)


class RunningMean:
    """Weighted mean of unit states, part after part of the samples, without keeping any."""

    def __init__(self, agents: int, dim: int) -> None:
        self.top = torch.full((agents,), -torch.inf)
        self.total, self.squares, self.states = torch.zeros(agents), torch.zeros(agents), torch.zeros(agents, dim)

    def add(self, states: Float[Tensor, "agent draw dim"], log_likelihood: Float[Tensor, "agent draw"]) -> None:
        """Count more samples."""
        top = torch.maximum(self.top, log_likelihood.amax(1))
        old, likelihood = (self.top - top).exp(), (log_likelihood - top.unsqueeze(1)).exp()
        self.top = top
        self.total = old * self.total + likelihood.sum(1)
        self.squares = old.square() * self.squares + likelihood.square().sum(1)
        self.states = old.unsqueeze(1) * self.states + (states * likelihood.unsqueeze(-1)).sum(1)

    @property
    def resultant(self) -> Float[Tensor, " agent"]:
        """Squared length of the mean, without the bias that finitely many samples have; 0 if only one counts."""
        lost = self.squares / self.total.square()
        square = (self.states / self.total.unsqueeze(1)).square().sum(-1)
        left = 1.0 - lost
        return torch.where(left > ROUNDING, (square - lost) / left.clamp(min=ROUNDING), 0.0).clamp(0.0, 1.0)
