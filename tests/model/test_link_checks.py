"""Checks of the links of a model: what is planted passes, what is not is told."""

import math

import pytest
import torch

from sphunc.hypergraph import Incidence
from sphunc.model.dynamics import PADDING, Dynamics, Links, reduced_form
from sphunc.model.kalman import kalman_smoother
from sphunc.model.link_calibration import DecoyComparison
from sphunc.model.link_checks import check_halves, check_links, check_shocks, shown_links, simulate_states
from sphunc.model.structure import ChainData, LinkPrior, StructurePosterior

AGENTS = 40
AXES = 3
TIMES = 16 + PADDING
STRENGTH = 0.5


def nobody_meets() -> Incidence:
    none = torch.zeros(0, dtype=torch.long)
    return Incidence(none, none, torch.zeros(0, dtype=torch.float64), AGENTS, 0)


@pytest.fixture(scope="module")
def dynamics():
    ones = torch.ones(AXES, dtype=torch.float64)
    return Dynamics(
        inertia=torch.full((AGENTS,), 0.4, dtype=torch.float64),
        transition_variance=0.5 * ones,
        effect_variance=0.2 * ones,
        observation_variance=0.1 * ones,
        initial_variance=ones,
        group_force=0.0,
        state_scale=2.0,
    )


def ring_links() -> Links:
    """Two candidates of every agent, of which the first is a link."""
    agent = torch.arange(AGENTS)
    source = torch.stack([(agent - 1) % AGENTS, (agent + 7) % AGENTS], 1)
    exists = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(AGENTS, 2)
    return Links(
        source,
        torch.ones(AGENTS, 2, dtype=torch.bool),
        0.98 * exists + 0.01,
        STRENGTH * exists,
        STRENGTH**2 * exists,
    )


def observe(states, dynamics):
    generator = torch.Generator().manual_seed(5)
    precision = (1.0 / dynamics.observation_variance).expand_as(states).clone()
    precision[:PADDING] = 0.0
    noise = torch.randn(states.shape, generator=generator, dtype=torch.float64)
    observation = torch.where(precision > 0, states + 0.1**0.5 * noise, 0.0)
    mean, variance = kalman_smoother(dynamics.inertia.unsqueeze(1), reduced_form(dynamics, observation, precision))
    return ChainData(observation, precision, mean, variance, torch.zeros_like(mean))


@pytest.fixture(scope="module")
def linked(dynamics):
    links = ring_links()
    generator = torch.Generator().manual_seed(3)
    groups = [nobody_meets()] * (TIMES - PADDING)
    return observe(simulate_states(dynamics, links.matrix(links.mean), TIMES, groups, generator), dynamics)


@pytest.fixture(scope="module")
def unlinked(dynamics):
    links = ring_links()
    generator = torch.Generator().manual_seed(4)
    groups = [nobody_meets()] * (TIMES - PADDING)
    return observe(simulate_states(dynamics, links.matrix(0 * links.mean), TIMES, groups, generator), dynamics)


def test_planted_links_are_followed_and_constant(dynamics, linked):
    response = check_shocks(ring_links(), dynamics, linked)
    assert response.following == pytest.approx(1.0, abs=0.25)
    assert abs(response.same_time) < 3 * response.same_time_error
    halves = check_halves(ring_links(), dynamics, linked)
    assert halves.first == pytest.approx(1.0, abs=0.2)
    assert halves.second == pytest.approx(1.0, abs=0.2)
    assert halves.p_value > 0.01


def test_links_that_are_none_are_not_followed(dynamics, unlinked):
    response = check_shocks(ring_links(), dynamics, unlinked)
    assert not response.is_followed
    assert "not followed" in response.reading


def test_few_links_are_not_compared(dynamics, linked):
    links = ring_links()
    links.is_candidate[3:] = False
    assert math.isnan(check_shocks(links, dynamics, linked).following)
    assert math.isnan(check_halves(links, dynamics, linked).p_value)


def test_simulated_links_are_found_again(dynamics, linked):
    links = ring_links()
    draws = links.mean.unsqueeze(0).float()
    slots = torch.arange(2).expand(AGENTS, 2)
    prior = LinkPrior(share=0.5, positive=0.9, size=STRENGTH / 0.4, spread=0.4, group_force=0.0)
    structure = StructurePosterior(links, dynamics.inertia, prior, slots, draws, 0.2)
    groups = [nobody_meets()] * (TIMES - PADDING)
    comparison = DecoyComparison(links.probability.flatten(), ())
    checked = check_links(structure, comparison, dynamics, dynamics, linked, groups, 0)
    figures = dict(checked.diagnostics)
    assert figures["simulated_links"] == pytest.approx(AGENTS, abs=6)
    assert figures["simulated_precision"] > 0.85
    assert figures["detectable"] == 0.2
    assert set(figures) >= {"shock_response", "same_time_response", "halves_p_value"}


def test_links_at_the_prior_are_not_checked(dynamics):
    links = ring_links()
    prior = LinkPrior(share=0.5)
    shown = shown_links(StructurePosterior(links, dynamics.inertia, prior, links.source, links.mean.unsqueeze(0)))
    assert bool(shown.is_candidate[:, 0].all())
    assert not bool(shown.is_candidate[:, 1].any())
