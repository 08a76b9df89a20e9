r"""Neighbours, edges and triplets of SphereNet with their spherical coordinates.

For an edge j -> i and another neighbour k of j: the distance :math:`d_{kj}`, the angle :math:`\theta` at j between i
and k, and the torsion :math:`\varphi`, the smallest positive rotation about the axis from j to i that takes k's
half-plane to that of a third neighbour q of j; :math:`2\pi` where there is no third one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.baselines.pairs import closest, pair_counts, per_panel
from sphunc.baselines.panel import Panel


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Who hears whom: at most k neighbours per agent, and the pairs of edges that meet in a triplet.

    Attributes:
        table: neighbours of each node ``[node, k]``, nearest first, -1 where there are fewer.
        edges: ``[2, E]``, row 0 source j, row 1 target i.
        triplets: ``[2, P]``, row 0 the edge k -> j, row 1 the edge j -> i that it feeds.
    """

    table: Tensor
    edges: Tensor
    triplets: Tensor


@per_panel
def neighbours_in(panel: Panel, most: int) -> Neighbours:
    """At most ``most`` neighbours of every agent at every time among those it meets; see :func:`closest`."""
    pairs, count = pair_counts(panel.groups)
    kept, rank = closest(pairs, count, panel.features.flatten(0, 1), most)
    table = torch.full((panel.groups.num_nodes, most), -1, dtype=torch.long, device=kept.device)
    table[kept[1], rank] = kept[0]
    return neighbours_of(table)


def neighbours_of(table: Int[Tensor, "node slot"]) -> Neighbours:
    """Number the edges of a table of neighbours and list its triplets k -> j -> i with k other than i."""
    target, slot = (table >= 0).nonzero(as_tuple=True)
    source = table[target, slot]
    number = torch.full_like(table, -1)
    number[target, slot] = torch.arange(len(target), device=table.device)
    feeding = number[source]
    edge, place = ((feeding >= 0) & (table[source] != target[:, None])).nonzero(as_tuple=True)
    return Neighbours(table, torch.stack([source, target]), torch.stack([feeding[edge, place], edge]))


def separation(p: Float[Tensor, "node 3"], edges: Int[Tensor, "2 edge"], least: float) -> Float[Tensor, " edge"]:
    """Distance between the ends of each edge, at least ``least``: the envelope is unbounded at coinciding points."""
    squared = (p.index_select(0, edges[0]) - p.index_select(0, edges[1])).square().sum(-1)
    return squared.clamp(min=least * least).sqrt()


def triplet_angles(
    p: Float[Tensor, "node 3"], near: Neighbours
) -> tuple[Float[Tensor, " triplet"], Float[Tensor, " triplet"]]:
    r"""Angle :math:`\theta` in [0, pi] and torsion :math:`\varphi` in (0, 2 pi] of every triplet.

    No gradient passes: both are undefined for collinear points, where their slopes are infinite.
    """
    p = p.detach()
    first, second = near.triplets
    j, i = near.edges[:, second]
    k = near.edges[0, first]
    axis, arm = p[i] - p[j], p[k] - p[j]
    theta = torch.atan2(torch.linalg.cross(axis, arm).norm(dim=-1), (axis * arm).sum(-1))
    return theta, _torsion(p, near.table[j], (i, j, k), axis, arm)


def _torsion(p: Tensor, others: Tensor, triplet: tuple[Tensor, Tensor, Tensor], axis: Tensor, arm: Tensor) -> Tensor:
    i, j, k = triplet
    # The published code keeps k among its own references; rounding then gives it an angle of almost zero.
    allowed = (others >= 0) & (others != i[:, None]) & (others != k[:, None])
    reference = p[others.clamp(min=0)] - p[j][:, None]
    flat = torch.linalg.cross(axis, arm)[:, None]
    flat_reference = torch.linalg.cross(axis[:, None].expand_as(reference), reference)
    along = (torch.linalg.cross(flat.expand_as(reference), flat_reference) * axis[:, None]).sum(-1)
    across = (flat * flat_reference).sum(-1) * axis.norm(dim=-1, keepdim=True)
    turn = torch.atan2(along, across)
    turn = torch.where(turn > 0, turn, turn + 2 * math.pi)
    return torch.where(allowed, turn, 2 * math.pi).amin(1)
