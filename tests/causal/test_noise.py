"""Noise apart from its law: the law is von Mises-Fisher for every basis, and equal noise gives equal states."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr
from scipy.stats import ks_2samp

from sphunc.causal.noise import along_mode, angle_coefficients, draw_noise, moebius, perturb, row_sums
from sphunc.sphere import mean_resultant_length
from sphunc.sphere.sampling import draw

COUNT = 20_000
# Of two empirical laws of this size, with probability 1e-4, plus what the quadratic in t0 is off by.
FARTHEST = 2.2 * (2 / COUNT) ** 0.5


def spread(dim, rank, kappa, seed=0, extra=0):
    noise = draw_noise(COUNT, range(1), rank, dim, seed=seed, step=0, extra=extra)
    mean = torch.zeros(COUNT, 1, rank)
    mean[..., 0] = 0.8
    hidden = None if rank == dim else torch.full((COUNT, 1), 0.36)
    if rank == dim:
        mean[..., 1] = 0.6
    return perturb(mean, torch.ones(COUNT, 1), hidden, torch.full((COUNT, 1), kappa), noise, dim)[:, 0]


@pytest.mark.parametrize("kappa", [0.5, 20.0, 300.0])
@pytest.mark.parametrize(
    ("dim", "rank", "extra"),
    [(3, 3, 0), (8, 8, 0), (32, 32, 0), (32, 6, 0), (128, 12, 0), (12, 11, 0), (32, 6, 1), (12, 7, 3), (12, 11, 2)],
)
def test_the_law_is_von_mises_fisher_on_every_basis(dim, rank, extra, kappa) -> None:
    x = spread(dim, rank, kappa, extra=extra)
    mu = torch.zeros(1, dim, dtype=torch.double)
    mu[0, 0], mu[0, 1 if rank == dim else rank] = 0.8, 0.6
    wanted, _ = draw(mu, torch.tensor([kappa], dtype=torch.double), COUNT, torch.Generator().manual_seed(1))
    for axis in (0, 1, rank - 1):
        assert ks_2samp(x[:, axis].numpy(), wanted[:, 0, axis].numpy()).statistic < FARTHEST
    length, wanted_length = x.norm(dim=1), wanted[:, 0, :rank].norm(dim=1)
    if rank == dim:
        assert torch.allclose(length, torch.ones(COUNT), atol=1e-5)
    else:
        assert ks_2samp(length.numpy(), wanted_length.numpy()).statistic < FARTHEST


def test_error_of_the_mean_falls_with_the_root_of_the_count() -> None:
    x = spread(32, 32, 20.0)[:, 0]
    wanted = 0.8 * float(mean_resultant_length(torch.tensor(20.0), 32))
    for n in (200, 2000, 20_000):
        assert abs(float(x[:n].mean()) - wanted) < 4 * float(x.std()) / n**0.5


def test_streams_belong_to_seed_step_and_draw() -> None:
    both = draw_noise(5, range(4), 3, 9, seed=1, step=2)
    alone = draw_noise(5, range(2, 4), 3, 9, seed=1, step=2)
    assert torch.equal(both.across[:, 2:], alone.across)
    assert torch.equal(both.angle[:, :, 2:], alone.angle)
    assert not torch.equal(both.across, draw_noise(5, range(4), 3, 9, seed=1, step=3).across)
    assert not torch.equal(both.across, draw_noise(5, range(4), 3, 9, seed=2, step=2).across)
    assert torch.equal(both.rows(slice(1, 3)).square, both.square[1:3])


def test_extra_directions_leave_the_noise_of_the_others() -> None:
    plain, one, two = (draw_noise(50, range(3), 4 + extra, 20, seed=0, step=1, extra=extra) for extra in (0, 1, 2))
    for more in (one, two):
        assert torch.equal(more.across[..., :4], plain.across)
        assert torch.equal(more.square, plain.square)
        assert torch.equal(more.rest, plain.rest)
        assert torch.equal(more.angle, plain.angle)
        assert (more.inside + more.rest.square() <= more.square + 1e-4).all()
    assert torch.equal(two.across[..., :5], one.across)


def test_a_mean_that_points_nowhere_gives_finite_states() -> None:
    noise = draw_noise(50, range(3), 16, 16, seed=0, step=0)
    zero = torch.zeros(50, 3)
    assert perturb(torch.zeros(50, 3, 16), zero, None, zero, noise, 16).isfinite().all()


def test_moebius_centre_and_row_sums() -> None:
    kappa = torch.tensor([0.0, 1.0, 1e6])
    n = 9
    b = n / (2 * kappa.double() + torch.sqrt(4 * kappa.double() ** 2 + n * n))
    assert torch.allclose(moebius(kappa, 10).double(), (1 - b) / (1 + b), atol=1e-6)
    x = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(row_sums(x), x.sum(-1), atol=1e-6)


@pytest.mark.parametrize(("dim", "wanted"), [(8, 0.3), (16, 0.08), (64, 0.02), (128, 0.02)])
def test_the_component_along_the_mode_is_as_accurate_as_stated(dim, wanted) -> None:
    score = torch.linspace(-3, 3, 61)
    psi = np.linspace(0, np.pi, 200_001)[1:-1]
    t = np.cos(psi)
    for kappa in (0.005 * (dim - 1), 0.5 * (dim - 1), 5.0 * (dim - 1), 50.0 * (dim - 1)):
        log_density = (dim - 2) * np.log(np.sin(psi)) + kappa * (t - 1)
        density = np.exp(log_density - log_density.max())
        mass = np.cumsum(density) / density.sum()
        mean = (density * t).sum() / density.sum()
        deviation = np.sqrt((density * (t - mean) ** 2).sum() / density.sum())
        exact = np.interp(ndtr(-score.double().numpy()), mass, t)
        got = along_mode(angle_coefficients(score, dim), torch.full_like(score, kappa), dim).numpy()
        assert np.abs(got - exact).max() < wanted * deviation
