"""Leakage checks: nothing later than a forecast origin may be reachable from it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sphunc.errors import ArgumentError
from sphunc.hypergraph.splits import PARTS, AgentSplit, Split
from sphunc.hypergraph.temporal import TemporalHypergraph


def check_split(data: TemporalHypergraph, split: Split) -> None:
    """Raise unless every target lies within the data and no part learns from targets after a later part's origin.

    Args:
        data: that the split is of.
        split: origins of each part.
    """
    last = -1
    before = ""
    for part in PARTS:
        origins = getattr(split, part)
        if origins[-1] + split.horizon >= data.num_times:
            raise ArgumentError(
                f"{part} forecasts from origin {origins[-1]} to time index {origins[-1] + split.horizon}, "
                f"but the data ends at {data.num_times - 1}"
            )
        if part == "calibration" and split.shared:
            continue
        if origins[0] < last:
            raise ArgumentError(
                f"leak: {before} is judged on time index {last}, which lies after origin {origins[0]} of {part}; "
                f"leave out the {split.horizon - 1} origins between them (time_split does)"
            )
        last = origins[-1] + split.horizon
        before = part


def check_view(view: TemporalHypergraph, data: TemporalHypergraph, origin: int) -> None:
    """Raise unless ``view`` holds nothing of ``data`` that is later than time index ``origin``.

    Args:
        view: what a model is given.
        data: all of it.
        origin: time index of the forecast.
    """
    late = [time for time in view.times if time > data.times[origin]]
    if late:
        raise ArgumentError(f"leak: the view holds time {late[0]}, later than its origin {data.times[origin]}")
    allowed = data.until_index(origin)
    known = set(zip(allowed.hyperedge_time.tolist(), allowed.hyperedge_ids, strict=True))
    shift = data.times.index(view.times[0])
    for time, group in zip((view.hyperedge_time + shift).tolist(), view.hyperedge_ids, strict=True):
        if (time, group) not in known:
            raise ArgumentError(f"leak: the view holds group {group!r}, which had not met at {data.times[origin]}")


def check_agents(split: AgentSplit, part: str, used: Tensor) -> None:
    """Raise if ``used`` (agent indices that a part learnt from) has anybody of another part.

    Args:
        split: agents of each part.
        part: the part that learns.
        used: agent indices that it learnt from.
    """
    others = {agent: name for name in PARTS if name != part for agent in getattr(split, name)}
    for agent in used.unique().tolist():
        if agent in others:
            raise ArgumentError(f"leak: {part} uses agent {agent}, who belongs to {others[agent]}")


def scramble_future(data: TemporalHypergraph, origin: int, seed: int = 0) -> TemporalHypergraph:
    """Return ``data`` with everything later than ``origin`` replaced by noise, and its later groups reshuffled.

    A forecast from ``origin`` must be the same on both, bit for bit: the check that catches every leak of a model.

    Args:
        data: left as it is.
        origin: time index; what is later changes.
        seed: of the noise.
    """
    generator = torch.Generator().manual_seed(seed)
    x = data.x.clone()
    x_mask = data.x_mask.clone()
    y = data.y
    y_mask = data.y_mask.clone()
    later = slice(origin + 1, None)
    x_mask[later] = torch.rand(x_mask[later].shape, generator=generator).to(x.device) < 0.5
    x[later] = torch.randn(x[later].shape, generator=generator).to(x.device) * x_mask[later]
    if y is not None:
        order = torch.randperm(data.num_nodes, generator=generator).to(x.device)
        y = y.clone()
        y[later] = y[later][:, order]
        y_mask[later] = y_mask[later][:, order]
    return replace(data, x=x, x_mask=x_mask, y=y, y_mask=y_mask, **_scrambled_groups(data, origin, generator))


def _scrambled_groups(data: TemporalHypergraph, origin: int, generator: torch.Generator) -> dict[str, Tensor]:
    node, edge = data.hyperedge_index
    relabel = torch.randperm(data.num_nodes, generator=generator).to(node.device)
    node = torch.where(data.hyperedge_time[edge] > origin, relabel[node], node)
    order = (edge * max(data.num_nodes, 1) + node).argsort()
    changed = {"hyperedge_index": torch.stack([node[order], edge[order]])}
    if data.incidence_weight is not None:
        changed["incidence_weight"] = data.incidence_weight[order]
    return changed
