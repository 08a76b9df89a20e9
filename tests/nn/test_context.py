from functools import partial

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph.buckets import group_by_size
from sphunc.nn.attention import angular_attention, angular_attention_with_self, dot_product_attention
from sphunc.nn.context import AngularLayer, Context, DotProductLayer
from sphunc.nn.projection import normalise

GROUPS = group_by_size(torch.tensor([[0, 1, 2, 2, 3, 4], [0, 0, 0, 1, 1, 2]]), num_nodes=6, num_hyperedges=3)
LAYERS = [
    pytest.param(AngularLayer, id="others"),
    pytest.param(partial(AngularLayer, with_self=True), id="with self"),
    pytest.param(DotProductLayer, id="dot product"),
]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def directions(dim=4):
    return normalise(torch.randn(6, dim, generator=generator()))


@pytest.mark.parametrize("layer_type", LAYERS)
def test_layer_is_its_equation(layer_type):
    layer, h = layer_type(4, generator=generator(1)), directions()
    if layer_type is DotProductLayer:
        h = 3 * h
        pooled = dot_product_attention(h, GROUPS)
        expected = torch.stack([h[i] + (layer.weight @ pooled[i]).clamp(min=0) for i in range(6)])
    else:
        attend = angular_attention_with_self if layer.with_self else angular_attention
        pooled = attend(h, torch.tensor(4.0), GROUPS)
        raw = torch.stack([h[i] + (layer.weight @ pooled[i]).clamp(min=0) for i in range(6)])
        expected = raw / raw.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(h, GROUPS), expected)


@pytest.mark.parametrize("layer_type", LAYERS)
def test_agents_without_company_keep_their_direction(layer_type):
    layer, h = layer_type(4, generator=generator(1)), directions()
    torch.testing.assert_close(layer(h, GROUPS)[4:], h[4:])


@pytest.mark.parametrize("layer_type", LAYERS)
def test_every_parameter_gets_a_gradient(layer_type):
    layer = layer_type(4, generator=generator(1))
    (layer(directions(), GROUPS)[:, 0]).sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in layer.parameters())


@pytest.mark.parametrize("layer_type", LAYERS)
def test_dropout_acts_in_training_only_and_is_repeatable(layer_type):
    layer, h = layer_type(4, dropout=0.5, generator=generator(1)), directions()
    a, b, c = (layer(h, GROUPS, generator=generator(s)) for s in (0, 0, 1))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert torch.equal(layer.eval()(h, GROUPS), layer_type(4, generator=generator(1))(h, GROUPS))


def test_training_with_dropout_asks_for_a_generator():
    with pytest.raises(ArgumentError, match=r"AngularLayer trains with dropout=0\.5 but got no generator"):
        AngularLayer(4, dropout=0.5)(directions(), GROUPS)


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_impossible_dropout_is_refused(rate):
    with pytest.raises(ArgumentError, match=f"dropout is {rate}"):
        AngularLayer(4, dropout=rate)


def test_context_is_its_layers_in_order():
    first, second = AngularLayer(4, generator=generator(1)), AngularLayer(4, generator=generator(2))
    h = directions()
    assert torch.equal(Context(first, second)(h, GROUPS), second(first(h, GROUPS), GROUPS))
    assert Context()(h, GROUPS) is h


def test_renaming_agents_renames_the_result():
    context, h = Context(*(AngularLayer(4, generator=generator(s)) for s in (1, 2, 3))), directions()
    name_of = torch.tensor([3, 0, 5, 1, 2, 4])
    index = torch.stack([name_of[GROUPS.node], GROUPS.hyperedge])
    renamed = group_by_size(index, num_nodes=6, num_hyperedges=3)
    after = context(torch.empty_like(h).index_copy(0, name_of, h), renamed)
    torch.testing.assert_close(after[name_of], context(h, GROUPS))
