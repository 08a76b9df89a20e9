r"""Neighbours, edges and triplets of SphereNet with their spherical coordinates.

For an edge j -> i and another neighbour k of j: the distance :math:`d_{kj}`, the angle
:math:`\theta` at j between i and k, and the torsion :math:`\varphi`, the smallest positive rotation
about the axis from j to i that takes k's half-plane to that of a third neighbour q of j;
:math:`2\pi` where there is no third one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.baselines.networks.graphs import closest, pair_counts
from sphunc.baselines.panel import Panel, per_panel

Positions = Float[Tensor, "node 3"]
TripletAngles = Float[Tensor, " triplet"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """At most k neighbours per agent, and the pairs of edges that meet in a triplet.

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
    """Neighbours of every agent at every time, among those it meets; see :func:`closest`.

    Args:
        panel: T times.
        most: neighbours per agent.
    """
    pairs, count = pair_counts(panel.groups)
    kept, rank = closest(pairs, count, panel.features.flatten(0, 1), most)
    table = torch.full((panel.groups.num_nodes, most), -1, dtype=torch.long, device=kept.device)
    table[kept[1], rank] = kept[0]
    return neighbours_of(table)


def neighbours_of(table: Int[Tensor, "node slot"]) -> Neighbours:
    """Number the edges of a table of neighbours; list triplets k -> j -> i with k other than i."""
    target, slot = (table >= 0).nonzero(as_tuple=True)
    source = table[target, slot]
    number = torch.full_like(table, -1)
    number[target, slot] = torch.arange(len(target), device=table.device)
    feeding = number[source]
    is_triplet = (feeding >= 0) & (table[source] != target[:, None])
    edge, place = is_triplet.nonzero(as_tuple=True)
    return Neighbours(table, torch.stack([source, target]), torch.stack([feeding[edge, place], edge]))


def distances(p: Positions, edges: Int[Tensor, "2 edge"], least: float) -> Float[Tensor, " edge"]:
    """Distance between the ends of each edge.

    Args:
        p: positions.
        edges: source and target.
        least: smallest distance: the envelope is unbounded at coinciding points.
    """
    squared = (p.index_select(0, edges[0]) - p.index_select(0, edges[1])).square().sum(-1)
    return squared.clamp(min=least * least).sqrt()


def triplet_angles(p: Positions, near: Neighbours) -> tuple[TripletAngles, TripletAngles]:
    r"""Angle :math:`\theta` in [0, pi] and torsion :math:`\varphi` in (0, 2 pi] of every triplet.

    No gradient passes: both are undefined for collinear points, where their slopes are infinite.

    Args:
        p: positions.
        near: edges and triplets.
    """
    p = p.detach()
    first, second = near.triplets
    j, i = near.edges[:, second]
    k = near.edges[0, first]
    axis = p[i] - p[j]
    arm = p[k] - p[j]
    normal = torch.linalg.cross(axis, arm)
    theta = torch.atan2(normal.norm(dim=-1), (axis * arm).sum(-1))

    # Rotation from the half-plane of k to that of every other neighbour q of j.
    q = near.table[j]
    # The published code keeps k among its references; rounding gives it an angle of almost zero.
    is_reference = (q >= 0) & (q != i[:, None]) & (q != k[:, None])
    reference = p[q.clamp(min=0)] - p[j][:, None]
    axes = axis[:, None].expand_as(reference)
    normals = normal[:, None].expand_as(reference)
    reference_normal = torch.linalg.cross(axes, reference)
    sine = (torch.linalg.cross(normals, reference_normal) * axes).sum(-1)
    cosine = (normals * reference_normal).sum(-1) * axis.norm(dim=-1, keepdim=True)
    rotation = torch.atan2(sine, cosine)
    rotation = torch.where(rotation > 0, rotation, rotation + 2 * math.pi)
    phi = torch.where(is_reference, rotation, 2 * math.pi).amin(1)
    return theta, phi
