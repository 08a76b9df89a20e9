"""What must hold of a temporal hypergraph: shapes, dtypes, devices, ids, order, ranges and finite values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from sphunc.errors import ArgumentError, ArgumentTypeError

_DTYPES = {
    "x": torch.float32,
    "x_mask": torch.bool,
    "hyperedge_index": torch.int64,
    "hyperedge_time": torch.int64,
    "y_mask": torch.bool,
    "influence": torch.int64,
    "incidence_weight": torch.float32,
}


def check(data: Any) -> None:
    """Raise an error that names the first attribute of ``data`` that is not as the class says."""
    _check_types(data)
    _check_shapes(data)
    _check_names(data)
    _check_times(data.times)
    _check_indices(data)
    _check_values(data)


def _check_types(data: Any) -> None:
    outcome = torch.float32
    why_outcome = " (without class_names)"
    if data.class_names:
        outcome = torch.int64
        why_outcome = " (with class_names)"
    for name, dtype in {**_DTYPES, "y": outcome}.items():
        value = getattr(data, name)
        if value is None and name in ("y", "influence", "incidence_weight"):
            continue
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"{name} is a {type(value).__name__}; give a torch tensor of {dtype}")
        if value.dtype != dtype:
            why = ""
            if name == "y":
                why = why_outcome
            raise ArgumentTypeError(f"{name} has dtype {value.dtype}; give {dtype}{why}, e.g. {name}.to({dtype})")
        if value.device != data.x.device:
            raise ArgumentTypeError(f"{name} is on {value.device}, but x is on {data.x.device}; move all to one device")


def _check_shapes(data: Any) -> None:
    T = len(data.times)
    N = data.num_nodes
    F = len(data.feature_names)
    expected: dict[str, tuple[int, ...]] = {
        "x": (T, N, F),
        "x_mask": (T, N, F),
        "y_mask": (T, N),
        "hyperedge_index": (2, _width(data.hyperedge_index)),
        "hyperedge_time": (data.num_hyperedges,),
    }
    if data.y is not None:
        expected["y"] = (T, N, _width(data.y))
        if data.class_names:
            expected["y"] = (T, N)
    if data.influence is not None:
        expected["influence"] = (2, _width(data.influence))
    if data.incidence_weight is not None:
        expected["incidence_weight"] = (_width(data.hyperedge_index),)
    for name, shape in expected.items():
        got = tuple(getattr(data, name).shape)
        if got != shape:
            raise ArgumentError(
                f"{name} has shape {got}, but {T} times, {N} agents, {F} features and {data.num_hyperedges} groups "
                f"ask for {shape}"
            )


def _width(tensor: Tensor) -> int:
    if tensor.ndim == 0:
        return 0
    return tensor.shape[-1]


def _check_names(data: Any) -> None:
    for name, count in (("node_ids", data.num_nodes), ("hyperedge_ids", data.num_hyperedges)):
        if len(getattr(data, name)) != count:
            raise ArgumentError(f"{name} has {len(getattr(data, name))} entries, but there are {count}")
    for name in ("node_ids", "feature_names", "class_names", "outcome_names"):
        _check_unique(name, getattr(data, name))
    if data.outcome_names and len(data.outcome_names) != data.y.shape[-1]:
        raise ArgumentError(
            f"outcome_names has {len(data.outcome_names)} entries, but y has {data.y.shape[-1]} numbers per agent; "
            "give one name per number, or () for outcome_1, outcome_2, ..."
        )
    if len(set(data.hyperedge_ids)) < data.num_hyperedges:  # a name may return at another time, not at the same
        meetings = zip(data.hyperedge_time.tolist(), data.hyperedge_ids, strict=True)
        _check_unique("(hyperedge_time, hyperedge_ids)", meetings)
    if data.influence is None and data.influence_kind:
        raise ArgumentError(f"influence_kind is {data.influence_kind!r}, but influence is None; give links or no kind")


def _check_unique(name: str, ids: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for one in ids:
        if one in seen:
            raise ArgumentError(f"{name} has {one!r} twice; give every entry a name of its own")
        seen.add(one)


def _check_times(times: tuple[Any, ...]) -> None:
    if not times:
        raise ArgumentError("times is empty; give at least one time")
    for before, after in pairwise(times):
        try:
            ascending = before < after
        except TypeError as error:
            raise ArgumentTypeError(
                f"times mixes {before!r} and {after!r}; give integers, dates or datetimes, all of one kind"
            ) from error
        if not ascending:
            raise ArgumentError(f"times has {after!r} after {before!r}; sort the times and give each of them once")


def _check_indices(data: Any) -> None:
    nodes, edges = data.hyperedge_index
    _check_range("hyperedge_index[0]", nodes, data.num_nodes, "agents")
    _check_range("hyperedge_index[1]", edges, data.num_hyperedges, "groups")
    _check_range("hyperedge_time", data.hyperedge_time, len(data.times), "times")
    if data.influence is not None:
        _check_range("influence[0]", data.influence[0], data.num_nodes, "agents")
        _check_range("influence[1]", data.influence[1], data.num_nodes, "agents")
    later = (edges[1:] > edges[:-1]) | ((edges[1:] == edges[:-1]) & (nodes[1:] > nodes[:-1]))
    if not bool(later.all()):
        raise ArgumentError(
            "hyperedge_index must be sorted by group, then agent, without an agent twice in a group; "
            "sort it, or build the object with sphunc.from_frames"
        )


def _check_range(name: str, index: Tensor, size: int, what: str) -> None:
    bad = (index < 0) | (index >= size)
    if bool(bad.any()):
        first = int(bad.nonzero()[0])
        raise ArgumentError(f"{name}[{first}] is {int(index[first])}, but there are {size} {what} (0 ... {size - 1})")


def _check_values(data: Any) -> None:
    for t in range(len(data.times)):  # time by time, so that checking needs little memory beside the data
        _check_panel("x", data.x[t], data.x_mask[t], t)
        if data.y is not None:
            mask = data.y_mask[t]
            if not data.class_names:
                mask = mask.unsqueeze(-1)
            _check_panel("y", data.y[t], mask, t)
    if data.y is None and bool(data.y_mask.any()):
        raise ArgumentError("y_mask says that outcomes were observed, but y is None; give y, or a mask of False")
    if data.y is not None and data.class_names:
        _check_range("y", data.y.flatten(), len(data.class_names), "classes")
    if data.incidence_weight is not None and not bool(data.incidence_weight.isfinite().all()):
        raise ArgumentError("incidence_weight has a value that is not finite; give finite weights, or None")


def _check_panel(name: str, values: Tensor, mask: Tensor, t: int) -> None:
    if values.is_floating_point() and not bool(values.isfinite().all()):
        raise ArgumentError(
            f"{name}[{t}] has a value that is not finite; write 0 with {name}_mask False where nothing was observed"
        )
    if bool(((values != 0) & ~mask).any()):
        raise ArgumentError(f"{name}[{t}] has a value where {name}_mask is False; write 0 where nothing was observed")
