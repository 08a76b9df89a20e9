r"""HyperGCN (Yadati et al., NeurIPS 2019): a group becomes the edge of its two most different members, with mediators.

Re-implementation from the published equations and the authors' repository. Layer l, :math:`Z = H^{(l)} W^{(l)}`:

.. math::
    (i_e, j_e) = \arg\max_{i,j \in e} \|Z_i - Z_j\|, \qquad
    A = \sum_e \frac{1}{2|e| - 3} \big(\{i_e, j_e\} + \sum_{k \in e \setminus \{i_e, j_e\}} \{i_e, k\} + \{j_e, k\}\big)

.. math::
    \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}, \qquad H^{(l+1)} = \mathrm{ReLU}(\hat A Z + b)

The choice of :math:`(i_e, j_e)` is not differentiated; without mediators one edge of weight :math:`1 / |e|` remains.

Deviations

- ``pairs="exact"`` (default) follows the definition above in training and test. The authors' code draws a direction
  and takes the ends of the projection, anew in every pass, at test time too, so that two passes disagree;
  ``pairs="random"`` does that in training and averages the states of 20 fixed draws at test time.
- No ReLU on what the logits are read from: the last layer is linear, so that the read-out may take either sign.
- Groups of one are dropped (their weight would be -1). Features are z-scored, not divided by their row sum.
- The layers act on each time; memory and read-out are the wrapper's.

Native influence: the mean over times and layers of :math:`\hat A_{ij}`. It is symmetric: direction is not defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.influence import accumulate
from sphunc.baselines.network import Encoding, SpatialEncoder, drop, linear
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import InfluencePeer, PeerSettings
from sphunc.baselines.settings import Count
from sphunc.hypergraph.buckets import Buckets

DRAWS = 20


@dataclass(frozen=True)
class HyperGCNSettings(PeerSettings):
    """Settings of HyperGCN.

    Attributes:
        layers: depth.
        mediators: whether the other members of a group take part.
        pairs: "exact" or "random" choice of the two most different members.
    """

    layers: Count = 2
    mediators: bool = True
    pairs: Literal["exact", "random"] = "exact"


@dataclass(frozen=True, eq=False)
class Graph:
    """Weighted undirected edges, each listed in both directions: ``source``, ``target``, ``weight`` ``[E]``."""

    source: Int[Tensor, " entry"]
    target: Int[Tensor, " entry"]
    weight: Float[Tensor, " entry"]


def expand(
    z: Float[Tensor, "node dim"], groups: Buckets, *, mediators: bool, direction: Float[Tensor, " dim"] | None = None
) -> Graph:
    r"""Replace every group by edges between its two most different members and, with mediators, to all others.

    Args:
        z: states that decide who is most different ``[T * N, D]``; not differentiated.
        groups: groups of two or more.
        mediators: whether the other members take part.
        direction: r: take the ends of :math:`Z r` in place of the most distant pair.
    """
    parts = [_edges(nodes, *_ends(z.detach()[nodes], direction), mediators) for nodes in groups.rectangles()]
    if not parts:
        empty = groups.node[:0]
        return Graph(empty, empty, z.new_zeros(0))
    first, second, weight = (torch.cat(column) for column in zip(*parts, strict=True))
    weight = weight.to(z.dtype)
    return Graph(torch.cat([first, second]), torch.cat([second, first]), torch.cat([weight, weight]))


def _ends(members: Tensor, direction: Tensor | None) -> tuple[Tensor, Tensor]:
    size = members.shape[1]
    if direction is not None:
        shadow = members @ direction
        low, high = shadow.argmin(1), shadow.argmax(1)
    else:
        distance = (members.unsqueeze(2) - members.unsqueeze(1)).square().sum(-1)
        flat = distance.flatten(1).argmax(1)
        low, high = flat // size, flat % size
    return low, torch.where(low == high, (low + 1) % size, high)


def _edges(nodes: Tensor, low: Tensor, high: Tensor, mediators: bool) -> tuple[Tensor, Tensor, Tensor]:
    groups, size = nodes.shape
    rows = torch.arange(groups, device=nodes.device)
    first, second = nodes[rows, low], nodes[rows, high]
    if not mediators:
        return first, second, torch.full((groups,), 1.0 / size, device=nodes.device)
    places = torch.arange(size, device=nodes.device).expand(groups, size)
    others = nodes[(places != low.unsqueeze(1)) & (places != high.unsqueeze(1))].view(groups, size - 2)
    left = torch.cat([first, first.repeat_interleave(size - 2), second.repeat_interleave(size - 2)])
    right = torch.cat([second, others.flatten(), others.flatten()])
    return left, right, torch.full((len(left),), 1.0 / (2 * size - 3), device=nodes.device)


def normalised(graph: Graph, num_nodes: int) -> tuple[Float[Tensor, " entry"], Float[Tensor, " node"]]:
    r"""Entries of :math:`\hat A` on the edges of the graph, and on the diagonal ``[T * N]``."""
    degree = torch.ones(num_nodes, dtype=graph.weight.dtype, device=graph.weight.device)
    degree = degree.index_add(0, graph.target, graph.weight)
    root = degree.rsqrt()
    return graph.weight * root[graph.source] * root[graph.target], degree.reciprocal()


def propagate(z: Float[Tensor, "node dim"], graph: Graph) -> Float[Tensor, "node dim"]:
    r""":math:`\hat A Z`."""
    entries, diagonal = normalised(graph, z.shape[0])
    messages = z.index_select(0, graph.source) * entries.unsqueeze(-1)
    return (z * diagonal.unsqueeze(-1)).index_add(0, graph.target, messages)


class HyperGCNEncoder(SpatialEncoder):
    """Owns the weights of the layers."""

    directed = False
    influence_kind = "mean normalised adjacency"

    def __init__(self, num_inputs: int, settings: HyperGCNSettings, generator: torch.Generator) -> None:
        super().__init__()
        sizes = [num_inputs, *[settings.width] * settings.layers]
        self.width, self.dropout = settings.width, settings.dropout
        self.mediators, self.pairs = settings.mediators, settings.pairs
        self.layers = nn.ModuleList(linear(a, b, generator) for a, b in pairwise(sizes))

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode every time on its own groups."""
        if self.pairs == "exact":
            return Encoding(self._pass(panel, generator, None)[0])
        if generator is not None:
            return Encoding(self._pass(panel, generator, generator)[0])
        fixed = torch.Generator(device=panel.inputs.device).manual_seed(0)
        return Encoding(torch.stack([self._pass(panel, None, fixed)[0] for _ in range(DRAWS)]).mean(0))

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"]:
        r"""Mean over times and layers of :math:`\hat A_{ij}`."""
        total = panel.inputs.new_zeros(candidates.shape[1])
        fixed = torch.Generator(device=panel.inputs.device).manual_seed(0) if self.pairs == "random" else None
        draws = 1 if fixed is None else DRAWS
        for _ in range(draws):
            for graph in self._pass(panel, None, fixed)[1]:
                entries, _ = normalised(graph, panel.groups.num_nodes)
                pairs = torch.stack([graph.source, graph.target]) % panel.num_agents
                total = total + accumulate(pairs, entries, candidates, panel.num_agents)
        return total / (draws * len(self.layers) * panel.num_times)

    def _pass(
        self, panel: Panel, dropping: torch.Generator | None, drawing: torch.Generator | None
    ) -> tuple[Tensor, list[Graph]]:
        h, graphs = panel.flat, []
        for depth, layer in enumerate(self.layers):
            assert isinstance(layer, nn.Linear)
            z = drop(h, self.dropout, dropping) @ layer.weight.mT
            direction = None if drawing is None else torch.rand(z.shape[1], generator=drawing, device=z.device)
            graphs.append(expand(z, panel.groups, mediators=self.mediators, direction=direction))
            h = propagate(z, graphs[-1]) + layer.bias
            h = torch.relu(h) if depth < len(self.layers) - 1 else h
        return h, graphs


class HyperGCN(InfluencePeer):
    """HyperGCN with mediators at every time, in the shared wrapper; see the module for equations and deviations."""

    name = "hypergcn"
    Settings = HyperGCNSettings
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (1e-3, 5e-3, 1e-2, 5e-2),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "mediators": (True, False),
    }
    settings: HyperGCNSettings

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained layers."""
        return HyperGCNEncoder(num_inputs, self.settings, generator)
