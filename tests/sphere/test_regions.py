"""The regions agree with Arb wherever they claim to hold, and with each other at their seams."""

from __future__ import annotations

import pytest
import torch

from sphunc.sphere.regions import SWITCH, Ascending, Tail, Uniform, cover, select

NAMES = ("kl", "g", "A", "gap", "A1", "A2")


def test_cover_picks_the_regions():
    kappa = torch.tensor([1.0, 100.0], dtype=torch.float64)
    assert [type(region) for region in cover(kappa, 54)] == [Uniform]
    low, high = cover(kappa, 53)
    assert isinstance(low, Ascending)
    assert isinstance(high, Tail)
    assert low.k.tolist() == [1.0, SWITCH]
    assert high.k.tolist() == [SWITCH, 100.0]


@pytest.mark.parametrize("dim", [2, 3, 16, 40, 53])
def test_seam(dim):
    low, high = cover(torch.tensor([SWITCH], dtype=torch.float64), dim)
    for name in NAMES:
        assert getattr(low, name)().item() == pytest.approx(getattr(high, name)().item(), rel=3e-14), name


@pytest.mark.parametrize("name", ["A2", "A3", "g", "g_gap"])
def test_inner_functions_against_arb(name, arb_truth):
    for dim, kappa in arb_truth.points["grid"]:
        k = torch.tensor([kappa], dtype=torch.float64)
        value = select(k, tuple(getattr(region, name)() for region in cover(k, dim))).item()
        exact = arb_truth.at(dim, kappa)
        changes_sign = float(exact["A1"]) / max(1.0, kappa) ** 2 if name == "A3" else 0.0
        assert arb_truth.error(value, exact[name], changes_sign) < 1e-13, (dim, kappa)
