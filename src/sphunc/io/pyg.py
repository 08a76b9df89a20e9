"""PyG ``HyperGraphData`` both ways: one snapshot per time, since PyG has no time for hyperedges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.extras import load_extra

CARRIED = ("node_ids", "feature_names", "class_names", "outcome_names", "influence", "influence_kind", "attributes")


def to_pyg(data: TemporalHypergraph) -> list[Any]:
    """Return one ``HyperGraphData`` per time; :func:`from_pyg` gives ``data`` back.

    Each has PyG's fields (``x [N, F]``, ``edge_index`` with agents in row 0 and the groups of that time in row 1,
    ``y``, ``edge_attr`` for membership weights) and ours (``x_mask``, ``y_mask``, ``time``, ``hyperedge_ids`` ...).
    """
    module = load_extra("torch_geometric.data.hypergraph_data", "pyg")
    return [_snapshot(module.HyperGraphData, data.window(t, t + 1)) for t in range(data.num_times)]


def from_pyg(snapshots: Sequence[Any], times: Sequence[Any] | None = None) -> TemporalHypergraph:
    """Build the data object from ``HyperGraphData`` snapshots of the same agents, in time order.

    Args:
        snapshots: one per time; without masks all of ``x`` and ``y`` count as observed.
        times: their times; taken from the snapshots, or 0, 1, 2 ... if they have none.
    """
    load_extra("torch_geometric", "pyg")
    if not isinstance(snapshots, Sequence):
        raise ArgumentTypeError(
            f"snapshots is {type(snapshots).__name__}; give a list with one HyperGraphData per time"
        )
    if not snapshots:
        raise ArgumentError("snapshots is empty; give one HyperGraphData per time")
    for t, one in enumerate(snapshots):
        _check_snapshot(t, one)
    if len({int(one.x.shape[0]) for one in snapshots}) > 1:
        raise ArgumentError("the snapshots have different numbers of agents; give the same agents in each")
    first, T = snapshots[0], len(snapshots)
    x = torch.stack([one.x for one in snapshots]).float()
    x_mask = _stacked(snapshots, "x_mask", torch.ones_like(x, dtype=torch.bool))
    y, y_mask, classes = _outcomes(snapshots)
    index, when, ids = _groups(snapshots)
    found = tuple(times) if times is not None else tuple(_get(one, "time", t) for t, one in enumerate(snapshots))
    weights = [_get(one, "edge_attr", None) for one in snapshots]
    N, F = x.shape[1:]
    return TemporalHypergraph(
        x=x * x_mask,
        x_mask=x_mask,
        hyperedge_index=index,
        hyperedge_time=when,
        y=y,
        y_mask=y_mask,
        num_nodes=N,
        num_hyperedges=len(ids),
        node_ids=tuple(_get(first, "node_ids", range(N))),
        hyperedge_ids=tuple(ids),
        feature_names=tuple(_get(first, "feature_names", [f"x{i}" for i in range(F)])),
        class_names=classes,
        times=found if len(found) == T else tuple(range(T)),
        influence=_get(first, "influence", None),
        influence_kind=_get(first, "influence_kind", ""),
        incidence_weight=None if None in weights or not weights else torch.cat(weights).flatten().float(),
        attributes=_get(first, "attributes", {}),
        outcome_names=tuple(_get(first, "outcome_names", ())),
    )


def _check_snapshot(t: int, snapshot: Any) -> None:
    for name in ("x", "edge_index"):
        if not isinstance(getattr(snapshot, name, None), Tensor):
            raise ArgumentError(
                f"snapshots[{t}] has no {name}; give HyperGraphData(x=[N, F], edge_index=[2, nnz]), "
                "agents in row 0 and groups in row 1"
            )


def _snapshot(kind: Any, data: TemporalHypergraph) -> Any:
    snapshot = kind(
        x=data.x[0],
        edge_index=data.hyperedge_index,
        y=None if data.y is None else data.y[0],
        edge_attr=data.incidence_weight,
        x_mask=data.x_mask[0],
        y_mask=data.y_mask[0],
        time=data.times[0],
        hyperedge_ids=list(data.hyperedge_ids),
        num_hyperedges=data.num_hyperedges,
    )
    snapshot.num_nodes = data.num_nodes
    for name in CARRIED:
        if (value := getattr(data, name)) is not None:
            snapshot[name] = list(value) if isinstance(value, tuple) else value
    return snapshot


def _get(snapshot: Any, name: str, default: Any) -> Any:
    value = snapshot.get(name, None)
    return default if value is None else value


def _stacked(snapshots: Sequence[Any], name: str, default: Tensor) -> Tensor:
    return torch.stack([_get(one, name, default[t]) for t, one in enumerate(snapshots)])


def _outcomes(snapshots: Sequence[Any]) -> tuple[Tensor | None, Tensor, tuple[str, ...]]:
    N = snapshots[0].x.shape[0]
    nothing = torch.zeros(len(snapshots), N, dtype=torch.bool, device=snapshots[0].x.device)
    if any(_get(one, "y", None) is None for one in snapshots):
        return None, nothing, ()
    y = torch.stack([one.y for one in snapshots])
    y_mask = _stacked(snapshots, "y_mask", ~nothing)
    if y.is_floating_point():
        y = y.unsqueeze(-1) if y.ndim == 2 else y
        return y.float() * y_mask.unsqueeze(-1), y_mask, ()
    names = _get(snapshots[0], "class_names", [str(i) for i in range(int(y.max()) + 1)])
    return y.long() * y_mask, y_mask, tuple(names)


def _groups(snapshots: Sequence[Any]) -> tuple[Tensor, Tensor, list[Any]]:
    indices, when, ids = [], [], []
    for t, one in enumerate(snapshots):
        index = one.edge_index.long()
        known = int(index[1].max()) + 1 if index.shape[1] else 0
        names = _get(one, "hyperedge_ids", list(range(int(_get(one, "num_hyperedges", known)))))
        order = (index[1] * one.x.shape[0] + index[0]).argsort()
        indices.append(torch.stack([index[0], index[1] + len(ids)])[:, order])
        when.extend([t] * len(names))
        ids.extend(names)
    return torch.cat(indices, 1), torch.tensor(when, dtype=torch.int64, device=indices[0].device), ids
