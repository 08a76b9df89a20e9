"""The published accuracy of the von Mises-Fisher functions, against Arb; derivatives; the paper's claims."""

from __future__ import annotations

import doctest
import importlib
import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sphunc import sphere
from sphunc.errors import ArgumentError, ArgumentTypeError

FUNCTIONS = {
    "entropy": sphere.vmf_entropy,
    "log_normalizer": sphere.log_normalizer,
    "peak": sphere.peak_log_density,
    "kl": sphere.kl_to_uniform,
    "A": sphere.mean_resultant_length,
    "gap": sphere.mean_resultant_gap,
    "A1": sphere.mean_resultant_slope,
    "kl_slope": lambda kappa, dim: -sphere.vmf_entropy_slope(kappa, dim),
}
CROSS_ZERO = {"entropy", "log_normalizer", "peak"}
POINTS = ("grid", "held-out")


FLOORS = {name: 1.0 if name in CROSS_ZERO else 0.0 for name in FUNCTIONS}
"""Errors are relative; of a quantity that crosses zero, relative to max(1, |truth|)."""

LAST_POSITIVE_AREA = 18
"""Up to this D the sphere's area is above 1: entropy and peak cross zero. Above it log C does, and they do not."""

CROSSING_DIMS = sorted(
    {round(2 * 50_000 ** (i / 39)) for i in range(40)} | {3, 16, 18, 19, 48, 53, 54, 64, 128, 512, 4096}
)
CROSSINGS = [
    (name, dim)
    for dim in CROSSING_DIMS
    for name in (("entropy", "peak") if dim <= LAST_POSITIVE_AREA else ("log_normalizer",))
]
AROUND = (0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.04, 0.0624, 0.0626, 0.15)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_error_is_below_1e_13(name, points, arb_truth):
    for dim, kappa in arb_truth.points[points]:
        value = FUNCTIONS[name](torch.tensor(kappa, dtype=torch.float64), dim).item()
        assert arb_truth.error(value, arb_truth.at(dim, kappa)[name], FLOORS[name]) < 1e-13, (dim, kappa)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_error_is_below_6e_8(name, points, arb_truth):
    for dim, kappa in arb_truth.points[points]:
        narrow = torch.tensor(kappa, dtype=torch.float32)
        value = FUNCTIONS[name](narrow, dim)
        assert value.dtype == torch.float32
        exact = arb_truth.at(dim, narrow.item())[name]
        assert arb_truth.error(value.item(), exact, FLOORS[name]) < 6e-8, (dim, kappa)


def crossing(name: str, dim: int) -> float:
    """Where a quantity changes sign, by bisection of log kappa."""
    low, high = -7.0, 21.0
    at_low = FUNCTIONS[name](math.exp(low), dim) > 0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (FUNCTIONS[name](math.exp(middle), dim) > 0) == at_low else (low, middle)
    return math.exp(low)


@pytest.mark.parametrize("name, dim", CROSSINGS)
def test_float64_error_at_and_around_every_zero_is_below_1e_13(name, dim, arb_truth):
    zero = crossing(name, dim)
    assert float(arb_truth.at(dim, zero * 0.99)[name]) * float(arb_truth.at(dim, zero * 1.01)[name]) < 0
    for kappa in (zero * (1 + sign * share) for share in AROUND for sign in (-1, 1)):
        exact = arb_truth.at(dim, kappa)[name]
        assert arb_truth.error(FUNCTIONS[name](kappa, dim).item(), exact, floor=1.0) <= 1e-13, kappa


def test_each_quantity_crosses_zero_only_where_tested():
    """All three are monotone: the sign at kappa = 0 decides, and it is that of the log-area."""
    areas = [sphere.log_surface_area(dim) for dim in range(2, 2000)]
    assert [area > 0 for area in areas] == [dim <= LAST_POSITIVE_AREA for dim in range(2, 2000)]


@pytest.mark.parametrize("dim", [2, 128, 4096])
def test_larger_concentrations_are_computed_too(dim, arb_truth):
    for kappa in (1e12, 1e15):
        for name, function in FUNCTIONS.items():
            value = function(torch.tensor(kappa, dtype=torch.float64), dim).item()
            assert arb_truth.error(value, arb_truth.at(dim, kappa)[name], FLOORS[name]) < 1e-13, (name, kappa)


