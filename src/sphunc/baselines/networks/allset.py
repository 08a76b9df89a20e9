r"""AllSetTransformer (Chien et al., ICLR 2022): attention over members, then over groups.

Re-implementation from the published equations. Agents to groups, and groups to agents, pool a set S
by a learned seed :math:`\theta` (one per head):

.. math::
    a_s &= \mathrm{softmax}_{s \in S}\, \mathrm{LeakyReLU}(\theta^\top K s), \qquad
    y = \mathrm{LN}\big(\theta + \textstyle\sum_s a_s V s\big) \\
    \mathrm{PMA}(S) &= \mathrm{LN}\big(y + \mathrm{ReLU}(\mathrm{MLP}(y))\big), \qquad
    x_i \leftarrow \mathrm{ReLU}(\mathrm{PMA}(\{h_e : e \ni i\})), \quad
    h_e = \mathrm{ReLU}(\mathrm{PMA}(\{x_j : j \in e\}))

LeakyReLU (slope 0.2) is in the authors' code, not in the paper.

Deviations

- K and V are linear, not perceptrons; one layer (agents, groups, agents), of which the authors
  tune the number.
- Inputs are embedded first. An agent who meets nobody pools an empty set: its state is what the
  seed alone gives. Memory and read-out are those of the shared network over time.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import model_validator
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Int
from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.networks.graphs import segment_softmax
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace
from sphunc.baselines.temporal import Encoding, SpatialEncoder, drop, linear, parameter


class AllSetSettings(NetworkSettings):
    """Settings of AllSetTransformer.

    Attributes:
        layers: passes from agents to groups and back.
        heads: of the attention; they divide the width.
    """

    layers: Count = 1
    heads: Count = 4

    @model_validator(mode="after")
    def _heads_divide_width(self) -> AllSetSettings:
        if self.width % self.heads:
            raise ValueError(f"heads is {self.heads}, which does not divide width, {self.width}; choose one that does")
        return self


class SetPooling(nn.Module):
    """Pooling by multi-head attention from a learned seed.

    Args:
        settings: of AllSetTransformer.
        generator: source of the initial weights.
    """

    def __init__(self, settings: AllSetSettings, generator: Generator) -> None:
        super().__init__()
        width = settings.width
        self.heads = settings.heads
        self.seed = parameter((self.heads, width // self.heads), (width // self.heads) ** -0.5, generator)
        self.key = linear(width, width, generator)
        self.value = linear(width, width, generator)
        self.hidden = linear(width, width, generator)
        self.out = linear(width, width, generator)
        self.norm = nn.LayerNorm(width)
        self.final_norm = nn.LayerNorm(width)

    def forward(
        self, x: Float[Tensor, "item width"], item: Int[Tensor, " pair"], pool: Int[Tensor, " pair"], num_pools: int
    ) -> Float[Tensor, "pool width"]:
        """Return the pooled state of every set.

        Args:
            x: states of the items.
            item: of every pair of item and set.
            pool: set of every pair.
            num_pools: sets, empty ones included.
        """
        by_head = (*x.shape[:1], self.heads, -1)
        score = nn.functional.leaky_relu((self.key(x).view(by_head) * self.seed).sum(-1), 0.2)
        weight = segment_softmax(score.index_select(0, item), pool, num_pools)
        sent = self.value(x).view(by_head).index_select(0, item) * weight.unsqueeze(-1)
        total = sent.new_zeros(num_pools, *self.seed.shape).index_add(0, pool, sent)
        y = self.norm((total + self.seed).flatten(1))
        return self.final_norm(y + torch.relu(self.out(torch.relu(self.hidden(y)))))


class AllSetEncoder(SpatialEncoder):
    """Owns the embedding and the poolings.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of AllSetTransformer.
        generator: source of the initial weights.
    """

    def __init__(self, num_inputs: int, num_features: int, settings: AllSetSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.dropout = settings.dropout
        self.embed = linear(num_inputs, settings.width, generator)
        self.poolings = nn.ModuleList(SetPooling(settings, generator) for _ in range(2 * settings.layers))

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        node = panel.groups.node
        # Groups of two or more alone: every time has many others whose states nobody would read.
        edges, edge = torch.unique(panel.groups.hyperedge, return_inverse=True)
        x = torch.relu(self.embed(drop(panel.flat, self.dropout, generator)))
        for depth, pooling in enumerate(self.poolings):
            x = drop(x, self.dropout, generator)
            if depth % 2 == 0:
                x = torch.relu(pooling(x, node, edge, len(edges)))
            else:
                x = torch.relu(pooling(x, edge, node, len(panel.flat)))
        return Encoding(x)


class AllSetTransformer(NetworkBaseline):
    """AllSetTransformer at every time; see the module for equations and deviations."""

    name = "allset"
    Settings = AllSetSettings
    Encoder = AllSetEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "layers": (1, 2),
    }
