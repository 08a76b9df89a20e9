r"""Bregman divergence of the log-normaliser, accurate for nearly equal concentrations and for enormous ones.

.. math:: B(\kappa_1, \kappa_2) = g(\kappa_2) - g(\kappa_1) - A(\kappa_1)(\kappa_2 - \kappa_1)
          = (\kappa_2 - \kappa_1)^2 \int_0^1 (1 - v)\, A'(\kappa_1 + v(\kappa_2 - \kappa_1))\, dv
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.sphere.radial import radial

NEAR = 0.25
"""Up to this share of max(kappa, D/2) apart the integral is smooth enough for ten Gauss points."""

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def bregman(kappa1: Float[Tensor, "*first"], kappa2: Float[Tensor, "*second"], dim: int) -> Float[Tensor, "*both"]:
    """The divergence B(kappa1, kappa2) of float64 concentrations; differentiable, each branch fed what it can take.

    Args:
        kappa1: concentrations at which the tangent is taken.
        kappa2: concentrations at which the gap to it is measured; both broadcast.
        dim: ambient dimension D.
    """
    kappa1, kappa2 = torch.broadcast_tensors(kappa1, kappa2)
    reach = NEAR * torch.maximum(kappa1, kappa2).clamp(min=dim / 2).detach()
    step = kappa2 - kappa1
    close = _integral(kappa1, kappa1 + step.clamp(-reach, reach), dim)
    return torch.where(step.abs() <= reach, close, _far(kappa1, kappa2, dim))


def _integral(kappa1: Tensor, kappa2: Tensor, dim: int) -> Tensor:
    """The integral form, for concentrations that are close."""
    step = kappa2 - kappa1
    total = torch.zeros_like(step)
    for point, weight in zip((_POINTS + 1) / 2, _WEIGHTS / 2, strict=True):
        total = total + float(weight * (1 - point)) * radial(kappa1 + float(point) * step, dim, "A1")
    return step * step * total


def _far(kappa1: Tensor, kappa2: Tensor, dim: int) -> Tensor:
    """The difference form; for kappa1 above D in terms of g - kappa and 1 - A, whose sizes do not grow with kappa."""
    step = kappa2 - kappa1
    plain = radial(kappa2, dim, "g") - radial(kappa1, dim, "g") - radial(kappa1, dim, "A") * step
    shifted = radial(kappa2, dim, "g_gap") - radial(kappa1, dim, "g_gap") + radial(kappa1, dim, "gap") * step
    return torch.where(kappa1 > dim, shifted, plain)
