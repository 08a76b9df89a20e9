"""Pairs of agents that met: what the peers that pass messages between two agents work on.

Agent i at time t is node ``t * N + i``. Pairs are directed, row 0 source, row 1 target, and both directions are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch

from sphunc._typing import Float, Int, Links, Tensor
from sphunc.baselines.panel import Panel
from sphunc.hypergraph.buckets import Buckets

Derived = TypeVar("Derived")


def per_panel(derive: Callable[..., Derived]) -> Callable[..., Derived]:
    """Remember what ``derive(panel, *settings)`` returns for as long as the panel lives; its groups never change."""
    known: WeakKeyDictionary[Panel, dict[tuple[Any, ...], Derived]] = WeakKeyDictionary()

    @wraps(derive)
    def remembered(panel: Panel, *settings: Any) -> Derived:
        mine = known.setdefault(panel, {})
        if settings not in mine:
            mine[settings] = derive(panel, *settings)
        return mine[settings]

    return remembered


def pair_counts(groups: Buckets) -> tuple[Int[Tensor, "2 pair"], Int[Tensor, " pair"]]:
    """Nodes that share a group at the same time, each pair once, and the number of groups that they share."""
    nodes = max(groups.num_nodes, 1)
    keys = [groups.node[:0]]
    for members in groups.rectangles():
        size = members.shape[1]
        other = ~torch.eye(size, dtype=torch.bool, device=members.device).expand(len(members), -1, -1)
        key = members[:, :, None] * nodes + members[:, None, :]
        keys.append(key[other])
    key, count = torch.unique(torch.cat(keys), return_counts=True)
    return torch.stack([key % nodes, key // nodes]), count


def pairs_so_far(
    groups: Buckets, num_times: int, num_agents: int
) -> tuple[Int[Tensor, "2 pair"], Int[Tensor, " pair"]]:
    """Nodes of one time whose agents shared a group at that time or before, and how many groups they shared by then."""
    pairs, count = pair_counts(groups)
    time, key = pairs[0] // num_agents, (pairs[1] % num_agents) * num_agents + pairs[0] % num_agents
    unique, place = torch.unique(key, return_inverse=True)
    met = count.new_zeros(num_times, len(unique))
    met[time, place] = count
    total = met.cumsum(0)
    when, which = total.nonzero(as_tuple=True)
    source, target = unique[which] % num_agents, unique[which] // num_agents
    return torch.stack([source, target]) + when * num_agents, total[when, which]


def agent_pairs(groups: Buckets, num_agents: int) -> Links:
    """Agents that shared a group at any time, sorted by target then source."""
    pairs, _ = pair_counts(groups)
    key = torch.unique((pairs[1] % num_agents) * num_agents + pairs[0] % num_agents)
    return torch.stack([key % num_agents, key // num_agents])


def closest(
    pairs: Int[Tensor, "2 pair"], count: Int[Tensor, " pair"], x: Float[Tensor, "node feature"], most: int
) -> tuple[Int[Tensor, "2 kept"], Int[Tensor, " kept"]]:
    """Keep at most ``most`` sources per target: those that met it most often, the nearest in x first among equals.

    Chosen by data alone, so that a permutation of the agents permutes the choice.

    Returns:
        The pairs kept, sorted by target, and the rank of each among the sources of its target, from 0.
    """
    apart = (x[pairs[0]] - x[pairs[1]]).square().sum(-1)
    order = torch.argsort(apart, stable=True)
    order = order[torch.argsort(count[order], descending=True, stable=True)]
    order = order[torch.argsort(pairs[1, order], stable=True)]
    pairs = pairs[:, order]
    total = torch.bincount(pairs[1], minlength=len(x))
    rank = torch.arange(pairs.shape[1], device=pairs.device) - (total.cumsum(0) - total)[pairs[1]]
    kept = rank < most
    return pairs[:, kept], rank[kept]
