"""ED-HNN against its equations."""

import pytest
import torch

from sphunc.baselines.networks.edhnn import EDHNNEncoder, EDHNNSettings, TwoLayers
from sphunc.baselines.panel import make_panel, statistics_of


class Sum(torch.nn.Module):
    """Adds what enters."""

    def forward(self, x):
        return x.sum(-1, keepdim=True)


def test_a_perceptron_normalises_its_hidden_units() -> None:
    layers = TwoLayers(2, 2, torch.Generator())
    with torch.no_grad():
        layers.hidden.weight.copy_(torch.eye(2))
        layers.out.weight.copy_(torch.eye(2))
    # ReLU gives (3, 0), of mean and deviation 1.5: (1, -1).
    assert layers(torch.tensor([[3.0, -2.0]])).flatten().tolist() == pytest.approx([1.0, -1.0], abs=1e-4)


def test_one_layer_by_hand(tiny, bare) -> None:
    # With phi(x) = x, rho(x, m) = x + m and psi = identity (all on numbers of 0 or more): a trio of 1, 3, 2 has mean
    # 2, the pair of 3 and 2 has 2.5; agent b gets ((3 + 2) + (3 + 2.5)) / 2 = 5.25, half of it and half of its own 3.
    of = make_panel(tiny, statistics_of(tiny, 2), 2)
    inputs = torch.tensor([[1.0], [3.0], [2.0], [6.0]]).repeat(2, 1, 1)
    encoder = EDHNNEncoder(1, 1, EDHNNSettings(width=1, layers=1), torch.Generator())
    encoder.phi = torch.nn.Identity()
    encoder.rho = Sum()
    with torch.no_grad():
        encoder.embed.weight.fill_(1.0)
        encoder.psi.weight.fill_(1.0)
    got = encoder(bare(inputs, of)).state.flatten()
    assert got[:4].tolist() == pytest.approx([(3 + 1) / 2, (5.25 + 3) / 2, ((4 + 4.5) / 2 + 2) / 2, 3.0])
    assert got[4:].tolist() == pytest.approx([0.5, 1.5, 1.0, 3.0])  # nobody meets at time 1


def test_members_of_a_group_get_different_messages(panel) -> None:
    encoder = EDHNNEncoder(panel.num_inputs, 1, EDHNNSettings(width=4, layers=1, restart=0.0), torch.Generator())
    first = panel.groups.hyperedge == panel.groups.hyperedge[0]
    members = panel.groups.node[first]
    assert len(encoder(panel).state[members].unique(dim=0)) == len(members)
