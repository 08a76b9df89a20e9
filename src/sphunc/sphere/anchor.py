r"""The log-normaliser around its zero, where the plain formula is a difference of two large and nearly equal terms.

For D above 18 :math:`\log C_D` falls from :math:`-\log|S^{D-1}| > 0` through zero. Both terms of
:math:`-\log|S| - g` grow as :math:`D \log D` and carry their rounding with them. Around the zero it is computed from
an anchor instead, a float64 :math:`\kappa_*` beside the zero:

.. math:: \log C_D(\kappa) = \log C_D(\kappa_*) - (\kappa - \kappa_*)\, P\Big(\frac{\kappa-\kappa_*}{\text{width}}\Big),

with P the mean of A between :math:`\kappa_*` and :math:`\kappa`. The difference of concentrations is exact, so that the
error is some rounding units of the result itself. Anchor and P come once per dimension from the Debye series in decimal
arithmetic, with digits enough to make the cancellation harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from sphunc.sphere.chebyshev import Wide, economise, horner, interpolate, nodes
from sphunc.sphere.debye import log_polynomials

SMALLEST_ANCHORED_DIM = 54
"""Below, the rounding of the two large terms stays under 5e-14 without help."""

DIGITS = 50
"""Decimal digits of the plan: some ten go to cancellation at the largest D, twenty are wanted."""

SHARE = 16
"""The window reaches kappa* / SHARE to each side. At its ends log C is several percent of log|S|: the plain formula,
good to 1e-15 of log|S|, is good to 1e-13 of log C there with a wide margin."""

POINTS = 14
"""Chebyshev points of P, an even number so that none is the anchor itself; its coefficients fall as 32^-n."""

CLOSE = Decimal("1e-6")
"""How small log C must be at the anchor: far below 1 is enough, as the value there is kept."""


@dataclass(frozen=True)
class Anchor:
    """log C = ``value`` - step P(step / ``width``) for step = kappa - ``kappa`` within the width; P in monomials."""

    kappa: float
    value: float
    width: float
    mean_slope: tuple[float, ...]


@lru_cache(maxsize=1)
def _decimal_polynomials() -> tuple[tuple[Decimal, ...], ...]:
    """The Debye polynomials L_k, highest power first."""
    with localcontext() as context:
        context.prec = DIGITS
        return tuple(
            tuple(Decimal(c.numerator) / Decimal(c.denominator) for c in reversed(row)) for row in log_polynomials()
        )


def _nested(coefficients: tuple[Decimal, ...], x: Decimal) -> Decimal:
    """Horner, highest power first."""
    total = Decimal(0)
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@lru_cache(maxsize=1)
def _log_two_pi() -> Decimal:
    """log 2 pi to ``DIGITS``, with pi by Machin's formula in integers."""
    one = 10 ** (DIGITS + 10)

    def arc_cotangent(x: int) -> int:
        term = one // x
        total = 0
        k = 0
        while term:
            total += (-1) ** k * (term // (2 * k + 1))
            term //= x * x
            k += 1
        return total

    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(8 * (4 * arc_cotangent(5) - arc_cotangent(239))) / one).ln()


def decimal_log_normalizer(dim: int, kappa: Decimal) -> Decimal:
    r"""log C_D by the Debye series in the decimal context of the caller, for D from ``SMALLEST_ANCHORED_DIM`` on.

    .. math:: \log C_D = \nu \log(\nu + s) - s + \tfrac12 \log s - \tfrac{D-1}2 \log 2\pi - \sum_k s^{-k} L_k(\nu^2/s^2)

    Args:
        dim: ambient dimension D.
        kappa: concentration.
    """
    nu = Decimal(dim) / 2 - 1
    s = (nu * nu + kappa * kappa).sqrt()
    q = (nu / s) ** 2
    series = _nested(tuple(_nested(row, q) for row in reversed(_decimal_polynomials())), 1 / s) / s
    return nu * (nu + s).ln() - s + s.ln() / 2 - Decimal(dim - 1) / 2 * _log_two_pi() - series


def _near_zero(dim: int) -> tuple[float, Decimal]:
    """A float64 concentration within ``CLOSE`` of the zero and log C there.

    Newton steps with the leading term of A, from the left: log C is concave, so that they end on the right of the zero
    and come down to it.
    """
    nu = dim / 2 - 1
    kappa = float(dim)
    value = decimal_log_normalizer(dim, Decimal(kappa))
    while abs(value) > CLOSE:
        kappa += float(value) * (np.hypot(nu, kappa) + nu) / kappa
        value = decimal_log_normalizer(dim, Decimal(kappa))
    return float(kappa), value


@lru_cache(maxsize=512)
def anchor(dim: int) -> Anchor:
    """The anchor of dimension ``dim``: some milliseconds, once."""
    with localcontext() as context:
        context.prec = DIGITS
        kappa, value = _near_zero(dim)
        width = kappa / SHARE
        steps = [Decimal(width) * Decimal(str(y)) for y in nodes(POINTS)]
        slopes = [(value - decimal_log_normalizer(dim, Decimal(kappa) + step)) / step for step in steps]
        means = np.array([Wide(str(slope)) for slope in slopes])
    return Anchor(kappa, float(value), width, economise(interpolate(means), scale=1.0))


@lru_cache(maxsize=512)
def _on_device(dim: int, device: torch.device) -> tuple[Tensor, ...]:
    return torch.tensor(anchor(dim).mean_slope, dtype=torch.float64, device=device).unbind()


def anchored(kappa: Tensor, dim: int, plain: Tensor) -> Tensor:
    """log C at ``kappa`` (float64): from the anchor inside its window, ``plain`` elsewhere and for smaller ``dim``.

    Args:
        kappa: concentrations, float64.
        dim: ambient dimension D.
        plain: log C by the plain formula, shaped as ``kappa``.
    """
    if dim < SMALLEST_ANCHORED_DIM:
        return plain
    at = anchor(dim)
    step = kappa - at.kappa
    inside = step.abs() <= at.width
    step = step.clamp_(-at.width, at.width)
    near = horner(_on_device(dim, kappa.device), step / at.width).mul_(step).neg_().add_(at.value)
    return torch.where(inside, near, plain)
