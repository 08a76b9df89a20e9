"""The simulator against closed forms: a linear chain, neighbours that decide, what is not connected."""

from dataclasses import replace

import pytest
import torch

from sphunc.interventions import CutGroup, CutLink, Do, Policy, ScaleLink
from sphunc.interventions.simulation import rollout as module
from sphunc.interventions.what_if import Simulation, intervene

BETA = {(0, 1): 0.4, (1, 2): -0.3}


def linear_chain(start, steps, held=None, links=BETA):
    """Means of all states, by a plain recursion; one agent may be held."""
    states = list(start)
    if held is not None:
        states[held[0]] = held[1]
    path = []
    for _ in range(steps):
        moved = [0.5 * own for own in states]
        for (source, target), beta in links.items():
            moved[target] += beta * states[source]
        if held is not None:
            moved[held[0]] = held[1]
        states = moved
        path.append(list(states))
    return torch.tensor(path)


def test_a_linear_chain_without_noise_is_followed_exactly(chain):
    found = intervene(chain, Do("a0", (-1.0,)), Simulation(horizon=4, samples=8, seed=0))
    start = chain.inputs.x[-1, :, 0].tolist()
    length = float(chain.past.state_covariance.sqrt())
    expected = linear_chain(start, 4, (0, -length)) - linear_chain(start, 4)
    effect = (found.outcomes - found.factual_outcomes)[..., 0]
    # The base, whose noise is e^9 times that of the readout, has a share of 1e-4 in the pool.
    torch.testing.assert_close(effect, expected, atol=1e-3, rtol=0)
    assert not bool(effect[:, 3].any())


@pytest.mark.parametrize(("change", "factor"), [(CutLink("a0", "a1"), 0.0), (ScaleLink("a0", "a1", 0.5), 0.5)])
def test_a_link_is_cut_or_scaled(chain, change, factor):
    found = intervene(chain, change, Simulation(horizon=3, samples=8, seed=0))
    start = chain.inputs.x[-1, :, 0].tolist()
    links = {(0, 1): 0.4 * factor, (1, 2): -0.3}
    expected = linear_chain(start, 3, links=links) - linear_chain(start, 3)
    torch.testing.assert_close((found.outcomes - found.factual_outcomes)[..., 0], expected, atol=1e-4, rtol=0)


def test_a_link_cut_later_acts_later(chain):
    found = intervene(chain, CutLink("a0", "a1", times=1), Simulation(horizon=2, samples=8, seed=0))
    effect = (found.outcomes - found.factual_outcomes)[..., 0]
    assert not bool(effect[0].any())
    before = linear_chain(chain.inputs.x[-1, :, 0].tolist(), 1)[0]
    torch.testing.assert_close(float(effect[1, 1]), float(-0.4 * before[0]), atol=1e-4, rtol=0)


def test_a_transition_is_no_longer_than_a_typical_state(chain):
    strong = replace(chain.model.one_step.states.dynamics, inertia=torch.full((4,), 5.0, dtype=torch.float64))
    states = replace(chain.model.one_step.states, dynamics=strong)
    predictor = replace(chain.model.one_step, states=states)
    system = replace(chain, model=replace(chain.model, one_step=predictor, predictor=predictor))
    found = intervene(system, Do("a0", (1.0,)), Simulation(horizon=6, samples=8, seed=0))
    length = float(system.past.state_covariance.sqrt())
    assert float((found.outcomes - found.factual_outcomes).abs().max()) <= 2 * length + 0.01


def test_neighbours_that_decide_are_felt_when_they_part(neighbours):
    found = intervene(neighbours, CutGroup("g0"), Simulation(horizon=1, samples=8, seed=0))
    # Both co-members of a0 had c1: log odds 2, and 0 without them. Those of a1 and a2 had one c0 and one c1.
    with_them = torch.sigmoid(torch.tensor([2.0, 1.0, 1.0]))
    expected = 0.5 - with_them
    torch.testing.assert_close(found.difference[:3, 1], expected, atol=1e-4, rtol=0)
    assert not bool(found.difference[3:].any())


def test_a_held_outcome_is_felt_one_step_later(neighbours):
    found = intervene(neighbours, Do("a4", outcome="c1"), Simulation(horizon=2, samples=4000, structures=4, seed=0))
    assert torch.equal(found.outcomes[:, 4], torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    effect = (found.outcomes - found.factual_outcomes)[..., 1]
    assert not bool(effect[0, 3].any())
    # Without it a4 is c1 with probability 1/2, as its co-member had c0; a3 then has log odds 2 or 0.
    expected = torch.sigmoid(torch.tensor(2.0)) - 0.5 * (torch.sigmoid(torch.tensor(2.0)) + 0.5)
    # Five standard errors of 4,000 draws.
    torch.testing.assert_close(effect[1, 3], expected, atol=5 * 0.19 / 4000**0.5, rtol=0)
    assert not bool(effect[:, [0, 1, 2, 5]].any())


def test_outcomes_share_their_random_numbers(neighbours):
    first = intervene(neighbours, Do("a0", outcome="c1"), Simulation(horizon=3, samples=20, seed=5))
    again = intervene(neighbours, Do("a0", outcome="c1"), Simulation(horizon=3, samples=20, seed=5))
    other = intervene(neighbours, Do("a0", outcome="c1"), Simulation(horizon=3, samples=20, seed=6))
    assert torch.equal(first.samples, again.samples)
    assert torch.equal(first.interval, again.interval)
    assert not torch.equal(first.samples, other.samples)


def test_blocks_do_not_change_what_is_drawn(neighbours, monkeypatch):
    whole = intervene(neighbours, Do("a0", outcome="c1"), Simulation(horizon=3, samples=20, seed=5))
    monkeypatch.setattr(module, "BLOCK", 1)
    parts = intervene(neighbours, Do("a0", outcome="c1"), Simulation(horizon=3, samples=20, seed=5))
    torch.testing.assert_close(parts.samples, whole.samples, atol=1e-6, rtol=0)


def test_a_policy_that_does_nothing_has_no_effect(chain):
    found = intervene(chain, Policy(lambda step, states: {}), Simulation(horizon=2, samples=8, seed=0))
    assert float(found.difference.abs().max()) < 1e-6
    assert not bool(found.intervened.any())


def test_a_policy_is_followed(chain):
    found = intervene(chain, Policy(lambda step, states: {"a0": [-1.0]}), Simulation(horizon=4, samples=8, seed=0))
    held = intervene(chain, Do("a0", (-1.0,)), Simulation(horizon=4, samples=8, seed=0))
    torch.testing.assert_close(found.outcomes, held.outcomes, atol=1e-5, rtol=0)
    assert found.intervened.tolist() == [True, False, False, False]
