"""Systems from data."""

import math
from dataclasses import replace
from functools import partial

import torch

import sphunc
from sphunc.forecasting.schema import schema_of
from sphunc.interventions import CutGroup, Do, dowhy
from sphunc.interventions.system import groups_at, system_of
from sphunc.interventions.what_if import Simulation, intervene
from sphunc.model import fit_model, learn_preparation, prepare


def test_a_quick_model_can_be_asked():
    data = sphunc.simulate("snare", agents=30, times=5, seed=0).data
    schema = schema_of(data)
    preparation = learn_preparation(data, schema)
    inputs = prepare(data, schema, preparation).inputs
    model = fit_model(inputs, horizon=1, most_axes=4, quick=True, seed=0)
    system = system_of(model, data, schema, preparation, 3)
    assert system.entities.dim == 0
    assert system.entities.groups == groups_at(data, 3)
    assert system.times == data.times
    agent = data.node_ids[7]
    found = intervene(system, Do(agent, outcome=data.class_names[1]), Simulation(horizon=2, samples=20, seed=0))
    assert found.agents == data.node_ids
    assert found.intervened.nonzero().flatten().tolist() == [7]
    assert found.origin == data.times[3]
    assert found.times == (data.times[4], data.times[4] + 1)
    assert torch.equal(found.outcomes[:, 7, 1], torch.ones(2))


def test_groups_have_the_numbers_of_their_memberships():
    data = sphunc.simulate("snare", agents=30, times=5, seed=0).data
    inputs = prepare(data, schema_of(data), learn_preparation(data, schema_of(data))).inputs
    names = groups_at(data, 2)
    assert len(names) == inputs.groups[2].num_groups
    edge = data.hyperedge_ids.index(names[1])
    members = set(data.hyperedge_index[0][data.hyperedge_index[1] == edge].tolist())
    order = prepare(data, schema_of(data), learn_preparation(data, schema_of(data))).order
    found = set(order[inputs.groups[2].agent[inputs.groups[2].group == 1]].tolist())
    assert found == members


def test_beliefs_at_the_origin_are_made_once(neighbours):
    assert neighbours.past is neighbours.past
    back = replace(neighbours, origin=0)
    assert back.past.observed_steps == 0
    assert back.observed_future.observed_steps == 2
    assert back.past is not neighbours.past


def test_questions_of_dowhy_can_be_asked(chain, neighbours):
    ask = partial(intervene, chain, simulation=Simulation(horizon=2, samples=8))
    table = dowhy.sweep(ask, "a0", (-1.0,), [0.0, math.pi])
    assert table["angle"].to_list() == [0.0, math.pi]
    assert table["effect"].to_list()[0] < 1e-6
    assert table["effect"].to_list()[1] > 0.1
    ask = partial(intervene, neighbours, simulation=Simulation(horizon=1, samples=8))
    found = dowhy.average_causal_effect(ask, "a0", [CutGroup("g0")], (), neighbours.entities)
    assert abs(found["c1"] - (0.5 - 1 / (1 + math.exp(-2.0)))) < 1e-3
    assert dowhy.interventional_samples(ask, [CutGroup("g0")], neighbours.entities).shape == (8, 6)
