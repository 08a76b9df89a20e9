r"""Logarithmic Debye series of the modified Bessel function, exact rationals once and polynomials per dimension.

With :math:`s = \sqrt{\nu^2 + \kappa^2}`, :math:`w = 1/s` and :math:`q = (\nu w)^2`, the function
:math:`B = \kappa\, \partial_\kappa \log I_\nu(\kappa)` obeys :math:`\kappa B' + B^2 = s^2` and has the expansion

.. math:: B = \sum_{m \ge -1} w^m B_m(q), \qquad B_{-1} = 1, \quad B_0 = -(1-q)/2,

.. math:: 2 B_{m+1} = (1-q)(m B_m + 2 q B_m') - \sum_{i+j=m} B_i B_j .

One series serves large orders (Debye) and large arguments (Hankel): it needs only :math:`s` to be large.
Reference: NIST Digital Library of Mathematical Functions, 10.41; the logarithmic form avoids all cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from sphunc.sphere.chebyshev import Wide, economise, from_unit_interval

TERMS = 24
"""Terms of the series; with s >= 26 the first one left out is below the float64 rounding unit."""

Polynomial = list[int]


def _multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    product = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return product


def _divide_by_one_minus_q(a: Polynomial) -> Polynomial:
    """Quotient of ``a(q) / (1 - q)`` for a polynomial that vanishes at q = 1."""
    return list(accumulate(a[:-1]))


@lru_cache(maxsize=1)
def log_derivative_polynomials() -> tuple[tuple[Fraction, ...], ...]:
    """The polynomials N_k(q) = -B_k(q) / (1 - q) for k = 0 .. TERMS, exactly.

    The recurrence divides by nothing but 2: the coefficients of 2^(2k + 1) B_k are integers, which are what is summed.
    """
    series: list[Polynomial] = [[-1, 1]]
    for m in range(TERMS):
        scaled = [(m + 2 * j) * c for j, c in enumerate(series[m])]
        # 2^(2m + 2) (1 - q) (m B_m + 2 q B_m') and 2^(2m + 2) sum B_i B_j, whose difference is 2^(2m + 3) B_(m+1).
        following = [2 * c for c in _multiply([1, -1], scaled)]
        for i in range(m + 1):
            for j, c in enumerate(_multiply(series[i], series[m - i])):
                following[j] -= c
        series.append(following)
    quotients = [_divide_by_one_minus_q(b) for b in series]
    return tuple(tuple(Fraction(-c, 2 ** (2 * k + 1)) for c in row) for k, row in enumerate(quotients))


@lru_cache(maxsize=1)
def log_polynomials() -> tuple[tuple[Fraction, ...], ...]:
    """The polynomials L_k(q) of log I_nu, k = 1 .. TERMS: L_kj = N_kj / (k + 2j), exactly."""
    table = log_derivative_polynomials()[1:]
    return tuple(tuple(c / (k + 2 * j) for j, c in enumerate(row)) for k, row in enumerate(table, start=1))


@dataclass(frozen=True)
class DebyePlan:
    """Polynomials in y = 2 s0 w - 1 for one order nu and all kappa >= start, where s0 = sqrt(nu^2 + start^2)."""

    nu: float
    start: float
    s0: float
    polynomials: Mapping[str, tuple[float, ...]]


@lru_cache(maxsize=1)
def _wide_tables() -> tuple[np.ndarray, np.ndarray]:
    """N and L as arrays [k, j], rounded once."""
    tables = np.zeros((2, TERMS + 1, TERMS + 2), dtype=Wide)
    for k, row in enumerate(log_derivative_polynomials()):
        tables[0, k, : len(row)] = [_wide(c) for c in row]
    for k, row in enumerate(log_polynomials(), start=1):
        tables[1, k, : len(row)] = [_wide(c) for c in row]
    return tables[0], tables[1]


def _wide(value: Fraction) -> np.longdouble:
    """Round a fraction to extended precision: leading float plus the float of what is left."""
    leading = float(value)
    return Wide(leading) + Wide(float(value - Fraction(leading)))


def _in_x(table: np.ndarray, nu: float, s0: float) -> np.ndarray:
    """Monomials in x = s0 w of sum_k w^k table_k((nu w)^2)."""
    monomials = np.zeros(3 * TERMS + 4, dtype=Wide)
    rho2 = (Wide(nu) / Wide(s0)) ** 2
    for k, row in enumerate(table):
        for j, coefficient in enumerate(row):
            if coefficient:
                monomials[k + 2 * j] += coefficient * rho2**j / Wide(s0) ** k
    return monomials


def _times_square(monomials: np.ndarray, factor: float) -> np.ndarray:
    """Multiply a polynomial in x by ``factor * x^2``; the two top monomials are zero by construction."""
    return np.concatenate([[0, 0], factor * monomials[:-2]])


@lru_cache(maxsize=512)
def debye_plan(nu: float, start: float) -> DebyePlan:
    """Build the polynomials of order ``nu`` for kappa >= ``start``: a few milliseconds, once.

    T is the series of A, V and W and X those of A', A'' and A'''; S that of log I. For ``start = 0`` also
    S~ = (S(1) - S(p)) / (1 - p) and Q = (1 + p) T - S~, which make the entropy exact down to kappa = 0.

    Args:
        nu: order :math:`\nu = D/2 - 1`.
        start: smallest concentration that the polynomials must take.
    """
    s0 = math.hypot(nu, start)
    ratio2 = (nu / s0) ** 2
    n_table, l_table = _wide_tables()
    degree = np.arange(3 * TERMS + 4, dtype=Wide)
    T = _in_x(n_table, nu, s0)
    S = _in_x(l_table, nu, s0)
    V = T - 2 * _times_square(T, ratio2) + degree * T - _times_square(degree * T, ratio2)
    W = (2 + degree) * V
    X = (4 + degree) * W
    smooth = {"T": T, "V": V, "W": W, "X": X, "S": S}
    if start == 0:
        chord = np.append(np.cumsum(S[::-1])[::-1][1:], 0)
        smooth |= {"chord": chord, "Q": T + np.concatenate([[0], T[:-1]]) - chord}
    return DebyePlan(nu, start, s0, {name: _economised(f, nu) for name, f in smooth.items()})


def _economised(monomials: np.ndarray, nu: float) -> tuple[float, ...]:
    coefficients = from_unit_interval(monomials)
    return economise(coefficients, scale=max(nu, float(np.abs(coefficients).max())))
