"""Density of a mixture around its samples: the sum over all pairs, at a cost linear in samples."""

import math

import pytest
import torch

import sphunc.causal.kernel_density as module
from sphunc.causal.kernel_density import CENTRES, mean_log_density, normal_nodes


def dense(points, noise, weights=None):
    """The sum over all pairs."""
    S = points.shape[1]
    log_weights = (torch.full(points.shape[:2], 1.0 / S) if weights is None else weights).double().log()
    centres = (points / noise.sqrt()[:, None]).double()
    total = torch.zeros(points.shape[:2], dtype=torch.double)
    nodes = normal_nodes(points.shape[-1]).double()
    for node in nodes:
        distance = (centres[:, :, None] + node - centres[:, None]).square().sum(-1)
        total += torch.logsumexp(log_weights[:, None] - 0.5 * distance, -1) / len(nodes)
    return total - 0.5 * torch.log(2.0 * math.pi * noise).sum(-1)[:, None]


def points(agents, samples, numbers, spread, seed=0):
    drawn = spread * torch.randn(agents, samples, numbers, generator=generator(seed))
    drawn[0, : samples // 2] += 3 * spread
    return drawn, torch.full((agents, numbers), 0.7)


def uneven(agents, samples, sharpness, seed=1):
    """Weights of very few up to most of the samples; the first sample of the last agent has none."""
    weights = torch.softmax(sharpness * torch.randn(agents, samples, generator=generator(seed)), 1)
    weights[-1, 0] = 0.0 if samples > 1 else 1.0
    return weights / weights.sum(1, keepdim=True)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 5.0, 50.0, 1e4])
@pytest.mark.parametrize("samples", [1, 2, 60, 600])
def test_one_number_on_a_grid_is_the_sum_over_pairs(samples, spread) -> None:
    x, noise = points(2, samples, 1, spread)
    assert (mean_log_density(x, noise) - dense(x, noise)).abs().max() < 1e-4


@pytest.mark.parametrize("numbers", [2, 3])
@pytest.mark.parametrize("samples", [1, 2, 60])
def test_several_numbers_are_summed_over_all_pairs_where_samples_are_few(samples, numbers) -> None:
    x, noise = points(3, samples, numbers, 2.0)
    assert torch.allclose(mean_log_density(x, noise).double(), dense(x, noise), atol=1e-5)


@pytest.mark.parametrize(("spread", "wanted"), [(0.0, 1e-5), (0.1, 0.02), (0.8, 0.02), (4.0, 0.1)])
@pytest.mark.parametrize("numbers", [2, 3])
def test_some_centres_stand_for_all(numbers, spread, wanted) -> None:
    x, noise = points(2, 2 * CENTRES, numbers, spread)
    gap = mean_log_density(x, noise).mean(1) - dense(x, noise).mean(1)
    assert gap.abs().max() < wanted


@pytest.mark.parametrize("numbers", [1, 2, 3])
@pytest.mark.parametrize("samples", [1, 60, 600, 1500])
def test_equal_weights_are_none(samples, numbers) -> None:
    x, noise = points(3, samples, numbers, 1.3)
    same = mean_log_density(x, noise, torch.full((3, samples), 1.0 / samples))
    assert torch.allclose(same, mean_log_density(x, noise), atol=1e-5)


@pytest.mark.parametrize(("numbers", "wanted"), [(1, 2e-4), (2, 1e-5)])
def test_a_sample_that_counts_twice_is_two_samples(numbers, wanted) -> None:
    x, noise = points(3, 50, numbers, 1.0)
    times = torch.randint(0, 5, (50,), generator=generator(2))
    counted = mean_log_density(x, noise, (times / times.sum()).expand(3, -1))
    repeated = mean_log_density(x.repeat_interleave(times, 1), noise)
    assert torch.allclose(counted.repeat_interleave(times, 1), repeated, atol=wanted)


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("spread", [0.0, 0.8, 4.0, 50.0])
@pytest.mark.parametrize(("samples", "numbers"), [(1, 1), (60, 1), (600, 1), (1, 2), (60, 2), (60, 3)])
def test_weighted_samples_are_summed_over_pairs_too(samples, numbers, spread, sharpness) -> None:
    x, noise = points(3, samples, numbers, spread)
    weights = uneven(3, samples, sharpness)
    told, wanted = mean_log_density(x, noise, weights), dense(x, noise, weights)
    assert told.isfinite().all()
    counts = samples * weights > 0.1
    assert (told - wanted)[counts].abs().max() < (1e-4 if numbers == 1 else 1e-5)
    assert ((told - wanted) * weights).sum(1).abs().max() < 1e-5


@pytest.mark.parametrize(("spread", "wanted"), [(0.0, 1e-4), (0.8, 0.02), (4.0, 0.1)])
@pytest.mark.parametrize("sharpness", [0.5, 2.0, 5.0, 50.0])
@pytest.mark.parametrize("numbers", [2, 3])
def test_some_weighted_centres_stand_for_all(numbers, sharpness, spread, wanted) -> None:
    x, noise = points(2, 2 * CENTRES, numbers, spread)
    weights = uneven(2, 2 * CENTRES, sharpness)
    told = mean_log_density(x, noise, weights)
    assert told.isfinite().all()
    assert ((told - dense(x, noise, weights)) * weights).sum(1).abs().max() < wanted


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("samples", "numbers"), [(70, 1), (70, 2), (600, 2)])
def test_blocks_do_not_matter(samples, numbers, weighted, monkeypatch) -> None:
    x, noise = points(5, samples, numbers, 1.0)
    weights = uneven(5, samples, 1.0) if weighted else None
    whole = mean_log_density(x, noise, weights)
    monkeypatch.setattr(module, "BLOCK", 15 * samples)
    assert torch.allclose(mean_log_density(x, noise, weights), whole, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("numbers", [1, 2])
def test_no_tensor_holds_all_pairs(numbers, weighted) -> None:
    x, noise = points(2, 2000, numbers, 1.0)
    weights = uneven(2, 2000, 1.0) if weighted else None
    with torch.profiler.profile(profile_memory=True) as told:
        mean_log_density(x, noise, weights)
    largest = max(event.cpu_memory_usage for event in told.events())
    assert largest < 4 * 2000 * 2000


def test_nodes_are_normal_and_always_the_same() -> None:
    nodes = normal_nodes(3)
    assert torch.equal(nodes, normal_nodes(3))
    assert torch.allclose(nodes.mean(0), torch.zeros(3), atol=1e-6)
    assert torch.allclose(nodes.square().mean(0), torch.ones(3), atol=1e-5)
