r"""SS-HGNN (Sun et al., TKDE 2023), a **reconstruction**: there is no public code, and we know the abstract only.

Known from the abstract: groups are social environments, joined in a line graph; influence flows from user to user, user
to environment, environment to user and environment to environment; embeddings are learned without labels. The layer
below is our reading of that. With incidence B, line graph :math:`\hat L` (:mod:`~sphunc.baselines.line_graph`), clique
walk :math:`P = D_v^{-1} B D_e^{-1} B^\top` without its diagonal, and :math:`z_e` the mean of the members' :math:`h_i`:

.. math::
    m_e &= \textstyle\sum_{i \in e} a_{ie} W_1 h_i, \quad
        a_{ie} = \mathrm{softmax}_{i \in e}\, \mathrm{LeakyReLU}(a_1^\top [W_1 h_i \| W_z z_e])
        && \text{user to group} \\
    z'_e &= \sigma\big(W_2 m_e + \textstyle\sum_f \hat L_{ef} W_3 m_f\big) && \text{group to group} \\
    n_i &= \textstyle\sum_{e \ni i} b_{ie} W_4 z'_e, \quad
        b_{ie} = \mathrm{softmax}_{e \ni i}\, \mathrm{LeakyReLU}(a_2^\top [W_4 z'_e \| W_1 h_i])
        && \text{group to user} \\
    c_i &= \textstyle\sum_j P_{ij} W_5 h_j && \text{user to user} \\
    h'_i &= \mathrm{LN}(\sigma(W_0 h_i + n_i + c_i))

with several heads, each on its part of the width, and ReLU for :math:`\sigma`. Objective: NLL + weight ·
:math:`L_{mem}` (:mod:`~sphunc.baselines.membership`).

Deviations and choices

- Everything beyond the four flows, the line graph and training without labels is ours.
- ``task_free=True`` is closest to the abstract: the layers learn from the membership task alone, and only the wrapper
  sees labels. Both train side by side, not one after the other. The default trains everything jointly.
- Of the three self-supervised terms one could write (membership, user-user, group-group), membership is kept.
- Layers act on each time; memory and read-out are the wrapper's. Groups of one are dropped.

Native influence (directed): the mean over times, layers and heads of
:math:`S_{ij} = \sum_{e \ni i,j} b_{ie} a_{je} + \frac12 \sum_{e \ni i, f \ni j} b_{ie} \hat L_{ef} a_{jf}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.line_graph import LineGraph, flow, line_graph_of
from sphunc.baselines.membership import false_members, membership_loss
from sphunc.baselines.network import Encoding, SpatialEncoder, drop, linear, parameter
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import InfluencePeer, PeerSettings
from sphunc.baselines.settings import Count, Weight
from sphunc.baselines.targets import Targets
from sphunc.errors import ArgumentError
from sphunc.hypergraph.buckets import Buckets


@dataclass(frozen=True)
class SSHGNNSettings(PeerSettings):
    """Settings of SS-HGNN.

    Attributes:
        layers: depth.
        heads: parts of the width with attention of their own.
        membership: weight of the membership task.
        task_free: whether the layers learn from the membership task alone.
    """

    layers: Count = 2
    heads: Count = 4
    membership: Weight = 0.1
    task_free: bool = False

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ArgumentError(f"heads is {self.heads}, which does not divide width {self.width}; choose a divisor")


@dataclass(frozen=True, eq=False)
class Flows:
    """What one layer makes: agents ``[T * N, W]``, groups ``[M, W]``, attention up and down ``[nnz, heads]``."""

    h: Tensor
    z: Tensor
    up: Tensor
    down: Tensor


def segment_softmax(
    score: Float[Tensor, "row head"], segment: Int[Tensor, " row"], num_segments: int
) -> Float[Tensor, "row head"]:
    """Softmax over the rows of each segment."""
    index = segment.unsqueeze(-1).expand_as(score)
    top = score.detach().new_full((num_segments, score.shape[1]), -torch.inf)
    top = top.scatter_reduce(0, index, score.detach(), "amax")
    weight = (score - top.index_select(0, segment)).exp()
    total = torch.zeros_like(top).index_add(0, segment, weight)
    return weight / total.index_select(0, segment)


def clique_walk(x: Float[Tensor, "node dim"], groups: Buckets) -> Float[Tensor, "node dim"]:
    r""":math:`P x` without the diagonal: the mean over groups of the mean over members, minus the agent's own part."""
    node, group, share = groups.node, groups.hyperedge, groups.share.to(x.dtype)
    size = torch.bincount(group, minlength=groups.num_hyperedges).to(x.dtype)
    mean = x.new_zeros(groups.num_hyperedges, x.shape[1]).index_add(0, group, x.index_select(0, node))
    mean = mean / size.clamp(min=1).unsqueeze(-1)
    own = x.new_zeros(len(x)).index_add(0, node, share / size[group])
    return (
        torch.zeros_like(x).index_add(0, node, mean.index_select(0, group) * share.unsqueeze(-1))
        - own.unsqueeze(-1) * x
    )


