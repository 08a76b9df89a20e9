"""Bregman divergence against Arb: near, far, small and enormous concentrations."""

from __future__ import annotations

import pytest
import torch

from sphunc.sphere.divergence import bregman

RATIOS = (1e-3, 0.1, 0.5, 0.74, 0.76, 0.999, 1.0001, 1.2, 1.3, 1.34, 3.0, 50.0)
"""From nearly equal to far apart, with both sides of the seam between the two forms."""


def missed(dim: int, kappa1: float, kappa2: float, arb_truth) -> float:
    one, two = arb_truth.at(dim, kappa1), arb_truth.at(dim, kappa2)
    exact = two["g"] - one["g"] - one["A"] * (type(one["A"])(kappa2) - type(one["A"])(kappa1))
    k1, k2 = torch.tensor([kappa1, kappa2], dtype=torch.float64)
    return arb_truth.error(bregman(k1, k2, dim).item(), exact)


@pytest.mark.parametrize("dim", [2, 3, 16, 128, 4096, 100_000])
@pytest.mark.parametrize("kappa1", [1e-3, 1.0, 30.0, 200.0, 1e5, 1e9])
def test_relative_error_is_below_5e_13(dim, kappa1, arb_truth):
    for ratio in RATIOS:
        assert missed(dim, kappa1, kappa1 * ratio, arb_truth) < 5e-13, ratio


def test_relative_error_is_below_5e_13_at_held_out_points(arb_truth):
    for i, (dim, kappa1) in enumerate(arb_truth.points["held-out"][::3]):
        ratio = RATIOS[i % len(RATIOS)]
        assert missed(dim, kappa1, kappa1 * ratio, arb_truth) < 5e-13, (dim, kappa1, ratio)


def test_from_the_uniform_law_it_is_g(arb_truth):
    zero, k = torch.zeros((), dtype=torch.float64), torch.tensor(7.0, dtype=torch.float64)
    assert bregman(zero, k, 5).item() == pytest.approx(float(arb_truth.at(5, 7.0)["g"]), rel=1e-13)
    assert bregman(k, k, 5).item() == 0
