r"""HGNN (Feng et al., AAAI 2019): spectral convolution on a hypergraph.

Re-implementation from the published equation. With the incidence matrix H, degrees
:math:`D_v` of agents and :math:`D_e` of groups, at every time

.. math:: X^{(l+1)} = \mathrm{ReLU}\big(D_v^{-1/2} H D_e^{-1} H^\top D_v^{-1/2} X^{(l)} \Theta + b\big)

Deviations

- Groups weigh 1 (W = I), as in the published code.
- The last layer is linear, so that the read-out may take either sign. Memory and read-out are those
  of the shared network over time, which also gets an agent's own inputs: one who meets nobody has
  the state b.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import torch
from torch import Generator, nn

from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.networks.graphs import NodeStates, mean_of_members, node_degrees
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace
from sphunc.baselines.temporal import Encoding, SpatialEncoder, drop, linear
from sphunc.hypergraph import Buckets


class LayeredSettings(NetworkSettings):
    """Settings of a network in layers.

    Attributes:
        layers: depth.
    """

    layers: Count = 2


def spectral_average(x: NodeStates, groups: Buckets) -> NodeStates:
    r""":math:`D_v^{-1/2} H D_e^{-1} H^\top D_v^{-1/2} x`.

    Args:
        x: states of the nodes.
        groups: groups of two or more.
    """
    scale = node_degrees(groups).clamp(min=1).to(x.dtype).rsqrt().unsqueeze(-1)
    of_group = mean_of_members(x * scale, groups)
    received = torch.zeros_like(x).index_add(0, groups.node, of_group.index_select(0, groups.hyperedge))
    return received * scale


class HGNNEncoder(SpatialEncoder):
    """Owns the weights of the layers.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of HGNN.
        generator: source of the initial weights.
    """

    def __init__(self, num_inputs: int, num_features: int, settings: LayeredSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.dropout = settings.dropout
        sizes = [num_inputs, *[settings.width] * settings.layers]
        self.layers = nn.ModuleList(linear(a, b, generator) for a, b in pairwise(sizes))

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        x = panel.flat
        for depth, layer in enumerate(self.layers):
            if depth > 0:
                x = torch.relu(x)
            assert isinstance(layer, nn.Linear)
            z = drop(x, self.dropout, generator) @ layer.weight.mT
            x = spectral_average(z, panel.groups) + layer.bias
        return Encoding(x)


class HGNN(NetworkBaseline):
    """HGNN at every time; see the module for equation and deviations."""

    name = "hgnn"
    Settings = LayeredSettings
    Encoder = HGNNEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "layers": (1, 2),
    }
