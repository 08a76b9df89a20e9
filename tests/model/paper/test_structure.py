"""Scores of links against a dense regression, their posterior and the confidence."""

import math

import pytest
import torch
from scipy import stats

from sphunc.model.paper.structure import (
    parent_set_entropies,
    participation_ratio,
    prior_log_odds,
    score_links,
    starting_coefficients,
)


def panel(generator: torch.Generator, T: int = 9, N: int = 5, D: int = 6) -> torch.Tensor:
    return torch.randn(T, N, D, generator=generator, dtype=torch.float64)


def dense_score(h: torch.Tensor, m: torch.Tensor, source: int, target: int, lags: int) -> tuple[float, list[float]]:
    T = len(h)

    def centred(values: torch.Tensor) -> torch.Tensor:
        return (values - values.mean(0)).flatten()

    y = centred(h[lags:, target])
    own = [centred(h[lags - lag : T - lag, target]) for lag in range(1, lags + 1)]
    sent = [centred(m[lags - lag : T - lag, source]) for lag in range(1, lags + 1)]
    X0 = torch.stack(own, 1)
    X1 = torch.stack(own + sent, 1)
    beta = torch.linalg.lstsq(X1, y).solution
    rss0 = float((y - X0 @ torch.linalg.lstsq(X0, y).solution).square().sum())
    rss1 = float((y - X1 @ beta).square().sum())
    n = (T - lags - 1) * participation_ratio(h.flatten(0, 1))
    return 0.5 * n * math.log(rss0 / rss1) - 0.5 * lags * math.log(n), beta[lags:].tolist()


@pytest.mark.parametrize("lags", [1, 2])
def test_scores_are_those_of_a_dense_regression(lags: int, generator: torch.Generator) -> None:
    h = panel(generator)
    m = panel(generator)
    links = torch.tensor([[1, 4, 0], [0, 0, 3]])
    present = torch.ones(h.shape[:2], dtype=torch.bool)
    scores = score_links(h, m, present, links, lags)
    for k, (source, target) in enumerate(links.mT.tolist()):
        factor, beta = dense_score(h, m, source, target, lags)
        assert float(scores.log_bayes_factor[k]) == pytest.approx(factor, rel=1e-6)
        assert scores.coefficient[k].tolist() == pytest.approx(beta, rel=1e-6)
        n = (len(h) - lags - 1) * participation_ratio(h.flatten(0, 1))
        gain = 2 * factor + lags * math.log(n)
        assert float(scores.p_value[k]) == pytest.approx(stats.chi2.sf(gain, lags), rel=1e-6)


def test_absent_agents_count_nothing(generator: torch.Generator) -> None:
    h = panel(generator)
    present = torch.ones(h.shape[:2], dtype=torch.bool)
    present[-2:, 0] = False
    links = torch.tensor([[1], [0]])
    spoiled = h.clone()
    spoiled[-2:, 0] = 100.0
    one = score_links(h, h, present, links, 1)
    other = score_links(spoiled, h, present, links, 1)
    torch.testing.assert_close(one.coefficient, other.coefficient)


def test_a_planted_link_is_found_and_others_are_not(generator: torch.Generator) -> None:
    h = panel(generator, T=30, N=4)
    for t in range(1, len(h)):
        h[t, 1] = 0.7 * h[t - 1, 0] + 0.5 * h[t, 1]
    links = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    present = torch.ones(h.shape[:2], dtype=torch.bool)
    scores = score_links(h, h, present, links, 2)
    posterior = (scores.log_bayes_factor + prior_log_odds(links, 4)).sigmoid()
    assert float(posterior[0]) > 0.99
    assert bool((posterior[1:] < 0.5).all())
    assert float(scores.coefficient[0, 0]) == pytest.approx(0.7, abs=0.1)
    start = starting_coefficients(scores)
    assert torch.equal(start[0], scores.coefficient[0])
    assert not start[scores.p_value >= 0.05].any()


@pytest.mark.parametrize("T", [1, 2, 3])
def test_few_times_and_constant_agents_give_finite_scores(T: int) -> None:
    h = torch.ones(T, 3, 4)
    h[:, 1] = torch.arange(T).view(-1, 1).float()
    links = torch.tensor([[0, 1, 2], [1, 0, 0]])
    scores = score_links(h, h, torch.ones(T, 3, dtype=torch.bool), links, 2)
    assert bool(scores.log_bayes_factor.isfinite().all())
    assert scores.coefficient.shape == (3, 2)
    assert bool(scores.coefficient.isfinite().all())
    assert score_links(h, h, torch.ones(T, 3, dtype=torch.bool), links[:, :0], 2).p_value.shape == (0,)


def test_effective_dimensions_are_as_many_as_vary_alike(generator: torch.Generator) -> None:
    values = torch.randn(20_000, 4, generator=generator, dtype=torch.float64)
    assert participation_ratio(values) == pytest.approx(4.0, rel=0.01)
    values[:, 2:] = 0.0
    assert participation_ratio(values) == pytest.approx(2.0, rel=0.01)
    assert participation_ratio(values[:1]) == 1.0
    assert participation_ratio(torch.zeros(5, 3, dtype=torch.float64)) == 1.0


def test_the_prior_expects_two_parents_per_agent() -> None:
    links = torch.tensor([[1, 2, 3, 4, 5, 0], [0, 0, 0, 0, 0, 1]])
    share = prior_log_odds(links, 6).sigmoid()
    torch.testing.assert_close(share, torch.tensor([0.4] * 5 + [0.5], dtype=torch.float64))


def test_entropies_add_those_of_the_links_into_an_agent() -> None:
    links = torch.tensor([[1, 2, 0, 0], [0, 0, 1, 2]])
    prior = torch.zeros(4)
    probability = torch.tensor([0.0, 1.0, 0.5, 0.9])
    entropy, prior_entropy = parent_set_entropies(probability, prior, links, 4)
    left = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert entropy.tolist() == pytest.approx([0.0, math.log(2.0), left, 0.0], abs=1e-6)
    assert prior_entropy.tolist() == pytest.approx([2 * math.log(2.0), math.log(2.0), math.log(2.0), 0.0])
