r"""Small order and small concentration: the ascending series, summed in integers once per dimension.

Where neither the order nor kappa is large the Debye series has nothing to expand in, but
:math:`F(\kappa) = {}_0F_1(; D/2; \kappa^2/4) = \sum_m t_m` has positive terms and converges fast. With
:math:`M_j = \sum_m (2m)^j t_m` the derivatives of :math:`g = \log F` along :math:`\log\kappa` are the cumulants of
:math:`(M_j)`. They are summed here in exact integers at Chebyshev points of

.. math:: y = \log(1 + \kappa^2/c^2), \qquad c^2 = 4(\nu+1)\sqrt{\nu+2} \le j_{\nu,1}^2,

a variable that sends the nearest singularities (the zeros :math:`\pm i j_{\nu,m}` of the Bessel function) to imaginary
part :math:`\pm\pi`, so that 20 to 40 coefficients give full precision on the whole range. The hot path sees one
logarithm, one square root and a Horner sum: no recurrence, no loop that depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from sphunc.sphere.chebyshev import Wide, economise, interpolate, nodes

POINTS = 56
"""Chebyshev points per function; the slowest case (D = 2) needs about 40 coefficients."""

BITS = 400
"""Fixed-point precision of the sums: cancellation in the fourth cumulant costs fewer than 100 bits."""

DIGITS = 110
"""Decimal digits, matching BITS."""

POINT_DIGITS = 40
"""Decimal places of kappa^2 at a point: far beyond need, short enough to keep the integers small."""


@dataclass(frozen=True)
class AscendingPlan:
    """Polynomials in 2 y / span - 1 for one dimension and 0 <= kappa <= stop, with y = log(1 + kappa^2 / c2)."""

    c2: float
    span: float
    polynomials: Mapping[str, tuple[float, ...]]


def _moments(dim: int, kappa2: Decimal) -> list[Decimal]:
    """M_0 .. M_4 of the ascending series at kappa^2 = ``kappa2``, to about 100 digits."""
    numerator, denominator = kappa2.as_integer_ratio()
    term = 1 << BITS
    m = 0
    sums = [0] * 5
    while term:
        for j in range(5):
            sums[j] += term * (2 * m) ** j
        m += 1
        term = term * numerator // (denominator * 2 * m * (dim - 2 + 2 * m))
    return [Decimal(total) / Decimal(1 << BITS) for total in sums]


def _cumulants(moments: list[Decimal]) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """First four derivatives of log M_0 along log kappa."""
    m1, m2, m3, m4 = (m / moments[0] for m in moments[1:])
    c2 = m2 - m1 * m1
    c3 = m3 - 3 * m1 * m2 + 2 * m1**3
    c4 = m4 - 4 * m1 * m3 - 3 * m2 * m2 + 12 * m1 * m1 * m2 - 6 * m1**4
    return m1, c2, c3, c4


def _factors(dim: int, c2: float, k2: Decimal) -> dict[str, Decimal]:
    """The smooth factors at one point; :class:`~sphunc.sphere.regions.Ascending` says what each multiplies."""
    moments = _moments(dim, k2)
    g = moments[0].ln()
    t1, t2, t3, t4 = _cumulants(moments)
    grown = 1 + k2 / Decimal(c2)
    log_grown = grown.ln()
    root = grown.sqrt()
    return {
        "kl": (t1 - g) / log_grown,
        "g": g / k2 * root,
        "A": t1 / k2 * root,
        "gap": (1 - t1 * t1 / k2) * root,
        "A1": (t2 - t1) / k2 * grown,
        "A2": -(t3 - 3 * t2 + 2 * t1) / k2**2 * grown**2,
        "A3": (t4 - 6 * t3 + 11 * t2 - 6 * t1) / k2**2 * grown**2,
    }


@lru_cache(maxsize=64)
def ascending_plan(dim: int, stop: float) -> AscendingPlan:
    """Build the polynomials of dimension ``dim`` for kappa <= ``stop``: some tens of milliseconds, once.

    Args:
        dim: ambient dimension D.
        stop: largest concentration that the polynomials must take.
    """
    nu = dim / 2 - 1
    c2 = 4 * (nu + 1) * math.sqrt(nu + 2)
    span = math.log1p(stop * stop / c2)
    with localcontext() as context:
        context.prec = DIGITS
        points = [Decimal(c2) * (Decimal(str(span * (1 + y) / 2)).exp() - 1) for y in nodes(POINTS)]
        rows = [_factors(dim, c2, round(kappa2, POINT_DIGITS)) for kappa2 in points]
        values = {name: np.array([Wide(str(row[name])) for row in rows]) for name in rows[0]}
    return AscendingPlan(c2, span, {name: _economised(f) for name, f in values.items()})


def _economised(values: np.ndarray) -> tuple[float, ...]:
    return economise(interpolate(values), scale=float(np.abs(values).max()))
