import pytest
import torch

from sphunc.discovery.candidates import candidate_links
from sphunc.discovery.posterior import estimate as module
from sphunc.discovery.posterior.estimate import (
    Problem,
    error_inflation,
    estimate,
    fit_settings,
    shuffled_innovations,
    sum_weighted,
)
from sphunc.discovery.regression.panel import build_panel


@pytest.fixture(scope="module")
def problem(ring, neighbours):
    links = candidate_links(neighbours, range(30))
    present = torch.ones(20, 30, dtype=torch.bool)
    return Problem(build_panel(ring, present, links.links, None, replicates=False), links)


def test_share_and_size_of_planted_links_are_learned(problem):
    settings = fit_settings(problem)
    assert settings.share == pytest.approx(0.25, abs=0.2)
    assert settings.tau > 0.15
    assert 1.0 <= settings.components.inflation < 2.0


def test_batches_do_not_change_the_result(problem, monkeypatch):
    settings = fit_settings(problem)
    whole = estimate(problem, settings, problem.explained)
    monkeypatch.setattr(module, "TREE_BATCH", 7)
    parts = estimate(problem, settings, problem.explained)
    torch.testing.assert_close(parts.probability, whole.probability)
    torch.testing.assert_close(parts.strength, whole.strength)


def test_targets_that_are_not_explained_keep_the_prior(problem):
    settings = fit_settings(problem)
    some = estimate(problem, settings, problem.explained[:3])
    others = ~torch.isin(problem.candidates.links[1], problem.explained[:3])
    assert bool((some.probability[others] == settings.reference).all())


def test_draws_have_the_frequency_of_the_probability(problem):
    settings = fit_settings(problem)
    found = estimate(problem, settings, problem.explained, draw=True)
    assert found.draws is not None
    torch.testing.assert_close(found.draws.double().mean(0), found.probability, atol=0.1, rtol=0)


def test_errors_of_pure_noise_are_hardly_inflated():
    x = torch.randn(20, 40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    agent = torch.arange(40)
    pairs = torch.cat([torch.stack([(agent + step) % 40, agent]) for step in range(1, 9)], 1)
    links = candidate_links(pairs, range(40))
    present = torch.ones(20, 40, dtype=torch.bool)
    problem = Problem(build_panel(x, present, links.links, None, replicates=False), links)
    settings = fit_settings(problem)
    assert settings.components.inflation < 1.3
    prior = settings.priors[0][0]
    assert error_inflation(problem, settings.components, problem.explained[:0], prior) == 1.0


def test_weighted_sum():
    parts = [(torch.tensor([1.0, 2.0]), 0.5), (torch.tensor([3.0, 4.0]), 2.0)]
    assert sum_weighted(parts).tolist() == [6.5, 9.0]


def test_shuffled_innovations_keep_start_and_innovations():
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(4, 7, 2, generator=generator, dtype=torch.double)
    present = torch.ones(4, 7, dtype=torch.bool)
    shuffled = shuffled_innovations(values, present, 0.5, generator)
    torch.testing.assert_close(shuffled[:, 0], values[:, 0])
    before = (values[:, 1:] - 0.5 * values[:, :-1])[..., 0].sort(1).values
    after = (shuffled[:, 1:] - 0.5 * shuffled[:, :-1])[..., 0].sort(1).values
    torch.testing.assert_close(after, before)
    assert not torch.allclose(shuffled, values)
