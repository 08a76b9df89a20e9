"""Density of a mixture around its samples: the sum over all pairs, at a cost linear in samples."""

import math

import pytest
import torch

import sphunc.causal.kernel_density as module
from sphunc.causal.kernel_density import CENTRES, mean_log_density, normal_nodes


def dense(points, noise):
    centres = (points / noise.sqrt()[:, None]).double()
    total = torch.zeros(points.shape[:2], dtype=torch.double)
    nodes = normal_nodes(points.shape[-1]).double()
    for node in nodes:
        distance = (centres[:, :, None] + node - centres[:, None]).square().sum(-1)
        total += torch.logsumexp(-0.5 * distance, -1) / len(nodes)
    return total - 0.5 * torch.log(2.0 * math.pi * noise).sum(-1)[:, None] - math.log(points.shape[1])


def points(agents, samples, numbers, spread, seed=0):
    drawn = spread * torch.randn(agents, samples, numbers, generator=torch.Generator().manual_seed(seed))
    drawn[0, : samples // 2] += 3 * spread
    return drawn, torch.full((agents, numbers), 0.7)


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


@pytest.mark.parametrize("numbers", [1, 2])
def test_blocks_do_not_matter(numbers, monkeypatch) -> None:
    x, noise = points(5, 70, numbers, 1.0)
    whole = mean_log_density(x, noise)
    monkeypatch.setattr(module, "BLOCK", 1000)
    assert torch.allclose(mean_log_density(x, noise), whole, atol=1e-5)


@pytest.mark.parametrize("numbers", [1, 2])
def test_no_tensor_holds_all_pairs(numbers) -> None:
    x, noise = points(2, 2000, numbers, 1.0)
    with torch.profiler.profile(profile_memory=True) as told:
        mean_log_density(x, noise)
    largest = max(event.cpu_memory_usage for event in told.events())
    assert largest < 4 * 2000 * 2000


def test_nodes_are_normal_and_always_the_same() -> None:
    nodes = normal_nodes(3)
    assert torch.equal(nodes, normal_nodes(3))
    assert torch.allclose(nodes.mean(0), torch.zeros(3), atol=1e-6)
    assert torch.allclose(nodes.square().mean(0), torch.ones(3), atol=1e-5)
