"""Data as the model reads it: units of numbers, order of agents, limits of features."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.forecasting.schema import schema_of
from sphunc.model.preparation import learn_preparation, places, prepare


@pytest.fixture(scope="module")
def data():
    return sphunc.simulate("snare", agents=12, times=4, seed=0).data


def test_agents_are_read_in_the_order_of_their_ids_and_restored(data):
    shuffled = replace(data, node_ids=tuple(reversed(data.node_ids)), influence=None, influence_kind="")
    schema = schema_of(shuffled)
    prepared = prepare(shuffled, schema, learn_preparation(shuffled, schema))
    assert prepared.order.tolist() == list(reversed(range(12)))
    assert torch.equal(prepared.restore(prepared.inputs.x[0]), shuffled.x[0].double())
    assert torch.equal(places(shuffled.node_ids, schema.agents, prepared.order), torch.arange(12))


def test_numbers_are_standardised_where_they_were_observed(data):
    y = torch.where(data.y_mask.unsqueeze(-1), 50.0 + data.y.unsqueeze(-1).float(), 0.0)
    numbers = replace(data, y=y, class_names=())
    schema = schema_of(numbers)
    prepared = prepare(numbers, schema, learn_preparation(numbers, schema))
    observed = prepared.inputs.y[prepared.inputs.y_mask]
    torch.testing.assert_close(observed.mean(), torch.zeros((), dtype=torch.float64), atol=1e-6, rtol=0.0)
    assert float(prepared.inputs.y[~prepared.inputs.y_mask].abs().sum()) == 0.0


def test_unseen_agents_have_no_place(data):
    found = places(("nobody", *data.node_ids[1:]), data.node_ids, torch.arange(12))
    assert found.tolist() == [-1, *range(1, 12)]


def test_constant_numbers_do_not_divide_by_zero(data):
    y = torch.where(data.y_mask.unsqueeze(-1), 7.0, 0.0).expand(-1, -1, 1).contiguous()
    numbers = replace(data, y=y, class_names=())
    preparation = learn_preparation(numbers, schema_of(numbers))
    assert preparation.scale.tolist() == [1.0]
