"""Answers as a whole: no intervention, entropies, units, counterfactuals, messages."""

import math
from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.interventions import CutGroup, CutLink, Do, ScaleLink, Shift
from sphunc.interventions.what_if import (
    Simulation,
    calibrate_to_forecast,
    counterfactual,
    describe_paths,
    intervene,
)


def test_no_intervention_has_no_effect_and_is_the_forecast(neighbours):
    found = intervene(neighbours, (), Simulation(horizon=2, samples=30, seed=0))
    assert torch.equal(found.outcomes, found.factual_outcomes)
    assert not bool(found.interval.any())
    forecast = neighbours.model.forecast(neighbours.inputs).distribution.probabilities
    torch.testing.assert_close(found.outcomes[0].double(), forecast, atol=1e-4, rtol=0)
    assert found.message == ""


def test_calibration_takes_temperature_and_coefficients_in(build):
    labels = torch.randint(0, 3, (4, 12), generator=torch.Generator().manual_seed(0))
    inputs = build.panel(torch.randn(4, 12, 2), labels, [[[0, 1, 2, 3], [4, 5, 6]]], 3)
    base = build.regression(inputs, {("history", 0, 1): 0.7, ("features", 1, 2): -1.0}, spread=0.3)
    states = build.state_model(inputs, {}, torch.randn(3, 2), noise=0.5, effect=0.5, numeric=False)
    system = build.system(inputs, base, states)
    found = intervene(system, Do("a0", toward="c1"), Simulation(horizon=1, samples=40, seed=0))
    forecast = system.model.forecast(inputs).distribution.probabilities
    torch.testing.assert_close(found.factual.double(), forecast, atol=2e-3, rtol=0)


def test_entropies_split_exactly(build):
    labels = torch.randint(0, 3, (4, 12), generator=torch.Generator().manual_seed(0))
    inputs = build.panel(torch.randn(4, 12, 2), labels, [[[0, 1, 2, 3], [4, 5, 6]]], 3)
    base = build.regression(inputs, {("last outcome", 0, 1): 1.0, ("neighbour outcomes", 1, 2): 2.0}, spread=0.3)
    found = intervene(build.system(inputs, base), Do("a0", outcome="c1"), Simulation(horizon=2, samples=80, seed=0))
    assert torch.equal(found.withins + found.identifications, found.entropies)
    assert float(found.identification.min()) >= 0
    assert float(found.identification.max()) > 0
    assert float(found.entropies[:, 0].max()) < 1e-6


def test_numbers_come_back_in_their_units(chain):
    centre = torch.tensor([10.0], dtype=torch.float64)
    scale = torch.tensor([4.0], dtype=torch.float64)
    own = replace(chain, centre=centre, scale=scale)
    plain = intervene(chain, Do("a0", (1.0,)), Simulation(horizon=2, samples=16, seed=0))
    found = intervene(own, Do("a0", (1.0,)), Simulation(horizon=2, samples=16, seed=0))
    torch.testing.assert_close(found.mean, 4.0 * plain.mean + 10.0)
    torch.testing.assert_close(found.variance, 16.0 * plain.variance)
    torch.testing.assert_close(found.interval, 4.0 * plain.interval)
    torch.testing.assert_close(found.entropy, plain.entropy + math.log(4.0))
    held = intervene(own, Do("a0", outcome=18.0), Simulation(horizon=1, samples=16, seed=0))
    torch.testing.assert_close(held.mean[0], torch.tensor([18.0]))


@pytest.mark.parametrize("one", [(), Do("a0", (1.0,))], ids=["nothing", "states without weight"])
def test_numbers_that_nothing_reaches_have_the_forecast_and_its_entropy(build, one):
    numbers = torch.randn(4, 12, 1, generator=torch.Generator().manual_seed(0))
    inputs = build.panel(torch.randn(4, 12, 1), numbers, [[[0, 1, 2]]], 0)
    states = build.state_model(inputs, {(0, 1): 0.4}, [[1.0]])
    system = build.system(inputs, build.regression(inputs), states, weight=0.0)
    found = intervene(system, one, Simulation(horizon=1, samples=20))
    forecast = system.model.forecast(inputs).distribution
    torch.testing.assert_close(found.variance.double(), forecast.variance, atol=1e-3, rtol=0)
    expected = 0.5 * torch.log(2 * math.pi * math.e * forecast.variance[:, 0])
    torch.testing.assert_close(found.entropy.double(), expected, atol=1e-3, rtol=0)


def test_agents_come_back_in_the_order_of_the_data(chain):
    order = torch.tensor([3, 1, 0, 2])
    names = ("third", "second", "fourth", "first")
    turned = replace(chain, order=order, entities=replace(chain.entities, agents=names))
    found = intervene(turned, Do("first", (1.0,)), Simulation(horizon=2, samples=8, seed=0))
    plain = intervene(chain, Do("a0", (1.0,)), Simulation(horizon=2, samples=8, seed=0))
    torch.testing.assert_close(found.outcomes[:, order], plain.outcomes, atol=1e-6, rtol=0)
    assert found.intervened.tolist() == [False, False, False, True]


def test_without_a_future_a_counterfactual_is_an_intervention(neighbours):
    one = intervene(neighbours, CutGroup("g0"), Simulation(horizon=2, samples=20, seed=3))
    other = counterfactual(neighbours, CutGroup("g0"), Simulation(horizon=2, samples=20, seed=3))
    assert torch.equal(one.samples, other.samples)
    assert other.coupling == ""