class SSHGNNLayer(nn.Module):
    """Owns the weights of the four flows."""

    def __init__(self, width: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.own = linear(width, width, generator)
        self.member, self.mean, self.group, self.line, self.back, self.walk = (
            linear(width, width, generator, bias=False) for _ in range(6)
        )
        deviation = (width // heads) ** -0.5
        self.attend_up = parameter((2, heads, width // heads), deviation, generator)
        self.attend_down = parameter((2, heads, width // heads), deviation, generator)
        self.norm = nn.LayerNorm(width)

    def forward(self, h: Float[Tensor, "node dim"], groups: Buckets, line: LineGraph) -> Flows:
        """Let influence flow once."""
        node, group, M = groups.node, groups.hyperedge, groups.num_hyperedges
        size = torch.bincount(group, minlength=M).clamp(min=1).to(h.dtype)
        z = h.new_zeros(M, h.shape[1]).index_add(0, group, h.index_select(0, node)) / size.unsqueeze(-1)
        sent = self.member(h)
        up = self._attention(self.attend_up, sent, self.mean(z), (node, group), group, M)
        message = self._gather(sent.index_select(0, node), up, group, M)
        z = torch.relu(self.group(message) + line.spread(self.line(message)))
        back = self.back(z)
        down = self._attention(self.attend_down, back, sent, (group, node), node, len(h))
        received = self._gather(back.index_select(0, group), down, node, len(h))
        total = self.own(h) + received + self.walk(clique_walk(h, groups))
        return Flows(self.norm(torch.relu(total)), z, up, down)

    def _attention(
        self, weight: Tensor, first: Tensor, second: Tensor, ends: tuple[Tensor, Tensor], segment: Tensor, count: int
    ) -> Tensor:
        left = (first.unflatten(-1, (self.heads, -1)) * weight[0]).sum(-1)
        right = (second.unflatten(-1, (self.heads, -1)) * weight[1]).sum(-1)
        score = nn.functional.leaky_relu(left.index_select(0, ends[0]) + right.index_select(0, ends[1]), 0.2)
        return segment_softmax(score, segment, count)

    def _gather(self, values: Tensor, attention: Tensor, segment: Tensor, count: int) -> Tensor:
        weighted = (values.unflatten(-1, (self.heads, -1)) * attention.unsqueeze(-1)).flatten(-2)
        return values.new_zeros(count, values.shape[-1]).index_add(0, segment, weighted)


class SSHGNNEncoder(SpatialEncoder):
    """Projection, layers, and the bilinear form of the membership task."""

    influence_kind = "attention through shared and adjoining groups"

    def __init__(self, num_inputs: int, settings: SSHGNNSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.width, self.dropout, self.heads = settings.width, settings.dropout, settings.heads
        self.membership, self.task_free = settings.membership, settings.task_free
        self.project = linear(num_inputs, settings.width, generator)
        self.layers = nn.ModuleList(
            SSHGNNLayer(settings.width, settings.heads, generator) for _ in range(settings.layers)
        )
        self.theta = parameter((settings.width, settings.width), settings.width**-1.0, generator)

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Encoding:
        """Encode every time on its own groups."""
        flows = self._flows(panel, generator)
        state = flows[-1].h.detach() if self.task_free else flows[-1].h
        return Encoding(state, {"members": flows[-1].h, "groups": flows[-1].z})

    def objective(
        self,
        prediction: Float[Tensor, ""],
        encoding: Encoding,
        panel: Panel,
        targets: Targets,
        epoch: int,
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Add the membership task."""
        true, false = (panel.groups.node, panel.groups.hyperedge), false_members(panel, generator)
        task = membership_loss(encoding.extras["members"], encoding.extras["groups"], self.theta, true, false)
        return prediction + self.membership * task

    def influence(self, panel: Panel, candidates: Links) -> Float[Tensor, " link"]:
        """Mean over times, layers and heads of the flow from source to target."""
        total = panel.inputs.new_zeros(candidates.shape[1])
        for flows in self._flows(panel, None):
            for head in range(self.heads):
                total = total + flow(panel, flows.down[:, head], flows.up[:, head], candidates)
        return total / (len(self.layers) * self.heads * panel.num_times)

    def _flows(self, panel: Panel, generator: torch.Generator | None) -> list[Flows]:
        h, line, flows = torch.relu(self.project(panel.flat)), line_graph_of(panel), []
        for layer in self.layers:
            flows.append(layer(drop(h, self.dropout, generator), panel.groups, line))
            h = flows[-1].h
        return flows


class SSHGNN(InfluencePeer):
    """A reconstruction of SS-HGNN in the shared wrapper; see the module for equations and choices."""

    name = "sshgnn"
    Settings = SSHGNNSettings
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "membership": (0.03, 0.1, 0.3),
        "task_free": (False, True),
    }
    settings: SSHGNNSettings

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained layers."""
        return SSHGNNEncoder(num_inputs, self.settings, generator)
