r"""Priors and Bayes factors: how many parents, how strong, and what counts as no effect.

Coefficients of parents are :math:`N(0, \tau^2)`, of the others :math:`N(0, \delta^2)` with :math:`\delta` the
``min_effect``: links too weak to matter are not links, however many observations there are. The number of parents
among K candidates is beta-binomial with mean 2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sphunc._typing import Float, Int

MEAN_PARENTS = 2.0


def size_shape(count: Float[Tensor, "*batch"]) -> tuple[float, Float[Tensor, "*batch"]]:
    """Parameters a, b of the beta-binomial law of the number of parents: mean 2, at most half of the candidates."""
    return 1.0, (count / MEAN_PARENTS - 1).clamp(min=1.0)


def log_set_prior(size: Tensor, count: Tensor) -> Tensor:
    r"""Log prior of one given set with ``size`` of ``count`` candidates: :math:`\log B(a+s, b+K-s) - \log B(a, b)`."""
    a, b = size_shape(count)
    return _log_beta(a + size, b + count - size) - _log_beta(torch.full_like(b, a), b)


def prior_probability(count: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Prior probability of a single link: a / (a + b)."""
    a, b = size_shape(count)
    return a / (a + b)


def prior_entropy(count: Int[Tensor, " agent"], cap: int) -> Float[Tensor, " agent"]:
    """Entropy, in nats, of the prior over sets of at most ``cap`` of ``count`` candidates."""
    k = count.double()[:, None]
    size = torch.arange(cap + 1, dtype=torch.double, device=count.device)[None]
    possible = size <= k
    size = torch.minimum(size, k)
    ways = torch.lgamma(k + 1) - torch.lgamma(size + 1) - torch.lgamma(k - size + 1)
    each = log_set_prior(size, k.expand_as(size))
    mass = torch.where(possible, (ways + each).exp(), torch.zeros_like(ways))
    total = mass.sum(1, keepdim=True)
    return -(mass / total * (each - total.log())).sum(1)


def switch_evidence(
    square: Tensor, cross: Tensor, rss: Tensor, degrees: Tensor, slab: Tensor, spike: Tensor | None
) -> Tensor:
    r"""Log Bayes factor of making one more candidate a parent, everything else held.

    .. math:: f(\lambda) = -\tfrac12\log\frac{d+\lambda}{\lambda} -
              \tfrac n2\log\Big(1 - \frac{g^2}{(d+\lambda)\,\mathrm{RSS}}\Big)

    Returns :math:`f(\lambda_{slab}) - f(\lambda_{spike})`, with d, g the candidate's square and its product with the
    outcome after everything else; a missing spike is a point null, f = 0.
    """
    value = _single(square, cross, rss, degrees, slab)
    return value if spike is None else value - _single(square, cross, rss, degrees, spike)


def _single(square: Tensor, cross: Tensor, rss: Tensor, degrees: Tensor, ridge: Tensor) -> Tensor:
    explained = (cross.square() / ((square + ridge) * rss)).clamp(max=1 - 1e-12)
    return -0.5 * torch.log1p(square / ridge) - 0.5 * degrees * torch.log1p(-explained)


def binary_entropy(probability: Tensor) -> Tensor:
    """Entropy of a coin, in nats; 0 at both ends."""
    return torch.special.entr(probability) + torch.special.entr(1 - probability)


def slab_scale(effect: float, count: float) -> float:
    """Sd of true effects when the sd over all candidates is ``effect`` and the prior holds."""
    share = float(prior_probability(torch.tensor(max(count, 1.0))))
    return effect / math.sqrt(share)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