@pytest.mark.parametrize("dim", [2, 3, 16, 64, 128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives(name, dim):
    kappa = torch.tensor([0.2, 1.0, 5.0, 31.0, 33.0, 60.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda k: FUNCTIONS[name](k, dim), kappa)
    assert gradgradcheck(lambda k: FUNCTIONS[name](k, dim), kappa)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("dim", [2, 3, 53, 54, 128, 100_000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_finite_at_both_ends(name, dim, dtype):
    kappa = torch.tensor([0.0, 32.0, 1e9], dtype=dtype, requires_grad=True)
    (first,) = torch.autograd.grad(FUNCTIONS[name](kappa, dim).sum(), kappa, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), kappa)
    assert first.isfinite().all()
    assert second.isfinite().all()


@pytest.mark.parametrize("points", POINTS)
def test_entropy_gradient_error_is_below_1e_13(points, arb_truth):
    for dim, kappa in arb_truth.points[points]:
        k = torch.tensor(kappa, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(sphere.vmf_entropy(k, dim), k)
        assert arb_truth.error(slope.item(), -arb_truth.at(dim, kappa)["kl_slope"]) < 1e-13, (dim, kappa)


@pytest.mark.parametrize("dim", [2, 3, 128])
def test_paper_entropy_is_monotone_with_both_limits(dim):
    kappa = torch.logspace(-3, 9, 400, dtype=torch.float64)
    entropy = sphere.vmf_entropy(kappa, dim)
    assert (entropy.diff() < 0).all()
    assert sphere.vmf_entropy(0.0, dim).item() == pytest.approx(sphere.log_surface_area(dim))
    limit = (dim - 1) / 2 * (math.log(2 * math.pi) + 1 - kappa[-1].log())
    assert entropy[-1].item() == pytest.approx(limit.item(), abs=1e-4)


@pytest.mark.parametrize("dim, share", [(128, 0.634), (4096, 0.634)])
def test_paper_entropy_is_not_convex(dim, share):
    kappa = torch.linspace(0.01, 3, 20_000, dtype=torch.float64).mul(dim).requires_grad_()
    (slope,) = torch.autograd.grad(sphere.vmf_entropy(kappa, dim).sum(), kappa, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), kappa)
    convex = curvature > 0
    inflection = kappa[convex][0].item() / dim
    assert inflection == pytest.approx(share, abs=0.01)
    assert not convex[kappa < inflection * dim].any()
    assert convex[kappa >= inflection * dim].all()


def test_paper_large_kappa_formula_is_19_nats_off_in_its_own_range(arb_truth):
    limit = 127 / 2 * (math.log(2 * math.pi / 200) + 1)
    exact = float(arb_truth.at(128, 200.0)["entropy"])
    assert abs(limit - exact) == pytest.approx(19.6, abs=0.05)
    assert sphere.vmf_entropy(200.0, 128).item() == pytest.approx(exact, rel=1e-13)


def test_paper_bessel_expansion_has_the_wrong_sign():
    """log I_nu(k) = k - log(2 pi k)/2 - (4 nu^2 - 1)/(8k) + ...: the first correction is subtracted."""
    dim, kappa = 8, 1e5
    nu = dim / 2 - 1
    log_bessel = nu * math.log(kappa) - dim / 2 * math.log(2 * math.pi) - sphere.log_normalizer(kappa, dim).item()
    remainder = log_bessel - kappa + math.log(2 * math.pi * kappa) / 2
    assert remainder == pytest.approx(-(4 * nu**2 - 1) / (8 * kappa), rel=1e-3)


def directions(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=-1).to(dtype)


@pytest.mark.parametrize("turn, apart", [(0, 0.0), (1, 2.0)])
@pytest.mark.parametrize("dim, kappa1, kappa2", [(2, 5.0, 7.0), (16, 1e6, 2e6), (128, 50.0, 49.0), (4096, 1e3, 1e-2)])
def test_kl_error_is_below_5e_13(dim, kappa1, kappa2, turn, apart, arb_truth):
    mu1, mu2 = torch.eye(dim, dtype=torch.float64)[[0, turn]]
    one, two = arb_truth.at(dim, kappa1), arb_truth.at(dim, kappa2)
    exact = two["g"] - one["g"] - one["A"] * (kappa2 - kappa1) + one["A"] * kappa2 * apart / 2
    assert arb_truth.error(sphere.vmf_kl(mu1, kappa1, mu2, kappa2).item(), exact) < 5e-13


def test_kl_between_laws_is_the_expected_log_ratio():
    mu1, mu2 = directions(2, 3)
    p = sphere.VonMisesFisher(mu1, 4.0)
    x = p.sample((400_000,), generator=torch.Generator().manual_seed(1))
    ratio = p.log_prob(x) - sphere.VonMisesFisher(mu2, 7.0).log_prob(x)
    kl = sphere.vmf_kl(mu1, 4.0, mu2, 7.0)
    assert abs(ratio.mean() - kl) < 4 * ratio.std() / len(x) ** 0.5


def test_kl_is_differentiable_and_vanishes_for_equal_laws():
    mu1, mu2 = directions(2, 5)
    kappas = torch.tensor([3.0, 3.1], dtype=torch.float64)
    for second in (kappas[1], 40 * kappas[1]):
        inputs = (mu1.clone(), kappas[0].clone(), mu2.clone(), second.clone())
        arguments = tuple(v.requires_grad_() for v in inputs)
        assert gradcheck(lambda *a: sphere.vmf_kl(*a, validate=False), arguments)
    assert sphere.vmf_kl(mu1, 3.0, mu1, 3.0).item() == 0


def test_log_density_keeps_its_digits_at_large_kappa():
    angle = 1e-4
    mu = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    x = torch.tensor([math.cos(angle), math.sin(angle), 0.0], dtype=torch.float64)
    exact = math.log(1e9 / (2 * math.pi)) - 1e9 * 2 * math.sin(angle / 2) ** 2
    assert sphere.log_density(x, mu, 1e9).item() == pytest.approx(exact, rel=1e-10)


def test_log_density_integrates_to_one_on_the_circle():
    theta = torch.arange(4096, dtype=torch.float64) * (2 * math.pi / 4096)
    x = torch.stack([theta.cos(), theta.sin()], dim=-1)
    mass = sphere.log_density(x, x[17], 30.0).exp().mean() * 2 * math.pi
    assert mass.item() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_bad_concentrations_are_refused_by_every_function(function):
    with pytest.raises(ArgumentError, match=r"kappa\[1, 0\] is -1\. Concentrations are finite numbers in \[0, 1e150\]"):
        function(torch.tensor([[1.0], [-1.0]]), 3)
    with pytest.raises(ArgumentError, match=r"kappa\[0\] is nan.*Nothing is clamped"):
        function(torch.tensor([float("nan")]), 3)
    with pytest.raises(ArgumentError, match="kappa is inf"):
        function(float("inf"), 3)
    with pytest.raises(ArgumentError, match="dim must be at least 2"):
        function(1.0, 1)
    with pytest.raises(ArgumentTypeError, match=r"kappa must be of a floating type; got torch.int64"):
        function(torch.tensor([1]), 3)


def test_mixed_arguments_are_refused():
    mu = directions(3)
    with pytest.raises(ArgumentTypeError, match=r"kappa has dtype torch.float32 but mu has torch.float64"):
        sphere.log_density(mu, mu, torch.tensor(1.0))
    with pytest.raises(ArgumentError, match="x has 4 coordinates but mu has 3"):
        sphere.log_density(directions(4), mu, 1.0)
    with pytest.raises(ArgumentError, match=r"kappa2 is -2"):
        sphere.vmf_kl(mu, 1.0, mu, -2.0)
    with pytest.raises(ArgumentError, match=r"mu2\[1\] has norm 2; directions must be unit vectors"):
        sphere.vmf_kl(mu, 1.0, torch.stack([mu, 2 * mu]), 1.0)
    with pytest.raises(ArgumentTypeError, match="mu2 is on meta but mu1 is on cpu"):
        sphere.vmf_kl(mu, 1.0, mu.to("meta"), 1.0, validate=False)


def test_numbers_shapes_and_transforms():
    assert sphere.vmf_entropy(50.0, 128).dtype == torch.float64
    assert sphere.vmf_entropy(torch.empty(0, 3), 5).shape == (0, 3)
    kappa = torch.tensor([0.0, 3.0, 70.0], dtype=torch.float64)
    slope = torch.func.vmap(torch.func.grad(lambda k: sphere.vmf_entropy(k, 16, validate=False)))(kappa)
    assert torch.allclose(slope, sphere.vmf_entropy_slope(kappa, 16), rtol=1e-14)
    assert sphere.vmf_entropy(kappa.bfloat16(), 16).dtype == torch.bfloat16


@pytest.mark.parametrize("module", ["vmf", "geometry", "distribution", "concentration", "radial"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(f"sphunc.sphere.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
