r"""UniGCNII (Huang and Yang, IJCAI 2021): a deep graph network lifted to hypergraphs.

Re-implementation from the published equations and the authors' repository. With
:math:`h_e = \frac{1}{|e|} \sum_{j \in e} x_j`, degrees :math:`d_i` and
:math:`d_e = \frac{1}{|e|} \sum_{j \in e} d_j`, layer l = 1, 2, ... is

.. math::
    \tilde x_i &= \frac{1}{\sqrt{d_i}} \sum_{e \ni i} \frac{1}{\sqrt{d_e}} h_e, \qquad
    \beta_l = \log(\lambda / l + 1) \\
    x_i &\leftarrow \mathrm{ReLU}\big(((1 - \beta_l) I + \beta_l W_l)
            ((1 - \alpha) \tilde x_i + \alpha x_i^{(0)})\big)

and :math:`x^{(0)} = \mathrm{ReLU}(W_0 x)`.

Deviations

- The published depth is 2 to 64, here 2 (4 and 8 are in the search space); alpha = 0.1 and lambda =
  0.5 as published.
- Memory and read-out are those of the shared network over time.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Generator, nn

from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.networks.graphs import NodeStates, mean_of_members, node_degrees
from sphunc.baselines.networks.hgnn import LayeredSettings
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import Rate, SearchSpace, Share
from sphunc.baselines.temporal import Encoding, SpatialEncoder, drop, linear
from sphunc.hypergraph import Buckets


class UniGCNIISettings(LayeredSettings):
    """Settings of UniGCNII.

    Attributes:
        restart: alpha, share of the first states in every layer.
        damping: lambda, how far the weights of early layers are from the identity.
    """

    restart: Share = 0.1
    damping: Rate = 0.5


def unified_average(x: NodeStates, groups: Buckets) -> NodeStates:
    r""":math:`\tilde x`: sums over groups, by the degrees of nodes and groups.

    Args:
        x: states of the nodes.
        groups: groups of two or more.
    """
    degree = node_degrees(groups).to(x.dtype).unsqueeze(-1)
    of_group = mean_of_members(x, groups) * mean_of_members(degree, groups).clamp(min=1.0).rsqrt()
    received = torch.zeros_like(x).index_add(0, groups.node, of_group.index_select(0, groups.hyperedge))
    return received * degree.clamp(min=1.0).rsqrt()


class UniGCNIIEncoder(SpatialEncoder):
    """Owns the weights of the layers.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of UniGCNII.
        generator: source of the initial weights.
    """

    def __init__(self, num_inputs: int, num_features: int, settings: UniGCNIISettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        self.embed = linear(num_inputs, settings.width, generator)
        self.layers = nn.ModuleList(
            linear(settings.width, settings.width, generator, bias=False) for _ in range(settings.layers)
        )

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        share = self.settings.dropout
        alpha = self.settings.restart
        first = torch.relu(self.embed(drop(panel.flat, share, generator)))
        x = first
        for depth, layer in enumerate(self.layers, start=1):
            beta = math.log(self.settings.damping / depth + 1.0)
            averaged = unified_average(drop(x, share, generator), panel.groups)
            mixed = (1.0 - alpha) * averaged + alpha * first
            x = torch.relu((1.0 - beta) * mixed + beta * layer(mixed))
        return Encoding(x)


class UniGCNII(NetworkBaseline):
    """UniGCNII at every time; see the module for equations and deviations."""

    name = "unigcnii"
    Settings = UniGCNIISettings
    Encoder = UniGCNIIEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "layers": (2, 4, 8),
    }
