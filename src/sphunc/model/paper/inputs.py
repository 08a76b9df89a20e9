"""The tensors that the paper's network reads: features, hyperedges of each time, candidate links."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Features, Float, Int, Links, Tensor
from sphunc.errors import DataError
from sphunc.hypergraph import Buckets, TemporalHypergraph, comembers, group_by_size
from sphunc.nn import standardise

MOST_CANDIDATES = 60
"""Candidates of one agent: a group of a thousand would make a million links."""


@dataclass(frozen=True, eq=False)
class PaperInputs:
    """What is read of a stretch of T times with N agents.

    Attributes:
        x: standardised features ``[T, N, F]``; a missing one is the agent's last, or 0 before any.
        has_features: True once any feature of the agent was observed ``[T, N]``.
        present: True where any feature was observed at that very time ``[T, N]``.
        groups: hyperedges of all times; agent i at time t is row ``t * N + i``.
        last_groups: hyperedges of the last time; agent i is row i.
        links: candidate links among these agents ``[2, K]``, sorted by target.
        link_rows: position of each of them among the links of the network ``[K]``.
    """

    x: Features
    has_features: Bool[Tensor, "time agent"]
    present: Bool[Tensor, "time agent"]
    groups: Buckets
    last_groups: Buckets
    links: Links
    link_rows: Int[Tensor, " link"]

    @property
    def num_times(self) -> int:
        """T."""
        return self.x.shape[0]

    @property
    def num_agents(self) -> int:
        """N."""
        return self.x.shape[1]


def carry_forward(
    values: Float[Tensor, "time agent feature"], mask: Bool[Tensor, "time agent feature"]
) -> Float[Tensor, "time agent feature"]:
    """Replace what was not observed by the last observed value of the same agent, or by 0.

    Args:
        values: features.
        mask: True where observed.
    """
    times = torch.arange(len(values), device=values.device).view(-1, 1, 1)
    last = torch.where(mask, times, -1).cummax(0).values
    carried = values.gather(0, last.clamp(min=0))
    return torch.where(last >= 0, carried, 0.0)


def make_inputs(
    data: TemporalHypergraph,
    *,
    mean: Float[Tensor, " feature"],
    deviation: Float[Tensor, " feature"],
    grouping: str,
    links: Links,
    known_agents: Sequence[Hashable],
) -> PaperInputs:
    """Prepare data for the network.

    Args:
        data: T times, agents in any order.
        mean: of each feature in training.
        deviation: of each feature in training.
        grouping: "hyperedges" or "pairs".
        links: candidate links of the network, over the agents ``known_agents``.
        known_agents: ids in training; links are matched by id, unseen agents have none.
    """
    if data.num_features != len(mean):
        raise DataError(
            f"data has {data.num_features} features, but the model was fitted to {len(mean)}; give "
            "the features of the fit, in the same order"
        )
    standard = standardise(data.x, data.x_mask, mean, deviation)
    present = data.x_mask.any(-1)
    placed, rows = place_links(links, known_agents, data.node_ids)
    N = data.num_nodes
    last = data.num_times - 1
    index = memberships(data, grouping)
    is_last = index[0] >= last * N
    last_index = index[:, is_last] - torch.tensor([[last * N], [0]], device=index.device)
    num_edges = int(index[1].max()) + 1 if index.shape[1] > 0 else 0
    return PaperInputs(
        x=carry_forward(standard, data.x_mask),
        has_features=present.cumsum(0) > 0,
        present=present,
        groups=group_by_size(index, num_nodes=data.num_times * N, num_hyperedges=num_edges),
        last_groups=group_by_size(last_index, num_nodes=N, num_hyperedges=num_edges),
        links=placed,
        link_rows=rows,
    )


def memberships(data: TemporalHypergraph, grouping: str) -> Int[Tensor, "2 nnz"]:
    """Memberships of agents at times, row 0 ``t * N + i``, row 1 the hyperedge.

    Args:
        data: T times.
        grouping: "pairs" makes a hyperedge of every two agents who share one at a time.
    """
    agent = data.hyperedge_index[0]
    edge = data.hyperedge_index[1]
    node = data.hyperedge_time[edge] * data.num_nodes + agent
    if grouping == "hyperedges":
        return torch.stack([node, edge])
    # Ordered pairs inside each hyperedge, each unordered pair of a time once.
    sizes = torch.bincount(edge, minlength=data.num_hyperedges)
    first = sizes.cumsum(0) - sizes
    left = torch.arange(len(node), device=node.device).repeat_interleave(sizes[edge])
    count = torch.arange(len(left), device=node.device)
    start = (sizes[edge].cumsum(0) - sizes[edge]).repeat_interleave(sizes[edge])
    right = first[edge[left]] + count - start
    low = node[left]
    high = node[right]
    pairs = torch.stack([low, high])[:, low < high].unique(dim=1)
    names = torch.arange(pairs.shape[1], device=node.device)
    return torch.stack([pairs.flatten(), names.repeat(2)])


def candidate_links(data: TemporalHypergraph) -> Links:
    """Who may influence whom: ordered pairs of co-members, sorted by target and then source.

    The paper bounds parent sets by temporal precedence and sparsity and says nothing of candidates;
    agents who never meet are not considered, and of more than 60 candidates of one agent those count
    whom it meets at most times.
    """
    N = data.num_nodes
    meetings = [comembers(data.window(time, time + 1)) for time in range(data.num_times)]
    keys = torch.cat([links[1] * N + links[0] for links in meetings])
    pairs, times = keys.unique(return_counts=True)
    target = pairs // max(N, 1)
    # Rank the candidates of each target by how often they meet; ties stay in the order of agents.
    order = torch.argsort(target * (data.num_times + 1) + data.num_times - times, stable=True)
    counts = torch.bincount(target, minlength=N)
    first = counts.cumsum(0) - counts
    rank = torch.arange(len(order), device=order.device) - first[target[order]]
    retained = order[rank < MOST_CANDIDATES].sort().values
    return torch.stack([pairs[retained] % max(N, 1), target[retained]])


def place_links(
    links: Links, known_agents: Sequence[Hashable], agents: Sequence[Hashable]
) -> tuple[Int[Tensor, "2 placed"], Int[Tensor, " placed"]]:
    """Match links to other agents by id; links of agents who are absent are left out.

    Args:
        links: over ``known_agents``, sorted by target.
        known_agents: ids in training.
        agents: ids to place the links on.

    Returns:
        Links over ``agents``, sorted by target, and the position of each in ``links``.
    """
    rows = torch.arange(links.shape[1], device=links.device)
    if tuple(known_agents) == tuple(agents):
        return links, rows
    position = {agent: index for index, agent in enumerate(agents)}
    table = [position.get(agent, -1) for agent in known_agents]
    if not table:
        return links, rows
    moved = torch.tensor(table, dtype=torch.long, device=links.device)[links]
    rows = rows[(moved >= 0).all(0)]
    moved = moved[:, rows]
    order = torch.argsort(moved[1], stable=True)
    return moved[:, order], rows[order]


def replicate_links(links: Links, num_agents: int, replicates: int) -> Int[Tensor, "2 replicated"]:
    """Repeat links for several blocks of agents (times or samples), still sorted by target.

    Args:
        links: among N agents, sorted by target.
        num_agents: N.
        replicates: blocks.
    """
    shift = num_agents * torch.arange(replicates, device=links.device)
    return (links.unsqueeze(1) + shift.view(1, -1, 1)).flatten(1)


def replicate_groups(groups: Buckets, replicates: int) -> Buckets:
    """Repeat hyperedges for several blocks of agents.

    Args:
        groups: among N agents.
        replicates: blocks.
    """
    N = groups.num_nodes
    M = max(groups.num_hyperedges, 1)
    shift = torch.arange(replicates, device=groups.node.device).view(-1, 1)
    node = (groups.node + N * shift).flatten()
    edge = (groups.hyperedge + M * shift).flatten()
    return group_by_size(torch.stack([node, edge]), num_nodes=N * replicates, num_hyperedges=M * replicates)
