"""The thresholded autoregression against least squares, and its place before the enumeration."""

import numpy as np
import torch
from scipy import stats

import sphunc
from sphunc.causal.estimation import columns_of, estimate, hyper_parameters
from sphunc.causal.gram import Columns
from sphunc.causal.initialisation import SIGNIFICANCE, autoregression, initial_gates
from sphunc.causal.posterior import Hyper, moments, screen


def test_gates_are_the_significant_coefficients_of_least_squares():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 6))
    y = x @ np.array([0.5, 0, -0.4, 0, 0, 0.1]) + rng.standard_normal(200)
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    noise = ((y - x @ beta) ** 2).sum() / 194
    f = beta**2 / (noise * np.diag(np.linalg.inv(x.T @ x)))
    both = torch.from_numpy(np.column_stack([x, y]))
    found, statistic = autoregression((both.T @ both)[None], torch.zeros(1, dtype=torch.double))
    np.testing.assert_allclose(found[0], beta)
    usable = torch.ones(1, 6, dtype=torch.bool)
    gates = initial_gates(statistic, torch.tensor([noise]), torch.tensor([200.0]).double(), usable)
    assert gates[0].tolist() == (stats.f.sf(f, 1, 194) < SIGNIFICANCE).tolist()


def test_open_gates_are_enumerated_before_larger_scores():
    matrix = torch.eye(15, dtype=torch.double) * 100
    matrix[:14, 14] = matrix[14, :14] = torch.linspace(2, 15, 14)
    hyper = Hyper(lags=1, phi=0.0, tau=0.3, min_effect=0.0, effective=8.0, dim=8)
    m = moments_like(matrix, hyper)
    chosen, gates = screen(m, torch.zeros(1, 14, dtype=torch.bool))
    assert gates[0].sum() == 2
    assert set(gates[0].nonzero().flatten().tolist()) <= set(chosen[0].tolist())
    assert chosen.shape == (1, 12)


def moments_like(matrix, hyper):
    from sphunc.causal.posterior import Moments

    one = torch.ones(1, dtype=torch.double)
    usable = torch.ones(1, len(matrix) - 1, dtype=torch.bool)
    return Moments(matrix[None], 100 * one, 0.45 * one, one, None, usable, 14 * one)


def test_discovery_starts_from_the_gates_of_the_chain(problem, latents):
    result = estimate(problem, hyper_parameters(problem, 1, 0.02))
    source, target = problem.candidates.links
    assert bool(result.initial[target - source == 1].all())
    assert int(result.initial.sum()) < 15
    fit = sphunc.causal.discover(latents, max_lag=1, diagnose=False, calibrate=False).fit
    assert fit["initial_links"] == int(result.initial.sum())
    hyper = Hyper(lags=1, phi=0.3, tau=0.3, min_effect=0.0, effective=24.0, dim=24)
    assert (
        moments(columns_of(problem, torch.arange(6), 1), torch.ones(6, 5, dtype=torch.bool), hyper).matrix.shape[1] == 6
    )


def test_fewer_rows_than_candidates_leave_a_ridge_above_rounding():
    g = torch.Generator().manual_seed(0)
    values = 4 * torch.randn(64, 4 + 20 + 1, 4, 2, generator=g, dtype=torch.double)
    values[..., 1] = 1e-6 * values[..., 0]
    one = torch.ones(64, 4, dtype=torch.double)
    hyper = Hyper(lags=1, phi=0.0, tau=3.9, min_effect=0.02, effective=1.26, dim=2)
    m = moments(Columns(values, one.sum(1), one, 4), torch.ones(64, 20, dtype=torch.bool), hyper)
    beta, statistic = autoregression(m.matrix, m.slab)
    assert beta.isfinite().all()
    assert statistic.isfinite().all()
