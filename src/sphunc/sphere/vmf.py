r"""The von Mises-Fisher law :math:`C_D(\kappa) \exp(\kappa\, \mu \cdot x)` on :math:`S^{D-1}`: its functions of kappa.

Every function takes a floating tensor of any shape (or a number, computed as float64) and the ambient dimension D, and
returns a tensor of that shape and type. Domain: D from 2 to 100,000 and kappa from 0 to 1e9 with the accuracy stated;
larger D and kappa up to 1e150 are computed by the same formulas, which only gain there; beyond is refused.
First and second derivatives are exact. float32 is widened inside and rounded once: error below 6e-8, its rounding unit.
float16 and bfloat16 go the same way. ``validate=False`` leaves out the check of values and with it the only host
synchronisation on an accelerator; values outside the domain then give unspecified numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.sphere.checks import (
    as_kappa,
    check_broadcast,
    check_dim,
    check_directions,
    check_same_dim,
    check_same_kind,
)
from sphunc.sphere.divergence import bregman
from sphunc.sphere.radial import radial


def _at(kappa: Tensor | float, dim: int, quantity: str, validate: bool) -> Tensor:
    return radial(as_kappa(kappa, validate=validate), check_dim(dim), quantity)


def vmf_entropy(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Differential entropy of a von Mises-Fisher law, in nats.

    .. math:: H_D(\kappa) = -\log C_D(\kappa) - \kappa A_D(\kappa), \qquad H_D'(\kappa) = -\kappa A_D'(\kappa)

    Falls strictly from :math:`\log |S^{D-1}|` at 0 to minus infinity; near 0 as :math:`-\kappa^2 / 2D`, for
    :math:`\kappa \gg D` as :math:`\frac{D-1}{2} \log(2\pi e/\kappa)`. It may be negative, and may not be compared
    between spheres of different ``dim``. It is *not* convex: concave up to an inflection (0.634 D for large D), then
    convex. At kappa = 200, D = 128 the limit for large kappa is still 19.6 nats off (docs/sphere.md).
    Error below 1e-13 max(1, |H|) for dim <= 100_000, kappa <= 1e9; the slope relative to itself.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.

    >>> vmf_entropy(50.0, 128)
    tensor(-135.1450, dtype=torch.float64)
    """
    return _at(kappa, dim, "entropy", validate)


