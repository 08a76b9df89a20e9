"""Weighted samples: the formulas against loops, equal weights against plain statistics."""

import torch

from sphunc.causal.design import Layout
from sphunc.causal.monte_carlo import estimated_variance
from sphunc.causal.weighting import (
    RunningMean,
    by_structure,
    effective_size,
    influence,
    normalised,
    resampled,
    tempered,
    weighted_mean,
    weighted_variance,
)

N, Q, R, C = 3, 4, 6, 2
S = Q * R


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_equal_likelihoods_are_plain_statistics() -> None:
    values, weights = drawn(N, S, C), normalised(torch.full((N, S), -700.0))
    layout = Layout(1, Q, R)
    assert torch.equal(weights, torch.full((N, S), 1.0 / S))
    assert torch.allclose(effective_size(weights), torch.full((N,), float(S)))
    assert torch.allclose(weighted_mean(values, weights), values.mean(1), atol=1e-6)
    assert torch.allclose(weighted_variance(values, weights), values.var(1, correction=0), atol=1e-6)
    assert torch.equal(resampled(values, weights), values)
    plain = estimated_variance(values.permute(2, 1, 0), layout)
    assert torch.allclose(estimated_variance(influence(values, weights), layout), plain, atol=1e-6)
    each, spread, shares = by_structure(values, weights, R)
    split = values.unflatten(1, (Q, R))
    assert torch.allclose(each, split.mean(2), atol=1e-6)
    assert torch.allclose(spread, split.var(2) / R, atol=1e-6)
    assert torch.allclose(shares, torch.full((N, Q), 1.0 / Q))


def test_error_of_a_weighted_mean_is_that_of_many_repetitions() -> None:
    count, size = 4000, 200
    x = drawn(count, size, 1)
    weights = normalised(0.7 * x.squeeze(-1))  # tilts a standard normal to mean 0.7
    means = weighted_mean(x, weights).squeeze(-1)
    assert abs(float(means.mean()) - 0.7) < 0.02
    told = estimated_variance(influence(x, weights), Layout(1, 1, size)).squeeze(0)
    assert 0.85 < float(told.mean() / means.var()) < 1.1


def test_structures_that_do_not_count_leave_no_trace() -> None:
    log_likelihood = drawn(N, S)
    log_likelihood[:, :R] = -300.0
    weights = normalised(log_likelihood)
    each, spread, shares = by_structure(drawn(N, S, C, seed=1), weights, R)
    assert (shares[:, 0] == 0).all()
    assert each.isfinite().all()
    assert spread.isfinite().all()
    assert torch.allclose((each * shares.unsqueeze(-1)).sum(1), weighted_mean(drawn(N, S, C, seed=1), weights))


def test_resampled_has_the_weighted_mean() -> None:
    values, weights = drawn(2, 4000, 1), normalised(drawn(2, 4000, seed=1))
    assert torch.allclose(resampled(values, weights).mean(1), weighted_mean(values, weights), atol=0.01)


def test_tempering_leaves_twenty_samples_and_what_is_mild_alone() -> None:
    steep, mild = 30.0 * drawn(2, 100), 0.1 * drawn(2, 100)
    assert torch.allclose(effective_size(normalised(tempered(steep))), torch.full((2,), 20.0), atol=0.1)
    assert torch.equal(tempered(mild), mild)
    assert (effective_size(normalised(tempered(30.0 * drawn(1, 6)))) >= 2.99).all()
    assert torch.equal(tempered(torch.zeros(2, 1)), torch.zeros(2, 1))
    wide = 2.0 * drawn(1, 20_000)
    assert torch.equal(tempered(wide), wide)


def test_running_mean_is_the_mean_of_all_parts() -> None:
    states = torch.nn.functional.normalize(drawn(N, S, 5), dim=-1)
    log_likelihood = 40.0 + 3.0 * drawn(N, S, seed=1)
    running = RunningMean(N, 5)
    for part in range(0, S, R):
        running.add(states[:, part : part + R], log_likelihood[:, part : part + R])
    w = normalised(log_likelihood)
    off = ~torch.eye(S, dtype=torch.bool)
    pairs = (states @ states.mT) * w.unsqueeze(1) * w.unsqueeze(2) * off
    wanted = pairs.sum((1, 2)) / (w.unsqueeze(1) * w.unsqueeze(2) * off).sum((1, 2))
    assert torch.allclose(running.resultant, wanted.clamp(0.0, 1.0), atol=1e-5)
    single = RunningMean(N, 5)
    single.add(states[:, :1], log_likelihood[:, :1])
    assert (single.resultant == 0).all()
