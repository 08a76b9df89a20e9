"""PyG ``HyperGraphData`` both ways: one snapshot per time, since PyG has no time for hyperedges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra
from sphunc.io.times import Time

CARRIED = ("node_ids", "feature_names", "class_names", "outcome_names", "influence", "influence_kind", "attributes")
"""Fields of the data object that every snapshot has."""
Snapshot = Any
"""A ``HyperGraphData``; PyG is optional."""


def to_pyg(data: TemporalHypergraph) -> list[Snapshot]:
    """Return one ``HyperGraphData`` per time; :func:`from_pyg` gives ``data`` back.

    Each has PyG's fields (``x [N, F]``, ``edge_index`` with agents in row 0 and the groups of that time in row 1,
    ``y``, ``edge_attr`` for membership weights) and ours (``x_mask``, ``y_mask``, ``time``, ``hyperedge_ids`` ...).
    """
    module = load_extra("torch_geometric.data.hypergraph_data", "pyg")
    snapshots = []
    for t in range(data.num_times):
        now = data.window(t, t + 1)
        snapshot = module.HyperGraphData(
            x=now.x[0],
            edge_index=now.hyperedge_index,
            edge_attr=now.incidence_weight,
            x_mask=now.x_mask[0],
            y_mask=now.y_mask[0],
            time=now.times[0],
            hyperedge_ids=list(now.hyperedge_ids),
            num_hyperedges=now.num_hyperedges,
        )
        snapshot.num_nodes = now.num_nodes
        if now.y is not None:
            snapshot.y = now.y[0]
        for name in CARRIED:
            value = getattr(now, name)
            if isinstance(value, tuple):
                value = list(value)
            if value is not None:
                snapshot[name] = value
        snapshots.append(snapshot)
    return snapshots


def from_pyg(snapshots: Sequence[Snapshot], times: Sequence[Time] | None = None) -> TemporalHypergraph:
    """Build the data object from ``HyperGraphData`` snapshots of the same agents, in time order.

    Args:
        snapshots: one per time; without masks all of ``x`` and ``y`` count as observed.
        times: their times; taken from the snapshots, or 0, 1, 2 ... if they have none.
    """
    load_extra("torch_geometric", "pyg")
    _check_snapshots(snapshots)
    first = snapshots[0]
    x = torch.stack([snapshot.x for snapshot in snapshots]).float()
    x_mask = _stacked(snapshots, "x_mask", torch.ones_like(x, dtype=torch.bool))
    y, y_mask, classes = _outcomes(snapshots)
    index, hyperedge_time, names = _groups(snapshots)
    if times is None:
        times = [_get(snapshot, "time", t) for t, snapshot in enumerate(snapshots)]
    weights = [snapshot.get("edge_attr", None) for snapshot in snapshots]
    weight = None
    if all(one is not None for one in weights):
        weight = torch.cat(weights).flatten().float()
    num_nodes, num_features = x.shape[1:]
    return TemporalHypergraph(
        x=x * x_mask,
        x_mask=x_mask,
        hyperedge_index=index,
        hyperedge_time=hyperedge_time,
        y=y,
        y_mask=y_mask,
        num_nodes=num_nodes,
        num_hyperedges=len(names),
        node_ids=tuple(_get(first, "node_ids", range(num_nodes))),
        hyperedge_ids=tuple(names),
        feature_names=tuple(_get(first, "feature_names", [f"x{i}" for i in range(num_features)])),
        class_names=classes,
        times=tuple(times),
        influence=first.get("influence", None),
        influence_kind=_get(first, "influence_kind", ""),
        incidence_weight=weight,
        attributes=_get(first, "attributes", {}),
        outcome_names=tuple(_get(first, "outcome_names", ())),
    )


def _check_snapshots(snapshots: Sequence[Snapshot]) -> None:
    if not isinstance(snapshots, Sequence):
        kind = type(snapshots).__name__
        raise ArgumentTypeError(f"snapshots is {kind}; give a list with one HyperGraphData per time")
    if not snapshots:
        raise ArgumentError("snapshots is empty; give one HyperGraphData per time")
    for t, snapshot in enumerate(snapshots):
        for name in ("x", "edge_index"):
            if not isinstance(getattr(snapshot, name, None), Tensor):
                raise ArgumentError(
                    f"snapshots[{t}] has no {name}; give HyperGraphData(x=[N, F], edge_index=[2, nnz]), "
                    "agents in row 0 and groups in row 1"
                )
    if len({len(snapshot.x) for snapshot in snapshots}) > 1:
        raise ArgumentError("the snapshots have different numbers of agents; give the same agents in each")


def _get(snapshot: Snapshot, name: str, default: object) -> Any:
    value = snapshot.get(name, None)
    if value is None:
        return default
    return value


def _stacked(snapshots: Sequence[Snapshot], name: str, default: Tensor) -> Tensor:
    return torch.stack([_get(snapshot, name, default[t]) for t, snapshot in enumerate(snapshots)])


def _outcomes(snapshots: Sequence[Snapshot]) -> tuple[Tensor | None, Tensor, tuple[str, ...]]:
    """Return outcomes and their mask, zero where not observed, and the class names."""
    first = snapshots[0]
    shape = (len(snapshots), len(first.x))
    if any(snapshot.get("y", None) is None for snapshot in snapshots):
        return None, torch.zeros(shape, dtype=torch.bool, device=first.x.device), ()
    y = torch.stack([snapshot.y for snapshot in snapshots])
    everywhere = torch.ones(shape, dtype=torch.bool, device=first.x.device)
    y_mask = _stacked(snapshots, "y_mask", everywhere)
    if y.is_floating_point():
        y = y.reshape(*shape, -1).float()
        return y * y_mask.unsqueeze(-1), y_mask, ()
    names = _get(first, "class_names", [str(i) for i in range(int(y.max()) + 1)])
    return y.long() * y_mask, y_mask, tuple(names)


def _groups(snapshots: Sequence[Snapshot]) -> tuple[Tensor, Tensor, list[int | str]]:
    """Return the memberships, sorted by group then agent, the time index and the name of every group."""
    indices = []
    hyperedge_time = []
    names: list[int | str] = []
    for t, snapshot in enumerate(snapshots):
        agent, group = snapshot.edge_index.long()
        count = int(group.max()) + 1 if len(group) else 0
        numbers = list(range(_get(snapshot, "num_hyperedges", count)))
        order = (group * len(snapshot.x) + agent).argsort()
        indices.append(torch.stack([agent, group + len(names)])[:, order])
        here = _get(snapshot, "hyperedge_ids", numbers)
        hyperedge_time += [t] * len(here)
        names += here
    index = torch.cat(indices, 1)
    return index, torch.tensor(hyperedge_time, dtype=torch.int64, device=index.device), names
