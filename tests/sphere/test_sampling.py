"""Samples follow the law (KS on the angle, mean within Monte Carlo error), gradients meet their closed forms."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from scipy import integrate, stats

from sphunc.sphere import VonMisesFisher
from sphunc.sphere.sampling import draw, envelope, implicit_slope, redraw_fixed

COUNT = 40_000
SETTINGS = [(2, 0.0), (2, 5.0), (2, 1e6), (3, 1.0), (4, 6e7), (8, 50.0), (9, 50.0), (128, 0.0), (128, 1.0), (128, 50.0)]
SETTINGS += [(128, 200.0), (128, 1e9), (1024, 300.0)]
ALPHA = 1e-4 / len(SETTINGS)
"""One run in five thousand of the two suites would fail by chance; the seeds are fixed."""


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def a_direction(dim: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    x = torch.randn(dim, dtype=torch.float64, generator=seeded(dim))
    return (x / x.norm()).to(dtype)


def angle_cdf(dim: int, kappa: float):
    """Distribution function of the angle to the mode: quadrature of sin^(D-2) exp(kappa (cos - 1)) on a fine grid."""
    n = dim - 1
    center = math.atan2(math.sqrt(n), kappa / math.sqrt(n)) if kappa else math.pi / 2
    width = 1 / math.sqrt(kappa + n)
    grid = np.linspace(max(0.0, center - 14 * width), min(math.pi, center + 14 * width), 200_001)
    with np.errstate(divide="ignore"):
        log_density = (
            (dim - 2) * np.log(np.sin(grid)) - 2 * kappa * np.sin(grid / 2) ** 2
            if dim > 2
            else (-2 * kappa * np.sin(grid / 2) ** 2)
        )
    mass = integrate.cumulative_simpson(np.exp(log_density - log_density.max()), x=grid, initial=0)
    return lambda theta: np.interp(theta, grid, mass / mass[-1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("dim, kappa", SETTINGS)
def test_angle_follows_the_law(dim, kappa, dtype):
    mu = a_direction(dim, dtype)
    x = VonMisesFisher(mu, kappa).sample((COUNT,), generator=seeded(1)).double()
    assert torch.allclose(x.norm(dim=-1), torch.ones(COUNT, dtype=torch.float64), atol=2e-6)
    if dtype == torch.float32 and kappa > 1e5:
        return  # the angle itself is below the rounding of float32 coordinates
    reference = mu.double()
    theta = 2 * torch.atan2((x - reference).norm(dim=-1), (x + reference).norm(dim=-1))
    assert stats.kstest(theta.numpy(), angle_cdf(dim, kappa)).pvalue > ALPHA


@pytest.mark.parametrize("dim, kappa", SETTINGS)
def test_mean_resultant_length_within_monte_carlo_error(dim, kappa, arb_truth):
    mu = a_direction(dim)[None]
    k = torch.tensor([kappa], dtype=torch.float64)
    x, _ = draw(mu, k, COUNT, seeded(2))
    short = (x[:, 0] - mu).square().sum(-1) / 2
    assert abs(short.mean() - float(arb_truth.at(dim, kappa)["gap"])) < 4.5 * short.std() / COUNT**0.5


@pytest.mark.parametrize("dim", [2, 3, 16, 128])
def test_tangent_is_uniform(dim):
    mu = a_direction(dim)
    x = VonMisesFisher(mu, 5.0).sample((COUNT,), generator=seeded(3))
    other = a_direction(dim + 1)[:dim]
    other = other - (other @ mu) * mu
    across = (x - (x @ mu)[:, None] * mu) @ (other / other.norm())
    assert abs(across.mean()) < 4.5 * across.std() / COUNT**0.5
    assert stats.kstest(across.numpy(), (-across).numpy()).pvalue > 1e-5


def test_redraws_without_asking_the_device_give_the_same_law():
    kappa = torch.full((20_000,), 200.0, dtype=torch.float64)
    law = envelope(kappa, 128)
    nothing = torch.zeros(20_000, dtype=torch.bool)
    z = redraw_fixed(torch.zeros_like(kappa), law, nothing, seeded(4))
    t = (z + law.t0) / (1 + law.t0 * z)
    assert stats.kstest(np.arccos(t.numpy()), angle_cdf(128, 200.0)).pvalue > 1e-4


@dataclass(frozen=True)
class AlongTheMode:
    """The law of t = mu . x in 25 digits, with its mean and variance from Arb."""

    dim: int
    kappa: Any
    mean: Any
    sd: Any

    @property
    def mode(self) -> Any:
        """t0 of the Moebius coordinate."""
        n = self.dim - 1
        b = n / (2 * self.kappa + mpmath.sqrt(4 * self.kappa**2 + n * n))
        return (1 - b) / (1 + b)

    def implicit_slope(self, t: Any) -> Any:
        """K = (dt/dkappa) / (1 - t^2) with dt/dkappa = -(dF/dkappa) / f, F integrated over the angle, shorter tail."""
        theta, width = mpmath.acos(t), 1 / mpmath.sqrt(self.kappa + self.dim - 1)
        end = min(theta + 12 * width, mpmath.pi) if t < self.mean else max(theta - 12 * width, mpmath.mpf(0))
        panels = mpmath.linspace(theta, end, 2 + int(abs(end - theta) / (2 * width)))

        def weighted(a):
            ratio = (mpmath.sin(a) / mpmath.sin(theta)) ** (self.dim - 2)
            return mpmath.exp(self.kappa * (mpmath.cos(a) - t)) * ratio * (mpmath.cos(a) - self.mean)

        integral: Any = mpmath.quad(weighted, panels, method="gauss-legendre")
        return -integral / mpmath.sin(theta)


def along_the_mode(dim: int, kappa: float, arb_truth) -> AlongTheMode:
    exact = arb_truth.at(dim, kappa)
    mean, variance = (mpmath.mpf(exact[name].mid().str(60, radius=False)) for name in ("A", "A1"))
    return AlongTheMode(dim, mpmath.mpf(kappa), mean, mpmath.sqrt(variance))


@pytest.mark.parametrize("dim", [2, 3, 4, 5, 16, 17, 64, 65, 256, 257, 1024, 100_000])
def test_kappa_gradient_error_is_below_1e_12_within_four_deviations_and_1e_9_within_eight(dim, arb_truth):
    shares = (0.0, 0.3, 0.6, 1.0, 2.0, 6.0, 1e4, 1e9 / dim)
    for share, offset in itertools.product(shares, (-8, -4, -1, 0.3, 2, 4)):
        k = torch.tensor([share * dim], dtype=torch.float64)
        with mpmath.workdps(25):
            law = along_the_mode(dim, k.item(), arb_truth)
            t = law.mean + offset * law.sd
            if not -1 < t < 1 - (1 - law.mean) / 100:
                continue
            z = torch.tensor([[float((t - law.mode) / (1 - law.mode * t))]], dtype=torch.float64)
            rounded = (z.item() + law.mode) / (1 + law.mode * z.item())
            missed = float(abs(implicit_slope(k, z, dim).item() / law.implicit_slope(rounded) - 1))
        assert missed < (1e-12 if abs(offset) <= 4 else 1e-9), (share, offset)


@pytest.mark.parametrize("dim, kappa", [(2, 10.0), (3, 10.0), (17, 17.0), (128, 50.0)])
def test_kappa_gradient_of_samples_is_the_implicit_derivative(dim, kappa, arb_truth):
    """dx/dkappa = K(t)(mu - t x), through autograd, to 1e-12 of its length."""
    mu, c = a_direction(dim), a_direction(dim + 1)[:dim]
    k = torch.full((8,), kappa, dtype=torch.float64, requires_grad=True)
    x = VonMisesFisher(mu, k).rsample(generator=seeded(5))
    (found,) = torch.autograd.grad((x @ c).sum(), k)
    for sample, gradient in zip(x.detach(), found, strict=True):
        t = (sample @ mu).item()
        with mpmath.workdps(25):
            K = float(along_the_mode(dim, kappa, arb_truth).implicit_slope(mpmath.mpf(t)))
        moved = K * (mu - t * sample)
        assert abs(gradient - moved @ c) < 1e-12 * moved.norm()


@pytest.mark.parametrize("dim, kappa", [(2, 3.0), (3, 0.0), (3, 10.0), (16, 5.0), (128, 50.0), (128, 200.0)])
def test_gradients_meet_closed_forms(dim, kappa, arb_truth):
    """E[c.x] = A c.mu: its gradient is A' c.mu in kappa and A times the tangent part of c in mu."""
    mu = a_direction(dim).requires_grad_()
    k = torch.full((COUNT,), kappa, dtype=torch.float64, requires_grad=True)
    c = a_direction(dim + 1)[:dim]
    x = VonMisesFisher(mu, k).rsample(generator=seeded(5))
    (per_sample,) = torch.autograd.grad((x @ c).sum(), k, retain_graph=True)
    A, A1 = (float(arb_truth.at(dim, kappa)[name]) for name in ("A", "A1"))
    slope = A1 * (c @ mu)
    assert abs(per_sample.mean() - slope) < 4.5 * per_sample.std() / COUNT**0.5
    (turn,) = torch.autograd.grad((x @ c).mean(), mu)
    exact = A * (c - (c @ mu) * mu)
    assert (turn - exact).norm() < 6 * (dim / COUNT) ** 0.5 * c.norm()
    assert abs(turn @ mu) < 1e-12


