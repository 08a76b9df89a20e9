r"""From features to directions, agent by agent.

.. math:: \tilde h_i = W \tilde x_i + b, \qquad \bar h_i = \tilde h_i / \|\tilde h_i\|

:math:`\tilde x` are features standardised with the statistics of the training times; what was not observed is 0, or
what the observed features of the same agent let expect. Nothing mixes agents here: influence is learned from
:math:`W \tilde x`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from sphunc._typing import Bool, Float, Tensor
from sphunc.nn.filling import fill, learn_factors
from sphunc.nn.projection import project

# Units in the last place of the largest entry, up to which a deviation may be due to rounding.
ROUNDING = 8.0


@dataclass(frozen=True, eq=False)
class Encoded:
    r"""What the features say about each agent.

    Attributes:
        direction: :math:`\bar h` ``[..., D]``; the zero vector for an agent of whom nothing was observed.
        length: :math:`\|\tilde h\|` ``[...]``; 0 for an agent of whom nothing was observed.
        observed: share of the features that was observed ``[...]``; 0 makes the evidence weigh nothing.
    """

    direction: Tensor
    length: Tensor
    observed: Tensor


def feature_statistics(
    x: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"]
) -> tuple[Float[Tensor, " feature"], Float[Tensor, " feature"]]:
    """Mean and standard deviation of each feature over what was observed.

    A feature that is constant or never observed gets the deviation 1, and so becomes 0 everywhere. Sums are in double
    precision: squares of single numbers overflow from 1e19 on.
    """
    kind = x.dtype
    x, mask = x.reshape(-1, x.shape[-1]).double(), mask.reshape(-1, mask.shape[-1])
    count = mask.sum(0).clamp(min=1)
    mean = torch.where(mask, x, 0.0).sum(0) / count
    variance = torch.where(mask, x - mean, 0.0).square().sum(0) / count
    # Rounding leaves a constant feature with a deviation of a few units in the last place, whatever its unit.
    largest = torch.where(mask, x, 0.0).abs().amax(0) if len(x) else torch.zeros_like(mean)
    noise = ROUNDING * torch.finfo(kind).eps * largest
    return mean.to(kind), torch.where(variance.sqrt() > noise, variance.sqrt(), 1.0).to(kind)


def standardise(
    x: Float[Tensor, "*batch feature"],
    mask: Bool[Tensor, "*batch feature"],
    mean: Float[Tensor, " feature"],
    deviation: Float[Tensor, " feature"],
) -> Float[Tensor, "*batch feature"]:
    r""":math:`\tilde x = (x - m) / s` where observed, 0 elsewhere, whatever x holds there (NaN included)."""
    return torch.where(mask, torch.where(mask, x, 0.0).sub(mean).div(deviation), 0.0)


def encode(
    x: Float[Tensor, "*batch feature"],
    mask: Bool[Tensor, "*batch feature"],
    weight: Float[Tensor, "dim feature"],
    bias: Float[Tensor, " dim"],
) -> Encoded:
    """Project standardised features to the sphere, keeping the length.

    Args:
        x: standardised features ``[..., F]``.
        mask: True where observed ``[..., F]``.
        weight: W ``[D, F]``.
        bias: b ``[D]``.
    """
    observed = mask.to(x.dtype).mean(-1)
    # Without this an unobserved agent would point to the bias with full conviction.
    raw = nn.functional.linear(x, weight, bias) * (observed > 0).unsqueeze(-1)
    direction, length = project(raw)
    return Encoded(direction, length, observed)


class Encoder(nn.Module):
    """Owns W and b of :func:`encode`, and the training statistics of features as buffers.

    Args:
        num_features: F.
        dim: D. W starts Gaussian with variance 1/D, which keeps angles between feature vectors on average; b at 0.
        generator: source of the initial weights.
    """

    mean: Tensor
    deviation: Tensor
    loadings: Tensor
    noise: Tensor

    def __init__(self, num_features: int, dim: int, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, num_features, generator=generator) / dim**0.5)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("mean", torch.zeros(num_features))
        self.register_buffer("deviation", torch.ones(num_features))
        self.register_buffer("loadings", torch.zeros(num_features, 0))
        self.register_buffer("noise", torch.ones(num_features))

    def learn_statistics(
        self, x: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"], *, factors: bool = False
    ) -> None:
        """Take mean and deviation from the training times, and how features hang together if they are to be filled."""
        mean, deviation = feature_statistics(x, mask)
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)
        if factors:
            standard = standardise(x, mask, mean, deviation)
            loadings, noise = learn_factors(standard.flatten(0, -2), mask.flatten(0, -2))
            self.loadings, self.noise = loadings.to(self.weight), noise.to(self.weight)

    def standardise(
        self, x: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"]
    ) -> Float[Tensor, "*batch feature"]:
        """Standardise with the statistics learned ``[..., F]``, and fill in what the others let expect."""
        return fill(standardise(x, mask, self.mean, self.deviation), mask, self.loadings, self.noise)

    def encode(self, standard: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"]) -> Encoded:
        """Encode standardised features ``[..., F]``."""
        return encode(standard, mask, self.weight, self.bias)

    def forward(self, x: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"]) -> Encoded:
        """Encode raw features ``[..., F]``."""
        return self.encode(self.standardise(x, mask), mask)
