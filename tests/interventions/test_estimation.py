"""Effects and their two errors, against repeated experiments from a known hierarchical model."""

import pytest
import torch

from sphunc.interventions.estimation import (
    StructureMoments,
    effect_interval,
    estimate_effect,
    posterior_between_variance,
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
    assert (estimate_effect(same, known_structure=True).monte_carlo_error == 0).all()
    enough, _ = hierarchical(20, 5, 0.0, 0.0, count=2)
    enough.outcome.copy_(enough.factual)
    assert (estimate_effect(enough).monte_carlo_error == 0).all()
    assert (effect_interval(enough) == 0).all()


# Ratio of posterior deviation to the noise of a structure's mean: 22, 2.2, 1 (with 5 draws).
@pytest.mark.parametrize("noise", [0.1, 1.0, 2.2])
@pytest.mark.parametrize("structures", [8, 20, 50])
@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_intervals_cover_true_effects(structures, noise, absent) -> None:
    moments, truth = hierarchical(structures, 5, 1.0, noise, absent=absent)
    low, high = effect_interval(moments)[:, 0].unbind(-1)
    coverage = float(((low <= truth) & (truth <= high)).double().mean())
    # 4,000 experiments: standard error 0.005. With links that may be absent, intervals have to hold either cluster.
    assert 0.87 <= coverage <= (0.93 if absent == 0.0 else 0.99)


@pytest.mark.parametrize("structures", [8, 20, 50])
def test_intervals_cover_where_noise_hides_the_posterior(structures) -> None:
    for posterior in (0.0, 0.1):
        moments, truth = hierarchical(structures, 5, posterior, 5.0)
        low, high = effect_interval(moments)[:, 0].unbind(-1)
        assert float(((low <= truth) & (truth <= high)).double().mean()) >= 0.87


def test_noise_that_is_left_in_would_make_intervals_too_wide() -> None:
    moments, _ = hierarchical(50, 5, 1.0, 3.0)
    low, high = effect_interval(moments)[:, 0].unbind(-1)
    differences = (moments.outcome - moments.factual)[..., 0]
    left_in = differences.quantile(0.95, dim=0) - differences.quantile(0.05, dim=0)
    # Posterior alone: 2 x 1.645; with the noise of means 1.67 times as wide.
    assert float((high - low).mean()) == pytest.approx(2 * 1.645, rel=0.1)
    assert float(left_in.mean()) > 1.4 * float((high - low).mean())


@pytest.mark.parametrize("structures", [8, 20, 50])
def test_intervals_of_a_known_structure_are_those_of_noise(structures) -> None:
    moments, _ = hierarchical(structures, 5, 0.0, 1.0)
    low, high = effect_interval(moments, known_structure=True)[:, 0].unbind(-1)
    assert float(((low <= 0) & (high >= 0)).double().mean()) == pytest.approx(0.9, abs=0.03)


def test_a_single_structure_has_no_interval() -> None:
    assert effect_interval(hierarchical(1, 5, 1.0, 1.0, count=3)[0]).isnan().all()


def test_expected_between_variance_is_that_of_the_truncated_posterior() -> None:
    Q, total, noise = 9, 1.3, 1.0
    # Dense transcription: theta = sigma_a^2 + v >= v, likelihood of s^2, prior theta^-2.
    theta = torch.linspace(noise, 400.0, 4_000_001, dtype=torch.double)
    log_weight = -(Q - 1) / 2 * torch.log(theta) - (Q - 1) * total / (2 * theta) - 2 * torch.log(theta)
    weight = torch.exp(log_weight - log_weight.max())
    wanted = float((weight * (theta - noise)).sum() / weight.sum())
    found = posterior_between_variance(torch.tensor(total, dtype=torch.double), torch.tensor(noise).double(), Q)
    assert float(found) == pytest.approx(wanted, rel=1e-3)


def test_without_noise_all_variance_is_between_and_extremes_stay_finite() -> None:
    total = torch.tensor([0.0, 2.0, 1e-30, 0.0])
    noise = torch.tensor([0.0, 0.0, 1.0, 1.0])
    for Q in (2, 20, 2000):
        found = posterior_between_variance(total, noise, Q)
        assert found[:2].tolist() == [0.0, 2.0]
        assert found.isfinite().all()
        assert (found >= 0).all()


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
