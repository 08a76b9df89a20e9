"""One way to put a temporal hypergraph together from long-form columns of indices."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from sphunc.errors import ArgumentError
from sphunc.hypergraph.temporal import TemporalHypergraph

Column = Sequence[object] | np.ndarray | Tensor
Columns = tuple[Column, ...]
BYTES_PER_CELL = 5  # float32 value and bool mask


def assemble(
    *,
    times: Sequence[object],
    node_ids: Sequence[Hashable],
    features: Columns | None = None,
    feature_names: Sequence[str] = (),
    hyperedge_ids: Sequence[Hashable] = (),
    hyperedge_time: Column = (),
    memberships: Columns | None = None,
    outcomes: Columns | None = None,
    class_names: Sequence[str] = (),
    influence: Column | None = None,
    influence_kind: str = "",
    attributes: Mapping[str, object] | None = None,
    outcome_names: Sequence[str] = (),
) -> TemporalHypergraph:
    """Scatter long-form columns of indices into a :class:`TemporalHypergraph`, in any order of rows.

    Args:
        times: the user's times, ascending.
        node_ids: the user's agent ids; the agent axis follows this order.
        features: ``(time [R], agent [R], values [R, F])``, indices into ``times`` and ``node_ids``; NaN = not observed.
        feature_names: F names.
        hyperedge_ids: M group names; a name may return at another time.
        hyperedge_time: index into ``times`` per group, ``[M]``. The groups of the result are sorted by time (stable).
        memberships: ``(group [nnz], agent [nnz])`` or ``(group, agent, weight [nnz])``, indices into ``hyperedge_ids``
            and ``node_ids``.
        outcomes: ``(time [R], agent [R], values)``: class indices ``[R]`` with ``class_names``, else numbers ``[R]`` or
            ``[R, K]``.
        class_names: names of the classes; empty for numeric outcomes.
        influence: ``[2, K]`` agent indices, row 0 source, row 1 target.
        influence_kind: what the links are, in a word.
        attributes: carried along, never read.
        outcome_names: names of numeric outcomes; "outcome", or "outcome_1", "outcome_2" ... unless given.

    Example:
        >>> data = assemble(times=[0, 1], node_ids=["a", "b"], features=([0, 1], [0, 1], [[1.0], [2.0]]),
        ...     feature_names=["mood"], hyperedge_ids=["pair"], hyperedge_time=[0], memberships=([0, 0], [1, 0]))
        >>> data
        TemporalHypergraph(2 agents, 2 times, 1 groups, 2 memberships, 1 features, no outcome)
    """
    T = len(times)
    N = len(node_ids)
    x, x_mask = _feature_panel(features, T, N, len(feature_names))
    y, y_mask = _outcome_panel(outcomes, T, N, bool(len(class_names)))
    order = np.argsort(_index("hyperedge_time", hyperedge_time, T), kind="stable")
    index, weight = _incidence(memberships, order, N)
    names = tuple(hyperedge_ids)
    if len(names) != len(order):
        raise ArgumentError(f"hyperedge_ids has {len(names)} entries, but hyperedge_time has {len(order)}")
    links = None
    if influence is None:
        influence_kind = ""
    else:
        links = _tensor(np.asarray(influence, dtype=np.int64).reshape(2, -1))
    return TemporalHypergraph(
        x=x,
        x_mask=x_mask,
        hyperedge_index=index,
        hyperedge_time=_tensor(np.asarray(hyperedge_time, dtype=np.int64)[order]),
        y=y,
        y_mask=y_mask,
        num_nodes=N,
        num_hyperedges=len(names),
        node_ids=tuple(node_ids),
        hyperedge_ids=tuple(names[i] for i in order.tolist()),
        feature_names=tuple(feature_names),
        class_names=tuple(class_names),
        times=tuple(times),
        influence=links,
        influence_kind=influence_kind,
        incidence_weight=weight,
        attributes=dict(attributes or {}),
        outcome_names=tuple(outcome_names),
    )


def _feature_panel(features: Columns | None, T: int, N: int, F: int) -> tuple[Tensor, Tensor]:
    _check_memory(T, N, F)
    x = torch.zeros(T, N, F)
    mask = torch.zeros(T, N, F, dtype=torch.bool)
    if features is None:
        return x, mask
    values = np.asarray(features[2], dtype=np.float32)
    cells = _cells("features", features, T, N)
    if values.size == len(cells) * F:
        values = values.reshape(len(cells), F)
    if values.shape != (len(cells), F):
        raise ArgumentError(f"features has values of shape {values.shape}, but {len(cells)} rows and {F} feature_names")
    observed = ~np.isnan(values)
    x.view(T * N, F).numpy()[cells] = np.where(observed, values, np.float32(0))
    mask.view(T * N, F).numpy()[cells] = observed
    return x, mask


def _outcome_panel(outcomes: Columns | None, T: int, N: int, classes: bool) -> tuple[Tensor | None, Tensor]:
    mask = torch.zeros(T, N, dtype=torch.bool)
    if outcomes is None:
        return None, mask
    cells = _cells("outcomes", outcomes, T, N)
    dtype = np.float32
    if classes:
        dtype = np.int64
    values = np.asarray(outcomes[2], dtype=dtype)
    if len(values) != len(cells):
        raise ArgumentError(f"outcomes has {len(values)} values, but {len(cells)} rows")
    mask.view(-1).numpy()[cells] = True
    if classes:
        y = torch.zeros(T, N, dtype=torch.int64)
        y.view(-1).numpy()[cells] = values
        return y, mask
    if len(cells):
        values = values.reshape(len(cells), -1)
    else:
        values = values.reshape(0, max(values.shape[-1], 1))
    y = torch.zeros(T, N, values.shape[1])
    y.view(T * N, -1).numpy()[cells] = values
    return y, mask


def _cells(name: str, columns: Columns, T: int, N: int) -> np.ndarray:
    time = _index(f"{name} time", columns[0], T)
    agent = _index(f"{name} agent", columns[1], N)
    if len(time) != len(agent):
        raise ArgumentError(f"{name} has {len(time)} times, but {len(agent)} agents; give columns of equal length")
    cells = time.astype(np.int64) * N + agent
    taken = np.zeros(T * N, dtype=bool)
    taken[cells] = True
    if np.count_nonzero(taken) != len(cells):
        raise ArgumentError(f"{name} has two rows for the same time and agent; keep one of them")
    return cells


def _incidence(memberships: Columns | None, order: np.ndarray, N: int) -> tuple[Tensor, Tensor | None]:
    if memberships is None:
        return torch.zeros(2, 0, dtype=torch.int64), None
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    key = rank[_index("memberships group", memberships[0], len(order))]
    agent = _index("memberships agent", memberships[1], N)
    if len(key) != len(agent):
        raise ArgumentError(f"memberships has {len(key)} groups, but {len(agent)} agents; give equal lengths")
    key *= N
    key += agent
    weight = None
    if len(memberships) > 2:
        rows = np.argsort(key, kind="stable")
        weight = _tensor(np.asarray(memberships[2], dtype=np.float32)[rows])
    key.sort()
    index = np.empty((2, len(key)), dtype=np.int64)
    np.divmod(key, max(N, 1), out=(index[1], index[0]))
    return _tensor(index), weight


def _index(name: str, column: Column, size: int) -> np.ndarray:
    index = np.asarray(column)
    if index.size and index.dtype.kind not in "iu":
        raise ArgumentError(f"{name} has dtype {index.dtype}; give integer indices")
    if not index.size:
        index = index.astype(np.int64)
    index = index.reshape(-1)
    if len(index) and not 0 <= index.min() <= index.max() < size:
        bad = np.flatnonzero((index < 0) | (index >= size))
        raise ArgumentError(f"{name}[{bad[0]}] is {index[bad[0]]}, but there are {size} (0 ... {size - 1})")
    return index


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def _check_memory(T: int, N: int, F: int) -> None:
    if not hasattr(os, "sysconf"):  # Windows
        return
    needed = T * N * (F * BYTES_PER_CELL + 1)
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available:
        raise ArgumentError(
            f"{T} times x {N} agents x {F} features need {needed / 1e9:.0f} GB, but this machine has "
            f"{available / 1e9:.0f} GB; put the times into coarser bins (days, weeks), or drop features"
        )
