"""Von Mises-Fisher noise against its moments and an independent quadrature."""

import numpy as np
import pytest
from scipy.special import ive

from sphunc.worlds.noise import angle_table, perturb


@pytest.mark.parametrize("dim", [3, 8, 16])
@pytest.mark.parametrize("kappa", [0.1, 5.0, 80.0, 5000.0])
def test_mean_cosine_is_the_ratio_of_bessel_functions(dim: int, kappa: float) -> None:
    probabilities, angles = angle_table(kappa, dim)
    uniforms = (np.arange(200_000) + 0.5) / 200_000
    mean = np.cos(np.interp(uniforms, probabilities, angles)).mean()
    assert mean == pytest.approx(ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa), abs=1e-5)


def test_draws_are_unit_about_the_mean_and_symmetric_around_it() -> None:
    rng = np.random.default_rng(0)
    n, dim, kappa = 200_000, 5, 20.0
    means = np.broadcast_to(np.eye(dim)[0], (1, n, dim))
    tables = (angle_table(kappa, dim),)
    drawn = perturb(means, rng.random((1, n)), rng.standard_normal((1, n, dim)), np.zeros(1, dtype=np.int64), tables)[0]
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1, atol=1e-12)
    ratio = ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa)
    standard_error = np.sqrt((1 - ratio**2) / n)
    np.testing.assert_allclose(drawn.mean(0), ratio * np.eye(dim)[0], atol=5 * standard_error)
    off_axis = np.cov(drawn[:, 1:].T)
    np.testing.assert_allclose(off_axis, np.eye(dim - 1) * ratio / kappa, atol=5 * ratio / kappa * np.sqrt(2 / n))


def test_each_agent_has_the_noise_of_its_level() -> None:
    rng = np.random.default_rng(0)
    means = np.broadcast_to(np.eye(4)[0], (2, 5000, 4))
    tables = (angle_table(5.0, 4), angle_table(500.0, 4))
    noise = rng.random((2, 5000)), rng.standard_normal((2, 5000, 4))
    drawn = perturb(means, *noise, np.array([1, 0]), tables)
    assert drawn[0, :, 0].mean() > 0.99 > 0.9 > drawn[1, :, 0].mean()
