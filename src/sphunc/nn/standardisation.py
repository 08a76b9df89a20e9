"""Features standardised with the statistics of the training times; what was not observed is 0."""

from __future__ import annotations

import torch

from sphunc._typing import Bool, Float, Tensor

# Units in the last place of the largest entry, up to which a deviation may be due to rounding.
ROUNDING = 8.0


def feature_statistics(
    x: Float[Tensor, "*batch feature"], mask: Bool[Tensor, "*batch feature"]
) -> tuple[Float[Tensor, " feature"], Float[Tensor, " feature"]]:
    """Mean and standard deviation of each feature over what was observed.

    A feature that is constant or never observed gets the deviation 1, and so becomes 0 everywhere. Sums are in double
    precision: squares of single numbers overflow from 1e19 on.

    Args:
        x: features ``[..., F]``.
        mask: True where observed ``[..., F]``.
    """
    kind = x.dtype
    x = x.reshape(-1, x.shape[-1]).double()
    mask = mask.reshape(-1, mask.shape[-1])
    count = mask.sum(0).clamp(min=1)
    mean = torch.where(mask, x, 0.0).sum(0) / count
    variance = torch.where(mask, x - mean, 0.0).square().sum(0) / count
    # Rounding leaves a constant feature with a deviation of a few units in the last place, whatever its unit.
    largest = torch.zeros_like(mean)
    if len(x):
        largest = torch.where(mask, x, 0.0).abs().amax(0)
    rounding = ROUNDING * torch.finfo(kind).eps * largest
    deviation = torch.where(variance.sqrt() > rounding, variance.sqrt(), 1.0)
    return mean.to(kind), deviation.to(kind)


def standardise(
    x: Float[Tensor, "*batch feature"],
    mask: Bool[Tensor, "*batch feature"],
    mean: Float[Tensor, " feature"],
    deviation: Float[Tensor, " feature"],
) -> Float[Tensor, "*batch feature"]:
    r""":math:`\tilde x = (x - m) / s` where observed, 0 elsewhere, whatever x holds there (NaN included).

    Args:
        x: features ``[..., F]``.
        mask: True where observed ``[..., F]``.
        mean: m of each feature.
        deviation: s of each feature.
    """
    return torch.where(mask, torch.where(mask, x, 0.0).sub(mean).div(deviation), 0.0)
