r"""HyperGCN (Yadati et al., NeurIPS 2019): a group becomes an edge between two members.

Re-implementation from the published equations and the authors' repository. Layer l,
:math:`Z = H^{(l)} W^{(l)}`:

.. math::
    (i_e, j_e) = \arg\max_{i,j \in e} \|Z_i - Z_j\|, \qquad
    A = \sum_e \frac{1}{2|e| - 3} \big(\{i_e, j_e\}
        + \sum_{k \in e \setminus \{i_e, j_e\}} \{i_e, k\} + \{j_e, k\}\big)

.. math::
    \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}, \qquad
    H^{(l+1)} = \mathrm{ReLU}(\hat A Z + b)

The members k are mediators; without them one edge of weight :math:`1 / |e|` remains. The choice of
:math:`(i_e, j_e)` is not differentiated.

Deviations

- ``pairs="exact"`` (default) follows the definition above in training and test. The authors' code
  draws a direction and takes the ends of the projection, anew in every epoch, at test time too, so
  that two forecasts disagree; ``pairs="random"`` does that in training and averages the states of
  20 fixed draws at test time.
- No ReLU on what the logits are read from: the last layer is linear, so that the read-out may take
  either sign.
- Groups of one are dropped (their weight would be -1). Features are z-scored, not divided by their
  row sum.
- The layers act on each time; memory and read-out are those of the shared network over time.

Native influence: the mean over times and layers of :math:`\hat A_{ij}`. It is symmetric: direction
is not defined.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.baseline import InfluenceBaseline
from sphunc.baselines.influence import accumulate
from sphunc.baselines.networks.graphs import NodeStates, WeightedGraph, convolve, normalised
from sphunc.baselines.panel import Panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace
from sphunc.baselines.temporal import Encoding, LinkScores, SpatialEncoder, drop, linear
from sphunc.hypergraph import Buckets

DRAWS = 20
"""Fixed projections that are averaged at test time."""
Members = Int[Tensor, "group size"]
Places = Int[Tensor, " group"]


class HyperGCNSettings(NetworkSettings):
    """Settings of HyperGCN.

    Attributes:
        layers: depth.
        mediators: whether the other members of a group take part.
        pairs: "exact" or "random" choice of the two most different members.
    """

    layers: Count = 2
    mediators: bool = True
    pairs: Literal["exact", "random"] = "exact"


def expand(
    z: NodeStates, groups: Buckets, *, mediators: bool, direction: Float[Tensor, " dim"] | None = None
) -> WeightedGraph:
    r"""Replace every group by edges between its two most different members, and to all others.

    Args:
        z: states that decide who is most different ``[T * N, D]``; not differentiated.
        groups: groups of two or more.
        mediators: whether the other members take part.
        direction: r: take the ends of :math:`Z r` in place of the most distant pair.
    """
    pairs = [groups.node.new_zeros(2, 0)]
    weights = [z.new_zeros(0)]
    for members in groups.rectangles():
        low, high = most_different(z.detach()[members], direction)
        edges = group_edges(members, low, high, mediators)
        size = members.shape[1]
        weight = 1.0 / size
        if mediators:
            weight = 1.0 / (2 * size - 3)
        pairs.append(edges)
        weights.append(z.new_full((edges.shape[1],), weight))
    one_way = torch.cat(pairs, 1)
    weight = torch.cat(weights)
    return WeightedGraph(torch.cat([one_way, one_way.flip(0)], 1), torch.cat([weight, weight]))


def most_different(
    states: Float[Tensor, "group size dim"], direction: Float[Tensor, " dim"] | None
) -> tuple[Places, Places]:
    """Places of the two most different members of each group; never the same place twice.

    Args:
        states: of the members.
        direction: to project the states on, or None for the largest distance.
    """
    size = states.shape[1]
    if direction is None:
        distance = (states.unsqueeze(2) - states.unsqueeze(1)).square().sum(-1)
        largest = distance.flatten(1).argmax(1)
        low = largest // size
        high = largest % size
    else:
        projection = states @ direction
        low = projection.argmin(1)
        high = projection.argmax(1)
    return low, torch.where(low == high, (low + 1) % size, high)


def group_edges(members: Members, low: Places, high: Places, mediators: bool) -> Int[Tensor, "2 edge"]:
    """Edges of groups of one size, each in one direction.

    Args:
        members: nodes.
        low: place of one of the most different members.
        high: place of the other.
        mediators: whether the other members take part.
    """
    count, size = members.shape
    rows = torch.arange(count, device=members.device)
    first = members[rows, low]
    second = members[rows, high]
    if not mediators:
        return torch.stack([first, second])
    places = torch.arange(size, device=members.device).expand(count, size)
    is_mediator = (places != low.unsqueeze(1)) & (places != high.unsqueeze(1))
    others = members[is_mediator]
    left = torch.cat([first, first.repeat_interleave(size - 2), second.repeat_interleave(size - 2)])
    right = torch.cat([second, others, others])
    return torch.stack([left, right])


class HyperGCNEncoder(SpatialEncoder):
    """Owns the weights of the layers.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of HyperGCN.
        generator: source of the initial weights.
    """

    directed = False
    influence_kind = "mean normalised adjacency"

    def __init__(self, num_inputs: int, num_features: int, settings: HyperGCNSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        sizes = [num_inputs, *[settings.width] * settings.layers]
        self.layers = nn.ModuleList(linear(a, b, generator) for a, b in pairwise(sizes))

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout and projections; None (evaluation) drops nothing.
        """
        if generator is not None:
            return Encoding(self._convolve(panel, generator, generator)[0])
        states = [state for state, _ in self._evaluations(panel)]
        return Encoding(torch.stack(states).mean(0))

    def influence(self, panel: Panel, candidates: Links) -> LinkScores:
        r"""Mean over times and layers of :math:`\hat A_{ij}`.

        Args:
            panel: all times that may be read.
            candidates: links, source and target.
        """
        total = panel.inputs.new_zeros(candidates.shape[1])
        evaluations = self._evaluations(panel)
        for _, graphs in evaluations:
            for graph in graphs:
                pairs = graph.pairs % panel.num_agents
                total = total + accumulate(pairs, graph.weight, candidates, panel.num_agents)
        return total / (len(evaluations) * len(self.layers) * panel.num_times)

    def _evaluations(self, panel: Panel) -> list[tuple[Tensor, list[WeightedGraph]]]:
        """States and graphs at test time: once, or for each of the fixed projections."""
        if self.settings.pairs == "exact":
            return [self._convolve(panel, None, None)]
        fixed = Generator(device=panel.inputs.device).manual_seed(0)
        return [self._convolve(panel, None, fixed) for _ in range(DRAWS)]

    def _convolve(
        self, panel: Panel, dropping: Generator | None, drawing: Generator | None
    ) -> tuple[Tensor, list[WeightedGraph]]:
        """States of the last layer, and the normalised graph of every layer."""
        h = panel.flat
        graphs = []
        for depth, layer in enumerate(self.layers):
            assert isinstance(layer, nn.Linear)
            z = drop(h, self.settings.dropout, dropping) @ layer.weight.mT
            direction = None
            if self.settings.pairs == "random":
                direction = torch.rand(z.shape[1], generator=drawing, device=z.device)
            graph = expand(z, panel.groups, mediators=self.settings.mediators, direction=direction)
            adjacency = normalised(graph, len(z))
            graphs.append(adjacency[0])
            h = convolve(z, adjacency) + layer.bias
            if depth < len(self.layers) - 1:
                h = torch.relu(h)
        return h, graphs


class HyperGCN(InfluenceBaseline):
    """HyperGCN with mediators at every time; see the module for equations and deviations."""

    name = "hypergcn"
    Settings = HyperGCNSettings
    Encoder = HyperGCNEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (1e-3, 5e-3, 1e-2, 5e-2),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "mediators": (True, False),
    }
