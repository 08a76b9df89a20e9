"""Hyperedges grouped by size, so that attention inside them becomes a few dense batched products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from sphunc._typing import Float, Int, Memberships, Tensor
from sphunc.errors import ArgumentError
from sphunc.hypergraph.temporal import TemporalHypergraph


@dataclass(frozen=True, eq=False, repr=False)
class Buckets:
    """The memberships of a hypergraph, sorted by the size of their group: one rectangle of node indices per size.

    Groups of one carry no message between agents and are left out; build it with :func:`group_by_size`, once per
    hypergraph.

    Attributes:
        node: agent of each membership ``[nnz]``, rectangle after rectangle.
        hyperedge: group of each membership ``[nnz]``, the index it had in the hypergraph.
        share: :math:`1 / \\deg(i)` of each membership's agent ``[nnz]``, so that shares of an agent sum to one.
        shapes: ``(groups, size)`` of each rectangle, ascending in size, size at least 2.
        num_nodes: N, agents, isolated ones included.
        num_hyperedges: M, groups, groups of one and empty groups included.
    """

    node: Tensor
    hyperedge: Tensor
    share: Tensor
    shapes: tuple[tuple[int, int], ...]
    num_nodes: int
    num_hyperedges: int

    def to(self, device: torch.device | str) -> Buckets:
        """Return the same groups with every tensor on ``device``."""
        return replace(
            self, node=self.node.to(device), hyperedge=self.hyperedge.to(device), share=self.share.to(device)
        )

    def rectangles(self) -> Iterator[Int[Tensor, "edge size"]]:
        """Yield the node indices of all groups of one size, size after size."""
        start = 0
        for groups, size in self.shapes:
            yield self.node[start : start + groups * size].view(groups, size)
            start += groups * size

    def tiles(self, rows: int) -> Iterator[tuple[int, int, int]]:
        """Yield ``(start, groups, size)``: runs of whole groups of one size with about ``rows`` memberships each."""
        start = 0
        for groups, size in self.shapes:
            step = max(1, rows // size)
            for first in range(0, groups, step):
                yield start + first * size, min(step, groups - first), size
            start += groups * size

    def __repr__(self) -> str:
        sizes = ", ".join(f"{groups} of {size}" for groups, size in self.shapes[:6])
        if len(self.shapes) > 6:
            sizes += f", ... {len(self.shapes)} sizes"
        return f"Buckets({self.num_nodes} agents, {self.num_hyperedges} groups: {sizes or 'none of two or more'})"


def group_by_size(hyperedge_index: Memberships, *, num_nodes: int, num_hyperedges: int) -> Buckets:
    """Sort memberships by the size of their group.

    Any order is taken, and an agent named twice in a group counts once.

    Args:
        hyperedge_index: memberships ``[2, nnz]``, row 0 agent, row 1 group.
        num_nodes: N.
        num_hyperedges: M.
    """
    _check_range("hyperedge_index[0]", hyperedge_index[0], num_nodes, "num_nodes")
    _check_range("hyperedge_index[1]", hyperedge_index[1], num_hyperedges, "num_hyperedges")
    names, edge = _numbered(hyperedge_index[1])
    node, edge = _sorted_memberships(hyperedge_index[0], edge, num_nodes)
    size = torch.bincount(edge)[edge]
    order = torch.argsort(size, stable=True)
    order = order[size[order] > 1]
    node = node[order]
    edge = names[edge[order]]
    sizes, memberships = torch.unique_consecutive(size[order], return_counts=True)
    shapes = tuple((n // s, s) for s, n in zip(sizes.tolist(), memberships.tolist(), strict=True))
    share = torch.bincount(node, minlength=num_nodes).to(torch.get_default_dtype()).reciprocal()[node]
    return Buckets(node, edge, share, shapes, num_nodes, num_hyperedges)


def group_over_time(data: TemporalHypergraph) -> Buckets:
    """Sort all groups of all times by size, so that one call serves every time.

    Agent i at time t is node ``t * N + i``: the layers take ``h.flatten(0, 1)`` of ``[T, N, D]``. A group only joins
    agents at its own time, and a time without groups passes no message.
    """
    node, edge = data.hyperedge_index
    node = data.hyperedge_time[edge] * data.num_nodes + node
    return group_by_size(
        torch.stack([node, edge]),
        num_nodes=data.num_times * data.num_nodes,
        num_hyperedges=data.num_hyperedges,
    )


def weighted_share(groups: Buckets, weight: Float[Tensor, " edge"]) -> Float[Tensor, " nnz"]:
    r"""Share of each membership in its agent's weighted mean, :math:`w_e / \sum_{e' \ni i} w_{e'}`.

    Differentiable in the weights; 0 for an agent all of whose groups weigh 0.

    Args:
        groups: the groups, M of them.
        weight: :math:`w_e \ge 0` of each group ``[M]``.
    """
    if weight.shape[0] != groups.num_hyperedges:
        raise ArgumentError(
            f"weight has {weight.shape[0]} entries, but there are {groups.num_hyperedges} groups; give one per group"
        )
    if bool((weight < 0).any()):
        raise ArgumentError(f"weight holds {float(weight.min()):g}; weights of a mean are 0 or more")
    of_membership = weight[groups.hyperedge]
    total = weight.new_zeros(groups.num_nodes).index_add(0, groups.node, of_membership)
    # All memberships of an agent without weight are 0: dividing them by one keeps value and gradient finite.
    return of_membership / torch.where(total > 0, total, 1.0)[groups.node]


def _numbered(edge: Tensor) -> tuple[Tensor, Tensor]:
    # Groups may be named by large numbers, of which a count per name would not fit into memory.
    return torch.unique(edge, return_inverse=True)


def _sorted_memberships(node: Tensor, edge: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    key = edge * max(num_nodes, 1) + node
    if key.numel() > 1 and not bool((key[1:] > key[:-1]).all()):
        key = torch.unique(key)
    return key % max(num_nodes, 1), torch.div(key, max(num_nodes, 1), rounding_mode="floor")


def _check_range(name: str, index: Tensor, size: int, bound: str) -> None:
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < size:
        worst = int(index.max())
        if worst < size:
            worst = int(index.min())
        raise ArgumentError(f"{name} holds {worst}, but {bound} is {size}; indices run from 0 to {size - 1}")
