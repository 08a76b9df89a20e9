"""The Debye polynomials are the exact ones of the literature and satisfy their own equation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sphunc.sphere import debye


def test_first_log_polynomials_are_the_known_ones():
    first, second, third = debye.log_polynomials()[:3]
    assert first == (Fraction(1, 8), Fraction(-5, 24))
    assert second == (Fraction(1, 16), Fraction(-3, 8), Fraction(5, 16))
    assert third == (Fraction(25, 384), Fraction(-531, 640), Fraction(221, 128), Fraction(-1105, 1152))


def test_series_at_order_zero_is_hankel():
    """L_k(0) are the coefficients of log(sqrt(2 pi k) e^-k I_0(k)) in 1/k: 1/8, 1/16, 25/384, 13/128."""
    assert [row[0] for row in debye.log_polynomials()[:4]] == [
        Fraction(1, 8),
        Fraction(1, 16),
        Fraction(25, 384),
        Fraction(13, 128),
    ]


def test_series_at_argument_zero_is_stirling():
    """L_k(1) are the Stirling coefficients of -log Gamma: -1/12, 0, 1/360, 0, -1/1260."""
    assert [sum(row) for row in debye.log_polynomials()[:5]] == [
        Fraction(-1, 12),
        0,
        Fraction(1, 360),
        0,
        Fraction(-1, 1260),
    ]


@pytest.mark.parametrize("nu, start", [(26.0, 0.0), (63.0, 0.0), (49_999.0, 0.0), (0.0, 32.0), (25.5, 32.0)])
def test_plans_are_short(nu, start):
    plan = debye.debye_plan(nu, start)
    assert max(map(len, plan.polynomials.values())) <= 30
    assert ("Q" in plan.polynomials) == (start == 0)


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(7, 5)])
def test_polynomials_satisfy_the_recurrence_exactly(q):
    """2 B_(m+1) = (1 - q) (m B_m + 2 q B_m') - sum B_i B_j, at rational points."""
    rows = debye.log_derivative_polynomials()
    N = [sum(c * q**j for j, c in enumerate(row)) for row in rows]
    slope = [sum(j * c * q ** (j - 1) for j, c in enumerate(row) if j) for row in rows]
    B = [-(1 - q) * value for value in N]
    B_slope = [value - (1 - q) * derivative for value, derivative in zip(N, slope, strict=True)]
    assert len(rows) == debye.TERMS + 1
    for m in range(debye.TERMS):
        products = sum(B[i] * B[m - i] for i in range(m + 1))
        assert 2 * B[m + 1] == (1 - q) * (m * B[m] + 2 * q * B_slope[m]) - products