@pytest.mark.parametrize("dim, kappa", [(3, 10.0), (128, 50.0)])
def test_second_moment_gradient(dim, kappa, arb_truth):
    """E[(mu.x)^2] = A' + A^2, whose derivative is A'' + 2 A A'."""
    mu = a_direction(dim)
    k = torch.full((COUNT,), kappa, dtype=torch.float64, requires_grad=True)
    x = VonMisesFisher(mu, k).rsample(generator=seeded(6))
    (per_sample,) = torch.autograd.grad(((x @ mu) ** 2).sum(), k)
    A, A1, A2 = (float(arb_truth.at(dim, kappa)[name]) for name in ("A", "A1", "A2"))
    exact = A2 + 2 * A * A1
    assert abs(per_sample.mean() - exact) < 4.5 * per_sample.std() / COUNT**0.5


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("dim", [2, 3, 9, 128])
def test_gradients_are_finite_at_both_ends(dim, dtype):
    mu = a_direction(dim, dtype).requires_grad_()
    k = torch.tensor([0.0, 1e9], dtype=dtype, requires_grad=True)
    x = VonMisesFisher(mu, k).rsample((50,), generator=seeded(7))
    (x * torch.arange(dim, dtype=dtype)).sum().backward()
    assert k.grad is not None
    assert mu.grad is not None
    assert k.grad.isfinite().all()
    assert mu.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_generator_fixes_the_draw(dtype):
    law = VonMisesFisher(a_direction(16, dtype), 30.0)
    first, again, other = (law.sample((7,), generator=seeded(seed)) for seed in (8, 8, 9))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("dim", [2, 3, 8, 9])
@pytest.mark.parametrize("dtype, rounding", [(torch.float16, 1e-2), (torch.float32, 2e-6), (torch.float64, 4e-15)])
def test_samples_are_unit_vectors_though_modes_are_rounded(dim, dtype, rounding):
    generator = torch.Generator().manual_seed(dim)
    mu = torch.randn(50, dim, dtype=torch.float64, generator=generator)
    mu = (mu / mu.norm(dim=-1, keepdim=True)).to(dtype)
    x = VonMisesFisher(mu, 0.3).sample((4000,), generator=generator).double()
    assert ((x.norm(dim=-1) - 1).abs() <= rounding).all()


def test_mode_parallel_to_a_normal_vector_gives_a_sample():
    mu = torch.tensor([[0.6, 0.8]]) * (1 + 9e-5)
    assert VonMisesFisher(mu, 0.3).sample((20_000,), generator=torch.Generator().manual_seed(0)).isfinite().all()
