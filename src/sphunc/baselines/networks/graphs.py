r"""Graphs between agents at times, and softmax over the edges of a node: what the networks share.

Agent i at time t is node ``t * N + i``. Pairs of nodes are directed, row 0 source, row 1 target,
and both directions are listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Float, Int, Links, Tensor
from sphunc.hypergraph import Buckets

NodeStates = Float[Tensor, "node dim"]
NodePairs = Int[Tensor, "2 pair"]
PairWeights = Float[Tensor, " pair"]
PairCounts = Int[Tensor, " pair"]


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """Directed edges between nodes, with a weight each.

    Attributes:
        pairs: ``[2, E]``, row 0 source, row 1 target.
        weight: ``[E]``.
    """

    pairs: NodePairs
    weight: PairWeights

    def add_messages(self, base: NodeStates, x: NodeStates) -> NodeStates:
        r""":math:`b_i + \sum_{j \to i} w_{ji} x_j`.

        Args:
            base: b, what the messages are added to.
            x: states of the sources.
        """
        source, target = self.pairs
        sent = x.index_select(0, source) * self.weight.unsqueeze(-1)
        return base.index_add(0, target, sent)


Adjacency = tuple[WeightedGraph, Float[Tensor, " node"]]
"""A normalised adjacency matrix: its entries off the diagonal, and on it."""


def normalised(graph: WeightedGraph, num_nodes: int) -> Adjacency:
    r""":math:`\hat A = D^{-1/2} (A + I) D^{-1/2}` of an undirected graph (Kipf and Welling, 2017).

    Args:
        graph: A, each edge in both directions.
        num_nodes: nodes, isolated ones included.
    """
    source, target = graph.pairs
    degree = torch.ones(num_nodes, dtype=graph.weight.dtype, device=graph.weight.device)
    degree = degree.index_add(0, target, graph.weight)
    root = degree.rsqrt()
    entries = graph.weight * root[source] * root[target]
    return WeightedGraph(graph.pairs, entries), degree.reciprocal()


def convolve(x: NodeStates, adjacency: Adjacency) -> NodeStates:
    r""":math:`\hat A x`.

    Args:
        x: states of the nodes.
        adjacency: as :func:`normalised` gives it.
    """
    graph, diagonal = adjacency
    return graph.add_messages(x * diagonal.unsqueeze(-1), x)


def segment_softmax(
    score: Float[Tensor, "row head"], segment: Int[Tensor, " row"], num_segments: int
) -> Float[Tensor, "row head"]:
    """Softmax over the rows of each segment, such as the edges into a node.

    Args:
        score: of every row, head by head.
        segment: of every row.
        num_segments: segments, empty ones included.
    """
    index = segment.unsqueeze(-1).expand_as(score)
    top = score.detach().new_full((num_segments, score.shape[1]), -torch.inf)
    top = top.scatter_reduce(0, index, score.detach(), "amax")
    weight = (score - top.index_select(0, segment)).exp()
    total = torch.zeros_like(top).index_add(0, segment, weight)
    return weight / total.index_select(0, segment)


def mean_of_members(x: NodeStates, groups: Buckets) -> Float[Tensor, "edge dim"]:
    """Mean over the members of each group; 0 for a group that is left out.

    Args:
        x: states of the nodes.
        groups: groups of two or more.
    """
    return segment_mean(x.index_select(0, groups.node), groups.hyperedge, groups.num_hyperedges)


def segment_mean(
    rows: Float[Tensor, "row dim"], segment: Int[Tensor, " row"], num_segments: int
) -> Float[Tensor, "segment dim"]:
    """Mean over the rows of each segment; 0 where it has none.

    Args:
        rows: of any meaning.
        segment: of every row.
        num_segments: segments, empty ones included.
    """
    count = torch.bincount(segment, minlength=num_segments).clamp(min=1).unsqueeze(-1)
    return rows.new_zeros(num_segments, rows.shape[1]).index_add(0, segment, rows) / count


def node_degrees(groups: Buckets) -> Int[Tensor, " node"]:
    """Groups of every node."""
    return torch.bincount(groups.node, minlength=groups.num_nodes)


def pair_counts(groups: Buckets) -> tuple[NodePairs, PairCounts]:
    """Nodes that share a group, each pair once, and the number of groups that they share."""
    nodes = max(groups.num_nodes, 1)
    keys = [groups.node[:0]]
    for members in groups.rectangles():
        size = members.shape[1]
        other = ~torch.eye(size, dtype=torch.bool, device=members.device).expand(len(members), -1, -1)
        key = members[:, :, None] * nodes + members[:, None, :]
        keys.append(key[other])
    key, count = torch.unique(torch.cat(keys), return_counts=True)
    return torch.stack([key % nodes, key // nodes]), count


def pairs_so_far(groups: Buckets, num_times: int, num_agents: int) -> tuple[NodePairs, PairCounts]:
    """Nodes of one time whose agents shared a group by then, and how many groups they shared.

    Args:
        groups: of all times.
        num_times: T.
        num_agents: N.
    """
    pairs, count = pair_counts(groups)
    time = pairs[0] // num_agents
    unique, place = torch.unique(_agent_keys(pairs, num_agents), return_inverse=True)
    shared = count.new_zeros(num_times, len(unique))
    shared[time, place] = count
    total = shared.cumsum(0)
    when, which = total.nonzero(as_tuple=True)
    agents = torch.stack([unique[which] % num_agents, unique[which] // num_agents])
    return agents + when * num_agents, total[when, which]


def agent_pairs(groups: Buckets, num_agents: int) -> Links:
    """Agents that shared a group at any time, sorted by target then source.

    Args:
        groups: of all times.
        num_agents: N.
    """
    pairs, _ = pair_counts(groups)
    key = torch.unique(_agent_keys(pairs, num_agents))
    return torch.stack([key % num_agents, key // num_agents])


def _agent_keys(pairs: NodePairs, num_agents: int) -> Int[Tensor, " pair"]:
    return (pairs[1] % num_agents) * num_agents + pairs[0] % num_agents


def closest(
    pairs: NodePairs, count: PairCounts, x: Float[Tensor, "node feature"], most: int
) -> tuple[Int[Tensor, "2 kept"], Int[Tensor, " kept"]]:
    """Keep the sources that share most groups with a target, the nearest in x among equals.

    Chosen by data alone, so that a permutation of the agents permutes the choice.

    Args:
        pairs: source and target.
        count: groups that they share.
        x: features of the nodes.
        most: sources kept per target.

    Returns:
        The pairs kept, sorted by target, and the rank of each among the sources of its target.
    """
    distance = (x[pairs[0]] - x[pairs[1]]).square().sum(-1)
    order = torch.argsort(distance, stable=True)
    order = order[torch.argsort(count[order], descending=True, stable=True)]
    order = order[torch.argsort(pairs[1, order], stable=True)]
    pairs = pairs[:, order]
    total = torch.bincount(pairs[1], minlength=len(x))
    first = total.cumsum(0) - total
    rank = torch.arange(pairs.shape[1], device=pairs.device) - first[pairs[1]]
    kept = rank < most
    return pairs[:, kept], rank[kept]