def vmf_entropy_slope(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r""":math:`H_D'(\kappa) = -\kappa A_D'(\kappa)`, never positive. Relative error below 1e-13.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return -_at(kappa, dim, "kl_slope", validate)


def log_normalizer(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Logarithm of the normalising constant.

    .. math:: \log C_D(\kappa) = -\log|S^{D-1}| - \log {}_0F_1(; D/2; \kappa^2/4)
              = \nu\log\kappa - \tfrac D2 \log 2\pi - \log I_\nu(\kappa), \qquad \nu = D/2 - 1

    Its derivative is :math:`-A_D(\kappa)`. Error below 1e-13 max(1, |log C|) for dim <= 100_000, kappa <= 1e9, also
    around its zero, where the terms of the formula cancel (:mod:`sphunc.sphere.anchor`).

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return _at(kappa, dim, "log_normalizer", validate)


def peak_log_density(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Log-density at the mode, :math:`\log C_D(\kappa) + \kappa`, without the loss of adding the two.

    Error below 1e-13 max(1, |value|) for dim <= 100_000, kappa <= 1e9.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return _at(kappa, dim, "peak", validate)


def mean_resultant_length(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Length of the mean vector, :math:`A_D(\kappa) = I_{D/2}(\kappa) / I_{D/2-1}(\kappa)`, from 0 to 1.

    Relative error below 1e-13. For kappa far above D use :func:`mean_resultant_gap`, which keeps the digits of 1 - A.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.

    >>> mean_resultant_length(2.0, 3)
    tensor(0.5373, dtype=torch.float64)
    """
    return _at(kappa, dim, "A", validate)


def mean_resultant_gap(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r""":math:`1 - A_D(\kappa)`, with a relative error below 1e-13 however small it is.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return _at(kappa, dim, "gap", validate)


def mean_resultant_slope(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r""":math:`A_D'(\kappa)`, the variance of :math:`\mu \cdot x` and the Fisher information of kappa.

    Relative error below 1e-13. (The textbook form :math:`1 - A^2 - (D-1)A/\kappa` loses all digits at large kappa.)

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return _at(kappa, dim, "A1", validate)


def kl_to_uniform(kappa: Tensor | float, dim: int, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Divergence from the uniform law, :math:`\kappa A_D(\kappa) + \log C_D(\kappa) + \log|S^{D-1}|`, in nats.

    Relative error below 1e-13, down to kappa = 0 where it falls as :math:`\kappa^2/2D`.

    Args:
        kappa: concentrations :math:`\kappa \ge 0`, a tensor of any shape or a number.
        dim: ambient dimension D, at least 2.
        validate: whether to check the values of ``kappa``.
    """
    return _at(kappa, dim, "kl", validate)


def vmf_kl(
    mu1: Tensor, kappa1: Tensor | float, mu2: Tensor, kappa2: Tensor | float, *, validate: bool = True
) -> Float[Tensor, "*batch"]:
    r"""Divergence of vMF(mu1, kappa1) from vMF(mu2, kappa2), in nats.

    .. math:: \mathrm{KL} = g(\kappa_2) - g(\kappa_1) - A(\kappa_1)(\kappa_2 - \kappa_1)
              + \kappa_2 A(\kappa_1) \tfrac12 |\mu_1 - \mu_2|^2

    Args:
        mu1: unit vectors of the first law, ``[*batch, D]``.
        kappa1: its concentrations, ``[*batch]``; everything broadcasts.
        mu2: unit vectors of the second law.
        kappa2: its concentrations.
        validate: whether to check the values of the arguments.

    The first three terms are one Bregman divergence: relative error below 5e-13, also for nearly equal laws.
    """
    mu1 = check_directions(mu1, "mu1", validate=validate)
    mu2 = check_directions(mu2, "mu2", validate=validate)
    first = as_kappa(kappa1, mu1, name="kappa1", validate=validate)
    second = as_kappa(kappa2, mu1, name="kappa2", validate=validate)
    check_same_dim(mu1=mu1, mu2=mu2)
    check_same_kind(mu1=mu1, kappa1=first, mu2=mu2, kappa2=second)
    check_broadcast(mu1=mu1.shape[:-1], kappa1=first.shape, mu2=mu2.shape[:-1], kappa2=second.shape)
    dim = mu1.shape[-1]
    k1 = first.double()
    k2 = second.double()
    squared_distance = (mu1.double() - mu2.double()).square().sum(-1)
    between_directions = k2 * radial(k1, dim, "A") * squared_distance / 2
    return (bregman(k1, k2, dim) + between_directions).to(mu1.dtype)


def log_density(x: Tensor, mu: Tensor, kappa: Tensor | float, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Log-density of vMF(mu, kappa) at the unit vectors ``x``, with respect to the area of the sphere.

    .. math:: \log p(x) = [\log C_D(\kappa) + \kappa] - \tfrac\kappa2 |x - \mu|^2

    The form with the distance keeps the digits that :math:`\log C + \kappa\, \mu \cdot x` loses at large kappa.

    Args:
        x: unit vectors, ``[*batch, D]``.
        mu: mean directions :math:`\mu`, unit vectors ``[*batch, D]``.
        kappa: concentrations :math:`\kappa \ge 0`, ``[*batch]`` or a number.
        validate: whether to check the values of the arguments.
    """
    x = check_directions(x, "x", validate=validate)
    mu = check_directions(mu, "mu", validate=validate)
    kappa = as_kappa(kappa, mu, validate=validate)
    check_same_dim(mu=mu, x=x)
    check_same_kind(mu=mu, kappa=kappa, x=x)
    check_broadcast(x=x.shape[:-1], mu=mu.shape[:-1], kappa=kappa.shape)
    k = kappa.double()
    distance2 = (x - mu).square().sum(-1, dtype=torch.float64)
    return (radial(k, mu.shape[-1], "peak") - k * distance2 / 2).to(mu.dtype)
