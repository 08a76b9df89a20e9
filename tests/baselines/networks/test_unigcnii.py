"""UniGCNII against its equations."""

import math

import pytest
import torch

from sphunc.baselines.networks.unigcnii import UniGCNIIEncoder, UniGCNIISettings, unified_average
from sphunc.hypergraph import group_by_size


def test_three_agents_by_hand() -> None:
    index = torch.tensor([[0, 1, 2, 1, 2], [0, 0, 0, 1, 1]])
    groups = group_by_size(index, num_nodes=4, num_hyperedges=2)
    x = torch.tensor([[0.0], [1.0], [5.0], [7.0]])
    # Degrees 1, 2, 2: the trio has mean 2 and degree 5/3, the pair mean 3 and degree 2.
    trio = 2 / math.sqrt(5 / 3)
    pair = 3 / math.sqrt(2)
    wanted = [trio, (trio + pair) / math.sqrt(2), (trio + pair) / math.sqrt(2), 0.0]
    assert unified_average(x, groups).flatten().tolist() == pytest.approx(wanted)


def test_layers_by_the_equation(panel) -> None:
    settings = UniGCNIISettings(width=5, restart=0.2, damping=0.7)
    encoder = UniGCNIIEncoder(panel.num_inputs, 1, settings, torch.Generator().manual_seed(0))
    first = torch.relu(encoder.embed(panel.flat))
    x = first
    for depth, layer in enumerate(encoder.layers, start=1):
        beta = math.log(0.7 / depth + 1)
        mixed = 0.8 * unified_average(x, panel.groups) + 0.2 * first
        x = torch.relu(mixed @ ((1 - beta) * torch.eye(5) + beta * layer.weight.mT))
    assert torch.allclose(encoder(panel).state, x, atol=1e-5)
