"""HGNN against its equation, by hand and in dense form."""

import pytest
import torch

from sphunc.baselines.networks.hgnn import HGNNEncoder, LayeredSettings, spectral_average
from sphunc.hypergraph import group_by_size


@pytest.fixture
def groups():
    """{0, 1, 2} and {1, 2}; 3 meets nobody."""
    index = torch.tensor([[0, 1, 2, 1, 2], [0, 0, 0, 1, 1]])
    return group_by_size(index, num_nodes=4, num_hyperedges=2)


def test_three_agents_by_hand(groups) -> None:
    # Degrees 1, 2, 2, so that x / sqrt(d) = 2, 1, 3 for x = 2, sqrt 2, 3 sqrt 2: means 2 of the trio, 2 of the pair.
    root = 2.0**0.5
    x = torch.tensor([[2.0], [root], [3 * root], [7.0]])
    got = spectral_average(x, groups).flatten().tolist()
    assert got == pytest.approx([2.0, 4 / root, 4 / root, 0.0])


def test_two_layers_in_dense_form(panel) -> None:
    settings = LayeredSettings(width=5)
    encoder = HGNNEncoder(panel.num_inputs, 1, settings, torch.Generator().manual_seed(0))
    nodes = len(panel.flat)
    incidence = torch.zeros(nodes, panel.groups.num_hyperedges)
    incidence[panel.groups.node, panel.groups.hyperedge] = 1.0
    scale = incidence.sum(1).clamp(min=1).rsqrt().diag()
    average = scale @ incidence @ incidence.sum(0).clamp(min=1).reciprocal().diag() @ incidence.T @ scale
    first, second = encoder.layers
    hidden = torch.relu(average @ panel.flat @ first.weight.mT + first.bias)
    wanted = average @ hidden @ second.weight.mT + second.bias
    assert torch.allclose(encoder(panel).state, wanted, atol=1e-5)
