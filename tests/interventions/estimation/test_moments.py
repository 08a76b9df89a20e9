"""Effects and their two errors, against repeated experiments from a known hierarchical model."""

import pytest
import torch

from sphunc.interventions.estimation.moments import (
    StructureMoments,
    effect_interval,
    estimate_effect,
    simulation_size,
    variance_components,
)


def hierarchical(structures, draws, posterior, noise, *, count=4000, absent=0.0, seed=0):
    """Moments of ``count`` experiments (as agents) and their true effects.

    Effects are normal over the posterior, or 0 with probability ``absent``.
    """
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        normal = torch.randn(*shape, generator=g, dtype=torch.double)
        if absent == 0.0:
            return posterior * normal
        present = torch.rand(*shape, generator=g) >= absent
        return posterior * torch.where(present, 1.0 + 0.3 * normal, 0.0)

    truth = draw(count)
    effects = draw(structures, 1, count)
    errors = noise * torch.randn(structures, draws, count, generator=g, dtype=torch.double)
    factual = torch.randn(structures * draws, count, 1, generator=g, dtype=torch.double)
    outcome = factual + (effects + errors).reshape(structures * draws, count, 1)
    return moments_of(outcome, factual, structures), truth


def by_structure(samples, structures):
    """Samples ``[S, N, C]`` with axes of structures, outputs, agents and draws."""
    return samples.unflatten(0, (structures, -1)).permute(0, 3, 2, 1)


def moments_of(outcome, factual, structures, noise=None):
    _, N, C = outcome.shape
    moments = StructureMoments.empty(structures, N, C, numeric=noise is not None, dtype=outcome.dtype)
    parts = [None if one is None else by_structure(one, structures) for one in (outcome, factual, noise)]
    moments.put(torch.arange(structures), parts[1], torch.arange(N), parts[0], parts[2], parts[2])
    return moments


def test_moments_are_those_of_the_samples_in_whatever_blocks_they_are_put() -> None:
    g = torch.Generator().manual_seed(1)
    factual, noise = (1e6 + torch.randn(3, 2, 5, 4, generator=g, dtype=torch.double) for _ in range(2))
    followed = torch.tensor([1, 3])
    outcome = factual.clone()
    outcome[:, :, followed] += torch.randn(3, 2, 2, 4, generator=g, dtype=torch.double)
    found = StructureMoments.empty(3, 5, 2, numeric=True, dtype=torch.double)
    for block in (torch.tensor([0, 2]), torch.tensor([1])):
        own = outcome[block][:, :, followed]
        found.put(block, factual[block], followed, own, noise[block], noise[block][:, :, followed])
    assert found.count.tolist() == [4.0, 4.0, 4.0]
    torch.testing.assert_close(found.outcome, outcome.mean(-1).mT)
    torch.testing.assert_close(found.factual, factual.mean(-1).mT)
    torch.testing.assert_close(found.noise, noise.mean(-1).mT)
    # Squares of deviations near 1 survive values near a million.
    torch.testing.assert_close(found.outcome_squares, 3 * outcome.var(-1).mT, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.difference_squares, 3 * (outcome - factual).var(-1).mT, rtol=1e-6, atol=1e-6)


def test_variance_components_are_unbiased_and_equal_their_definition() -> None:
    moments, _ = hierarchical(6, 4, posterior=1.0, noise=2.0)
    differences = moments.outcome - moments.factual
    total, noise = variance_components(differences, moments.difference_squares, moments.count)
    assert float(noise.mean()) == pytest.approx(2.0**2 / 4, rel=0.02)
    assert float((total - noise).mean()) == pytest.approx(1.0, rel=0.06)
    single, _ = variance_components(differences[:1], moments.difference_squares[:1], moments.count[:1])
    assert (single == 0).all()


@pytest.mark.parametrize(("posterior", "noise"), [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_monte_carlo_error_is_that_of_repeated_experiments(posterior, noise) -> None:
    moments, _ = hierarchical(20, 5, posterior, noise)
    found = estimate_effect(moments)
    effect = found.outcome - found.factual
    assert float(found.monte_carlo_error.square().mean()) == pytest.approx(float(effect.var()), rel=0.08)


def test_monte_carlo_error_falls_with_samples_and_the_posterior_part_does_not() -> None:
    few, many = (estimate_effect(hierarchical(Q, 5, 1.0, 1.0, count=500)[0]) for Q in (20, 2000))
    ratio = few.monte_carlo_error.mean() / many.monte_carlo_error.mean()
    assert float(ratio) == pytest.approx(10.0, rel=0.05)
    assert float(many.posterior_deviation.mean()) == pytest.approx(1.0, rel=0.02)
    assert float(few.posterior_deviation.mean()) == pytest.approx(1.0, rel=0.1)


def test_errors_that_few_structures_cannot_tell_are_nan() -> None:
    assert estimate_effect(hierarchical(3, 5, 1.0, 1.0, count=2)[0]).monte_carlo_error.isnan().all()
    same, _ = hierarchical(10, 5, 0.0, 0.0, count=2)
    same.outcome.copy_(same.factual)
    assert estimate_effect(same).monte_carlo_error.isnan().all()
    enough, _ = hierarchical(20, 5, 0.0, 0.0, count=2)
    enough.outcome.copy_(enough.factual)
    assert (estimate_effect(enough).monte_carlo_error == 0).all()


@pytest.mark.parametrize("samples", [5, 18, 19, 24, 100])
def test_intervals_cover_what_is_drawn_like_the_samples(samples) -> None:
    drawn = torch.randn(samples + 1, 4000, 1, generator=torch.Generator().manual_seed(0))
    low, high = effect_interval(drawn[1:])[:, 0].unbind(-1)
    truth = drawn[0, :, 0]
    # 4,000 experiments: standard error 0.005.
    assert float(((low <= truth) & (truth <= high)).double().mean()) == pytest.approx(0.9, abs=0.015)


def test_intervals_are_ranks() -> None:
    found = effect_interval(torch.linspace(-1.0, 1.0, 99).view(99, 1, 1))
    ordered = torch.linspace(-1.0, 1.0, 99)
    torch.testing.assert_close(found[0, 0], torch.stack([ordered[4], ordered[94]]))


def test_samples_that_agree_give_a_point_and_a_single_one_no_interval() -> None:
    assert (effect_interval(torch.full((30, 2, 1), 0.5)) == 0.5).all()
    assert effect_interval(torch.zeros(1, 2, 1)).isnan().all()


@pytest.mark.parametrize(
    ("samples", "structures", "size"),
    [
        (100, None, (20, 5)),
        (1000, None, (200, 5)),
        (80, None, (20, 4)),
        (40, None, (10, 4)),
        (10, None, (2, 5)),
        (3, None, (2, 2)),
        (1, None, (1, 1)),
        (100, 30, (30, 4)),
        (4, 10, (4, 1)),
    ],
)
def test_samples_are_spread_over_structures(samples, structures, size) -> None:
    assert simulation_size(samples, structures) == size