def test_a_counterfactual_without_intervention_is_what_happened(neighbours):
    past = replace(neighbours, origin=0)
    found = counterfactual(past, (), Simulation(horizon=3, samples=20, seed=0))
    assert torch.equal(found.outcomes[:2].argmax(-1), neighbours.inputs.labels[1:])
    assert torch.equal(found.outcomes[:2].max(-1).values, torch.ones(2, 6))
    assert found.observed.sum(1).tolist() == [6, 6, 0]
    assert "monotone" in found.coupling
    assert repr(found).startswith("Counterfactual(")


def test_a_counterfactual_keeps_the_noise_of_outcomes(neighbours):
    past = replace(neighbours, origin=0)
    found = counterfactual(past, CutGroup("g0"), Simulation(horizon=1, samples=20, seed=0))
    # a0 was c0 although its co-members gave c1 log odds 2; without them c0 is more probable: it stays c0.
    torch.testing.assert_close(found.probabilities[0], torch.tensor([1.0, 0.0]))
    # a1 was c1 with probability sigmoid(1); without co-members c1 takes the upper half: 0.5 of sigmoid(1) stay.
    stays = 0.5 / torch.sigmoid(torch.tensor(1.0))
    torch.testing.assert_close(found.probabilities[1, 1], stays, atol=1e-5, rtol=0)
    assert not bool(found.difference[3:].any())


def test_a_counterfactual_replays_the_states_that_were_observed(build):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(6, 3, 1, generator=generator)
    numbers = features + 0.1 * torch.randn(6, 3, 1, generator=generator)
    inputs = build.panel(features, numbers, [[]], 0)
    states = build.state_model(inputs, {(0, 1): 0.4}, [[1.0]], noise=0.5)
    system = build.system(inputs, build.regression(inputs), states, origin=2)
    found = counterfactual(system, Do("a0", (-1.0,), times=0), Simulation(horizon=2, samples=8, seed=0))
    length = float(system.observed_future.state_covariance.sqrt())
    # The noise of the transition is kept: a1 moves by beta times what a0 was moved at the origin.
    push = 0.4 * (-length - float(features[2, 0]))
    factual = numbers[3:5, :, 0]
    torch.testing.assert_close(found.factual_outcomes[..., 0], factual.float(), atol=1e-4, rtol=0)
    torch.testing.assert_close(float(found.outcomes[0, 1, 0] - factual[0, 1]), push, atol=0.02, rtol=0)
    assert not bool((found.outcomes - found.factual_outcomes)[:, 2].any())


def test_states_without_weight_give_nothing_to_act_through(chain):
    silent = replace(chain, model=replace(chain.model, weight=0.0))
    found = intervene(silent, Do("a0", (1.0,)), Simulation(horizon=2, samples=8, seed=0))
    assert not bool(found.difference.any())
    assert found.message == "the data show no influence to act through: states have weight 0 in the forecast"
    assert "no influence to act through" in repr(found)


@pytest.mark.parametrize(
    "one",
    [
        CutLink("a0", "a1"),
        ScaleLink("a0", "a1", 3.0),
        Shift("a0", "a1", 0.5),
        Do("a0", (1.0,)) & Do("a1", observed="a2"),
    ],
)
def test_links_and_states_without_weight_can_be_named(chain, one):
    silent = replace(chain, model=replace(chain.model, weight=0.0))
    found = intervene(silent, one, Simulation(horizon=2, samples=8))
    assert not bool(found.difference.any())
    assert "states have weight 0 in the forecast" in found.message


def test_agents_that_meet_nobody_have_no_path(neighbours):
    found = intervene(neighbours, Do("a5", outcome="c0"), Simulation(horizon=2, samples=8, seed=0))
    assert found.message == (
        "the data show no influence to act through: no link and no shared group leads to other agents"
    )
    met = intervene(neighbours, Do("a0", outcome="c0"), Simulation(horizon=2, samples=8, seed=0))
    assert met.message == ""
    early = intervene(neighbours, Do("a0", outcome="c0"), Simulation(horizon=1, samples=8, seed=0))
    assert early.message.startswith("nothing acts on other agents yet")


def test_a_cut_group_beyond_what_was_observed_is_named(build):
    labels = torch.randint(0, 3, (4, 12), generator=torch.Generator().manual_seed(0))
    groups = [[[*range(6)], [*range(6, 12)]]] * 4
    for meeting, message in ((groups, "outside of what was observed (extrapolation): 6 agents"), ([[[0, 1]]], "")):
        inputs = build.panel(torch.randn(4, 12, 2), labels, meeting, 3)
        base = build.regression(inputs, {("neighbour outcomes", 1, 2): 2.0}, spread=0.3)
        system = build.system(inputs, base)
        name = system.entities.groups[0]
        found = intervene(system, CutGroup(name), Simulation(horizon=2, samples=8, seed=0))
        assert message in found.message
        assert bool(message) == ("extrapolation" in found.message)


def test_faults_are_found_before_any_work(neighbours):
    with pytest.raises(ArgumentError, match="not in the data"):
        intervene(neighbours, Do("nobody", outcome="c0"), Simulation(horizon=1, samples=8))


def test_corrections_are_set_for_steps_that_are_forecast(neighbours):
    from sphunc.interventions.resolve import resolve
    from sphunc.interventions.simulation.parameters import draw_parameters
    from sphunc.interventions.simulation.rollout import Simulator

    origin = neighbours.past
    resolved = resolve([CutGroup("g0")], neighbours.entities, origin.candidates, origin.direction, 2)
    parameters = draw_parameters(origin, 4, 0, torch.float32)
    simulator = Simulator(origin, parameters, resolved, {}, neighbours.order, 2, 0)
    calibrate_to_forecast(simulator, 2)
    assert sorted(simulator.corrections) == [1]
    assert describe_paths(origin, intervene(neighbours, (), Simulation(horizon=1, samples=4)).plan, simulator) == ""
