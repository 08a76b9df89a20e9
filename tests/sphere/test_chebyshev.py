"""Chebyshev economy: conversions are exact, the tail is dropped, Horner agrees with numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sphunc.sphere import chebyshev


def test_interpolation_reproduces_a_smooth_function():
    points = chebyshev.nodes(30)
    monomials = chebyshev.economise(chebyshev.interpolate(np.exp(points)), scale=1.0)
    assert len(monomials) < 24
    y = np.linspace(-1, 1, 101)
    assert np.allclose(np.polynomial.polynomial.polyval(y, monomials), np.exp(y), rtol=0, atol=2e-15)


def test_powers_of_the_unit_interval():
    coefficients = chebyshev.from_unit_interval(np.array([0.5, -2.0, 0.0, 3.0], dtype=np.longdouble))
    y = np.linspace(-1, 1, 11)
    x = (1 + y) / 2
    value = np.polynomial.chebyshev.chebval(y, coefficients.astype(float))
    assert np.allclose(value, 0.5 - 2 * x + 3 * x**3, atol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_horner(size):
    coefficients = np.random.default_rng(0).normal(size=size)
    y = torch.linspace(-1, 1, 7, dtype=torch.float64)
    value = chebyshev.horner(torch.tensor(coefficients).unbind(), y)
    assert np.allclose(value.numpy(), np.polynomial.polynomial.polyval(y.numpy(), coefficients), atol=1e-15)
