"""Systems from data."""

import torch

import sphunc
from sphunc.forecasting.schema import schema_of
from sphunc.interventions import Do
from sphunc.interventions.asking import groups_at, system_of
from sphunc.interventions.what_if import intervene
from sphunc.model.fitting import fit_model
from sphunc.model.preparation import learn_preparation, prepare


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
    found = intervene(system, Do(agent, outcome=data.class_names[1]), horizon=2, samples=20, seed=0)
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
