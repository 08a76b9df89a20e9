"""The anchor of log C: decimal arithmetic against Arb, the seam of the window, and who pays for it."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
import torch
from flint import arb, ctx

from sphunc.sphere import anchor, radial

DIMS = (anchor.SMALLEST_ANCHORED_DIM, 128, 513, 4096, 100_000)


@pytest.mark.parametrize("dim", DIMS)
def test_decimal_log_normalizer_has_twenty_decimals(dim, arb_truth):
    for kappa in (1.25 * dim, 3.0 * dim, 100.0 * dim):
        with localcontext() as context:
            context.prec = anchor.DIGITS
            value = anchor.decimal_log_normalizer(dim, Decimal(kappa))
        exact = arb_truth.at(dim, kappa)["log_normalizer"]
        ctx.prec = 400
        assert abs(float(arb(str(value)) - exact)) < 1e-20, kappa


@pytest.mark.parametrize("dim", DIMS)
def test_anchor_lies_near_the_zero_and_knows_its_value(dim, arb_truth):
    at = anchor.anchor(dim)
    exact = arb_truth.at(dim, at.kappa)["log_normalizer"]
    assert abs(at.value) <= anchor.CLOSE
    assert arb_truth.error(at.value, exact) < 1e-15
    assert len(at.mean_slope) <= 12


@pytest.mark.parametrize("dim", DIMS)
def test_mean_slope_at_the_anchor_is_the_mean_resultant_length(dim, arb_truth):
    at = anchor.anchor(dim)
    assert at.mean_slope[0] == pytest.approx(float(arb_truth.at(dim, at.kappa)["A"]), rel=1e-15)


@pytest.mark.parametrize("dim", DIMS)
def test_the_seam_does_not_show(dim):
    at = anchor.anchor(dim)
    for end in (at.kappa - at.width, at.kappa + at.width):
        around = torch.tensor([end * (1 - 1e-15), end, end * (1 + 1e-15)], dtype=torch.float64)
        (values,) = radial.evaluate(around, dim, "log_normalizer")
        assert torch.allclose(values, values[1].expand(3), rtol=1e-13, atol=0)


def test_outside_the_window_and_for_small_dimensions_the_plain_value_stays(arb_truth):
    kappa = torch.tensor([0.0, 239.0, 1e9], dtype=torch.float64)
    plain = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert anchor.anchored(kappa, anchor.SMALLEST_ANCHORED_DIM - 1, plain) is plain
    chosen = anchor.anchored(kappa, 128, plain)
    assert chosen[[0, 2]].tolist() == [1.0, 3.0]
    assert chosen[1].item() == pytest.approx(float(arb_truth.at(128, 239.0)["log_normalizer"]), rel=1e-13)
    assert kappa.tolist() == [0.0, 239.0, 1e9]
