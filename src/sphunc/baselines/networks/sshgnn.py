r"""SS-HGNN (Sun et al., TKDE 2023), a **reconstruction**: no public code, and the abstract only.

Known from the abstract: groups are social environments, joined in a line graph; influence flows
from user to user, user to environment, environment to user and environment to environment;
embeddings are learned without labels. The layer below is our version of that. With incidence B,
line graph :math:`L = \mathrm{offdiag}(B^\top B)`, :math:`\hat L = D^{-1/2} L D^{-1/2}`, clique walk
:math:`P = D_v^{-1} B D_e^{-1} B^\top` without its diagonal, and :math:`z_e` the mean of the
members' :math:`h_i`:

.. math::
    m_e &= \textstyle\sum_{i \in e} a_{ie} W_1 h_i, \quad
        a_{ie} = \mathrm{softmax}_{i \in e}\, \mathrm{LeakyReLU}(a_1^\top [W_1 h_i \| W_z z_e])
        && \text{user to group} \\
    z'_e &= \sigma\big(W_2 m_e + \textstyle\sum_f \hat L_{ef} W_3 m_f\big)
        && \text{group to group} \\
    n_i &= \textstyle\sum_{e \ni i} b_{ie} W_4 z'_e, \quad
        b_{ie} = \mathrm{softmax}_{e \ni i}\, \mathrm{LeakyReLU}(a_2^\top [W_4 z'_e \| W_1 h_i])
        && \text{group to user} \\
    c_i &= \textstyle\sum_j P_{ij} W_5 h_j && \text{user to user} \\
    h'_i &= \mathrm{LN}(\sigma(W_0 h_i + n_i + c_i))

with several heads, each on its part of the width, and ReLU for :math:`\sigma`. The self-supervised
task distinguishes members of a group from agents that met elsewhere at the same time:

.. math::
    L_{mem} = -\frac1{|B|} \sum_{(i,e) \in B} \log \sigma(h_i^\top \Theta z_e)
              -\frac1{|B'|} \sum_{(j,e) \in B'} \log \sigma(-h_j^\top \Theta z_e)

The false members :math:`B'` are drawn from the memberships of the same time, so that an agent is
drawn as often as it meets; a draw that happens to be a member is left out. No group of a later time
is ever read. Objective: NLL + weight :math:`L_{mem}`.

Deviations and choices

- Everything beyond the four flows, the line graph and training without labels is ours.
- ``task_free=True`` is closest to the abstract: the layers learn from the membership task alone,
  and only memory and read-out see labels. Both train at the same time, not one after the other. The
  default trains everything jointly.
- Of the three self-supervised terms one could write (membership, user-user, group-group),
  membership is kept.
- Layers act on each time; memory and read-out are those of the shared network over time. Groups of
  one are dropped.

Native influence (directed): the mean over times, layers and heads of
:math:`S_{ij} = \sum_{e \ni i,j} b_{ie} a_{je}
+ \frac12 \sum_{e \ni i, f \ni j} b_{ie} \hat L_{ef} a_{jf}`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from pydantic import model_validator
from scipy.sparse import coo_array, csr_array
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Int, Links
from sphunc.baselines.baseline import InfluenceBaseline
from sphunc.baselines.holdout import Targets
from sphunc.baselines.influence import accumulate
from sphunc.baselines.networks.graphs import NodeStates, WeightedGraph, segment_softmax
from sphunc.baselines.panel import Panel, per_panel
from sphunc.baselines.settings import Count, NetworkSettings, SearchSpace, Weight
from sphunc.baselines.temporal import (
    Encoding,
    LinkScores,
    Scalar,
    SpatialEncoder,
    drop,
    linear,
    parameter,
)
from sphunc.errors import ArgumentError
from sphunc.hypergraph import Buckets

GroupStates = Float[Tensor, "edge dim"]
Attention = Float[Tensor, "nnz head"]
Flows = tuple[NodeStates, GroupStates, Attention, Attention]
"""Output of a layer: agents at times, groups, attention a of a group and b of an agent."""
Rows = Int[Tensor, " row"]


class SSHGNNSettings(NetworkSettings):
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

    @model_validator(mode="after")
    def _heads_divide_width(self) -> SSHGNNSettings:
        if self.width % self.heads:
            raise ArgumentError(f"heads is {self.heads}, which does not divide width {self.width}; choose a divisor")
        return self


def line_graph(groups: Buckets) -> WeightedGraph:
    r"""Groups joined by the members they share, :math:`\hat L`; its nodes are the groups.

    Costs the sum over agents of their squared number of groups.
    """
    incidence = sparse_incidence(groups)
    shared = csr_array(incidence.T @ incidence).tocoo()
    off_diagonal = shared.row != shared.col
    source = shared.row[off_diagonal]
    target = shared.col[off_diagonal]
    count = shared.data[off_diagonal]
    degree = np.bincount(target, weights=count, minlength=groups.num_hyperedges)
    weight = count / np.sqrt(degree[source] * degree[target])
    device = groups.node.device
    pairs = torch.from_numpy(np.stack([source, target]).astype(np.int64))
    return WeightedGraph(pairs.to(device), torch.from_numpy(weight).float().to(device))


@per_panel
def line_graph_of(panel: Panel) -> WeightedGraph:
    """Return the line graph of a panel, made once."""
    return line_graph(panel.groups)


def sparse_incidence(groups: Buckets, weight: Float[Tensor, " nnz"] | None = None) -> csr_array:
    """Matrix of agents at times by groups ``[T * N, M]``.

    Args:
        groups: M groups.
        weight: of each membership; None for ones.
    """
    value = np.ones(len(groups.node))
    if weight is not None:
        value = weight.double().cpu().numpy()
    place = (groups.node.cpu().numpy(), groups.hyperedge.cpu().numpy())
    return csr_array(coo_array((value, place), shape=(groups.num_nodes, groups.num_hyperedges)))


def group_flow(panel: Panel, down: Float[Tensor, " nnz"], up: Float[Tensor, " nnz"], candidates: Links) -> LinkScores:
    r"""Influence through groups, :math:`S = B_b (I + \tfrac12 \hat L) B_a^\top`, summed over times.

    Args:
        panel: gives the groups.
        down: b, attention of an agent to its group, per membership.
        up: a, attention of a group to its member.
        candidates: links (source j, target i) to return S of.
    """
    line = line_graph_of(panel)
    place = tuple(line.pairs.flip(0).cpu().numpy())
    shape = (panel.groups.num_hyperedges, panel.groups.num_hyperedges)
    between = csr_array(coo_array((0.5 * line.weight.double().cpu().numpy(), place), shape=shape))
    receive = sparse_incidence(panel.groups, down)
    send = sparse_incidence(panel.groups, up)
    total = csr_array(receive @ send.T + receive @ between @ send.T).tocoo()
    pairs = torch.from_numpy(np.stack([total.col, total.row]).astype(np.int64)) % panel.num_agents
    weight = torch.from_numpy(total.data).float()
    return accumulate(pairs.to(candidates.device), weight.to(candidates.device), candidates, panel.num_agents)


def clique_walk(x: NodeStates, groups: Buckets) -> NodeStates:
    r""":math:`P x`: mean over groups of the mean over members, without the agent's own part.

    Args:
        x: states of agents at times.
        groups: groups of two or more.
    """
    share = groups.share.to(x.dtype)
    size = group_sizes(groups).to(x.dtype)
    mean = group_sum(x, groups) / size.clamp(min=1).unsqueeze(-1)
    own = x.new_zeros(len(x)).index_add(0, groups.node, share / size[groups.hyperedge])
    received = mean.index_select(0, groups.hyperedge) * share.unsqueeze(-1)
    return torch.zeros_like(x).index_add(0, groups.node, received) - own.unsqueeze(-1) * x


def group_sum(x: NodeStates, groups: Buckets) -> GroupStates:
    """Sum over the members of each group.

    Args:
        x: states of agents at times.
        groups: M groups.
    """
    zeros = x.new_zeros(groups.num_hyperedges, x.shape[1])
    return zeros.index_add(0, groups.hyperedge, x.index_select(0, groups.node))


def group_sizes(groups: Buckets) -> Int[Tensor, " edge"]:
    """Members of each group ``[M]``."""
    return torch.bincount(groups.hyperedge, minlength=groups.num_hyperedges)


def false_members(panel: Panel, generator: Generator) -> tuple[Rows, Rows]:
    """Draw one false member per membership: nodes, and groups that they do not belong to.

    Args:
        panel: gives the groups.
        generator: source of randomness.
    """
    node = panel.groups.node
    group = panel.groups.hyperedge
    if not len(node):
        return node, group
    # Draw a membership of the same time for each membership.
    time = node // panel.num_agents
    by_time = torch.argsort(time, stable=True)
    count = torch.bincount(time, minlength=panel.num_times)
    start = count.cumsum(0) - count
    uniform = torch.rand(len(node), generator=generator, device=node.device)
    place = start[time] + (uniform * count[time]).long().clamp(max=count[time] - 1)
    drawn = node[by_time[place]]
    # Leave out those that are members.
    members = member_keys(panel)
    key = drawn * panel.groups.num_hyperedges + group
    nearest = torch.searchsorted(members, key).clamp(max=len(members) - 1)
    is_false = members[nearest] != key
    return drawn[is_false], group[is_false]


@per_panel
def member_keys(panel: Panel) -> Int[Tensor, " nnz"]:
    """Return a sorted number per membership, made once per panel."""
    groups = panel.groups
    return (groups.node * groups.num_hyperedges + groups.hyperedge).sort().values


def membership_loss(
    h: NodeStates,
    z: GroupStates,
    theta: Float[Tensor, "dim dim"],
    true: tuple[Tensor, Tensor],
    false: tuple[Tensor, Tensor],
) -> Scalar:
    r""":math:`L_{mem}`; 0 when nobody meets.

    Args:
        h: agents at times.
        z: groups.
        theta: bilinear form.
        true: nodes and their groups.
        false: nodes and groups they do not belong to.
    """
    loss = h.new_zeros(())
    for (node, group), sign in ((true, 1.0), (false, -1.0)):
        if len(node):
            score = ((h @ theta).index_select(0, node) * z.index_select(0, group)).sum(-1)
            loss = loss - nn.functional.logsigmoid(sign * score).mean()
    return loss


class SSHGNNLayer(nn.Module):
    """Owns the weights of the four flows.

    Args:
        width: units.
        heads: parts of the width.
        generator: source of the initial weights.
    """

    def __init__(self, width: int, heads: int, generator: Generator) -> None:
        super().__init__()
        self.heads = heads
        self.own = linear(width, width, generator)
        self.member = linear(width, width, generator, bias=False)
        self.mean = linear(width, width, generator, bias=False)
        self.group = linear(width, width, generator, bias=False)
        self.line = linear(width, width, generator, bias=False)
        self.back = linear(width, width, generator, bias=False)
        self.walk = linear(width, width, generator, bias=False)
        shape = (2, heads, width // heads)
        self.attend_up = parameter(shape, shape[2] ** -0.5, generator)
        self.attend_down = parameter(shape, shape[2] ** -0.5, generator)
        self.norm = nn.LayerNorm(width)

    def forward(self, h: NodeStates, groups: Buckets, line: WeightedGraph) -> Flows:
        """Let influence flow once.

        Args:
            h: agents at times.
            groups: groups of two or more.
            line: their line graph.
        """
        node = groups.node
        group = groups.hyperedge
        size = group_sizes(groups).clamp(min=1).to(h.dtype)
        mean = group_sum(h, groups) / size.unsqueeze(-1)

        # User to group.
        sent = self.member(h)
        up_score = self._scores(self.attend_up, sent, self.mean(mean), node, group)
        up = segment_softmax(up_score, group, groups.num_hyperedges)
        message = self._weighted_sum(sent.index_select(0, node), up, group, groups.num_hyperedges)

        # Group to group.
        between = self.line(message)
        z = torch.relu(self.group(message) + line.add_messages(torch.zeros_like(between), between))

        # Group to user, and user to user.
        back = self.back(z)
        down_score = self._scores(self.attend_down, back, sent, group, node)
        down = segment_softmax(down_score, node, len(h))
        received = self._weighted_sum(back.index_select(0, group), down, node, len(h))
        total = self.own(h) + received + self.walk(clique_walk(h, groups))
        return self.norm(torch.relu(total)), z, up, down

    def _scores(self, weight: Tensor, first: Tensor, second: Tensor, at_first: Tensor, at_second: Tensor) -> Tensor:
        left = (first.unflatten(-1, (self.heads, -1)) * weight[0]).sum(-1).index_select(0, at_first)
        right = (second.unflatten(-1, (self.heads, -1)) * weight[1]).sum(-1).index_select(0, at_second)
        return nn.functional.leaky_relu(left + right, 0.2)

    def _weighted_sum(self, values: Tensor, attention: Tensor, segment: Tensor, count: int) -> Tensor:
        weighted = (values.unflatten(-1, (self.heads, -1)) * attention.unsqueeze(-1)).flatten(-2)
        return values.new_zeros(count, values.shape[-1]).index_add(0, segment, weighted)


class SSHGNNEncoder(SpatialEncoder):
    """Projection, layers, and the bilinear form of the membership task.

    Args:
        num_inputs: P.
        num_features: F, not used.
        settings: of SS-HGNN.
        generator: source of the initial weights.
    """

    influence_kind = "attention through shared and adjoining groups"

    def __init__(self, num_inputs: int, num_features: int, settings: SSHGNNSettings, generator: Generator) -> None:
        super().__init__(num_inputs, num_features, settings, generator)
        self.settings = settings
        width = settings.width
        self.project = linear(num_inputs, width, generator)
        self.layers = nn.ModuleList(SSHGNNLayer(width, settings.heads, generator) for _ in range(settings.layers))
        self.theta = parameter((width, width), width**-1.0, generator)

    def forward(self, panel: Panel, generator: Generator | None = None) -> Encoding:
        """Encode every time on its own groups.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        h, z, _, _ = self._flows(panel, generator)[-1]
        state = h
        if self.settings.task_free:
            state = h.detach()
        return Encoding(state, {"members": h, "groups": z})

    def extra_losses(
        self, encoding: Encoding, panel: Panel, targets: Targets, generator: Generator
    ) -> tuple[Scalar, ...]:
        """The weighted membership task.

        Args:
            encoding: of the panel.
            panel: training times.
            targets: not used.
            generator: draws false members.
        """
        true = (panel.groups.node, panel.groups.hyperedge)
        false = false_members(panel, generator)
        members = encoding.extras["members"]
        task = membership_loss(members, encoding.extras["groups"], self.theta, true, false)
        return (self.settings.membership * task,)

    def influence(self, panel: Panel, candidates: Links) -> LinkScores:
        """Mean over times, layers and heads of the flow from source to target.

        Args:
            panel: all times that may be read.
            candidates: links, source and target.
        """
        total = panel.inputs.new_zeros(candidates.shape[1])
        for _, _, up, down in self._flows(panel, None):
            for a, b in zip(up.unbind(1), down.unbind(1), strict=True):
                total = total + group_flow(panel, b, a, candidates)
        return total / (len(self.layers) * self.settings.heads * panel.num_times)

    def _flows(self, panel: Panel, generator: Generator | None) -> list[Flows]:
        h = torch.relu(self.project(panel.flat))
        flows: list[Flows] = []
        for layer in self.layers:
            dropped = drop(h, self.settings.dropout, generator)
            flows.append(layer(dropped, panel.groups, line_graph_of(panel)))
            h = flows[-1][0]
        return flows


class SSHGNN(InfluenceBaseline):
    """A reconstruction of SS-HGNN; see the module for equations and choices."""

    name = "sshgnn"
    Settings = SSHGNNSettings
    Encoder = SSHGNNEncoder
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
        "membership": (0.03, 0.1, 0.3),
        "task_free": (False, True),
    }
