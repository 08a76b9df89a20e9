"""Polynomials for the hot path: economise once per dimension, evaluate with fused Horner steps ever after.

Every smooth factor of the radial functions is stored as monomials of a variable that runs over [-1, 1]. There a
truncated Chebyshev series converts to monomials without loss as long as its coefficients fall faster than
(1 + sqrt 2)^-n, which the callers' choice of variable ensures.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

TAIL = 2e-17
"""Chebyshev coefficients below this share of the scale are dropped: a tenth of the float64 rounding unit."""

Wide = np.longdouble
"""Extended precision where the platform has it; plans are computed in it and rounded once."""

_PI = 4 * np.arctan(Wide(1))


@lru_cache(maxsize=4)
def _shifted_powers(size: int) -> np.ndarray:
    """Row d: Chebyshev coefficients on [-1, 1] of x^d with x = (1 + y) / 2. All positive, so conversion is stable."""
    rows = np.zeros((size, size), dtype=Wide)
    rows[0, 0] = 1
    for d in range(1, size):
        previous = rows[d - 1]
        times_y = np.zeros(size, dtype=Wide)
        times_y[1:] += previous[:-1] / 2
        times_y[:-1] += previous[1:] / 2
        times_y[1] += previous[0] / 2
        rows[d] = (previous + times_y) / 2
    return rows


def nodes(count: int) -> np.ndarray:
    """Chebyshev points of the first kind on [-1, 1], in extended precision."""
    return np.cos(_PI * (2 * np.arange(count, dtype=Wide) + 1) / (2 * count))


def interpolate(values: np.ndarray) -> np.ndarray:
    """Chebyshev coefficients of the polynomial through ``values`` at :func:`nodes`."""
    count = len(values)
    order = np.arange(count, dtype=Wide)
    basis = np.cos(order[:, None] * _PI * (2 * order[None, :] + 1) / (2 * count))
    coefficients = 2 * (basis @ values) / count
    coefficients[0] /= 2
    return coefficients


def from_unit_interval(monomials: np.ndarray) -> np.ndarray:
    """Chebyshev coefficients on [-1, 1] of a polynomial given by its monomials in x = (1 + y) / 2."""
    return monomials @ _shifted_powers(len(monomials))


def economise(coefficients: np.ndarray, scale: float) -> tuple[float, ...]:
    """Drop the Chebyshev tail below ``TAIL * scale`` and return monomials in y, lowest first.

    Args:
        coefficients: of a Chebyshev series on [-1, 1], lowest first.
        scale: size of the function; the tail is small against it.
    """
    kept = np.flatnonzero(np.abs(coefficients) > TAIL * scale)
    degree = int(kept.max(initial=0))
    return tuple(float(c) for c in chebyshev.cheb2poly(coefficients[: degree + 1]))


def horner(coefficients: Sequence[Tensor], y: Tensor) -> Tensor:
    """Evaluate a polynomial with 0-dimensional coefficient tensors, lowest first; one fused pass per degree.

    Args:
        coefficients: 0-dimensional tensors, lowest first.
        y: where the polynomial is evaluated, any shape.
    """
    if len(coefficients) == 1:
        return coefficients[0].expand_as(y).clone()
    value = torch.addcmul(coefficients[-2], coefficients[-1], y)
    for coefficient in reversed(coefficients[:-2]):
        torch.addcmul(coefficient, value, y, out=value)
    return value
