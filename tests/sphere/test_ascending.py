"""The ascending plan against elementary closed forms at D = 3, where everything is hyperbolic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest

from sphunc.sphere import ascending


@pytest.mark.parametrize("kappa", [0.5, 3.0, 20.0])
def test_moments_at_three_dimensions(kappa):
    """0F1(; 3/2; k^2/4) = sinh(k) / k."""
    with localcontext() as context:
        context.prec = ascending.DIGITS
        moments = ascending._moments(3, Decimal(kappa) ** 2)
        first, second, *_ = ascending._cumulants(moments)
    assert float(moments[0]) == pytest.approx(math.sinh(kappa) / kappa, rel=1e-14)
    assert float(first) == pytest.approx(kappa / math.tanh(kappa) - 1, rel=1e-13)
    assert float(second) == pytest.approx(kappa / math.tanh(kappa) - (kappa / math.sinh(kappa)) ** 2, rel=1e-13)


@pytest.mark.parametrize("dim, longest", [(2, 50), (16, 30), (53, 20)])
def test_plans_are_short(dim, longest):
    plan = ascending.ascending_plan(dim, 32.0)
    assert max(map(len, plan.polynomials.values())) <= longest
