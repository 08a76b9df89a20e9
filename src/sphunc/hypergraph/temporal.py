"""The data object: agents seen at discrete times, in groups of any size, with features and outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from sphunc.errors import ArgumentError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TemporalHypergraph:
    """N agents at T times: features, memberships in M timed groups, outcomes.

    An agent that has no row at a time is absent there: its masks are False. Sizes are stated, never inferred from
    the largest index, so that isolated agents and empty groups survive.

    Attributes:
        x: features, float32 ``[T, N, F]``; 0 where not observed.
        x_mask: True where a feature was observed, ``[T, N, F]``.
        hyperedge_index: memberships ``[2, nnz]``, row 0 agent, row 1 group, sorted by group then agent.
        hyperedge_time: index into ``times`` of each group, ``[M]``.
        y: outcomes, ``[T, N]`` long (classes; 0 where not observed) or ``[T, N, K]`` float (numbers), or None.
        y_mask: True where an outcome was observed, ``[T, N]``.
        num_nodes: N.
        num_hyperedges: M.
        node_ids: the user's ids, in the order of the agent axis.
        hyperedge_ids: the user's group names, in the order of the group axis.
        feature_names: names of the feature axis.
        class_names: names of the classes; empty for numeric outcomes.
        times: the user's times, ascending.
        influence: known directed links ``[2, K]``, row 0 source, row 1 target, or None.
        influence_kind: what the links are, in a word ("simulated", "reply", "nomination"); empty without links.
        incidence_weight: weight per membership ``[nnz]``, or None.
        attributes: further attributes carried by file formats (JSON-like), never read by models.
    """

    x: Tensor
    x_mask: Tensor
    hyperedge_index: Tensor
    hyperedge_time: Tensor
    y: Tensor | None
    y_mask: Tensor
    num_nodes: int
    num_hyperedges: int
    node_ids: tuple[Hashable, ...]
    hyperedge_ids: tuple[Hashable, ...]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    times: tuple[Any, ...]
    influence: Tensor | None = None
    influence_kind: str = ""
    incidence_weight: Tensor | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_shapes(self)
        _check_indices(self)

    @property
    def num_times(self) -> int:
        """T, the number of observed times."""
        return len(self.times)

    @property
    def num_features(self) -> int:
        """F, the number of features per agent."""
        return len(self.feature_names)

    @property
    def num_classes(self) -> int:
        """C, the number of outcome classes; 0 for numeric or absent outcomes."""
        return len(self.class_names)

    @property
    def present(self) -> Tensor:
        """True where an agent was seen at all, ``[T, N]``."""
        return self.x_mask.any(-1) | self.y_mask

    @property
    def device(self) -> torch.device:
        """Device of all tensors."""
        return self.x.device

    def to(self, device: torch.device | str) -> TemporalHypergraph:
        """Return the same data with every tensor on ``device``."""
        moved = {f.name: value.to(device) for f in fields(self) if isinstance(value := getattr(self, f.name), Tensor)}
        return replace(self, **moved)

    def window(self, start: int, stop: int) -> TemporalHypergraph:
        """Return the times ``start <= t < stop`` (indices) with the groups that met then; agents all stay."""
        if not 0 <= start < stop <= self.num_times:
            raise ArgumentError(
                f"window({start}, {stop}) is outside the {self.num_times} times of the data; "
                f"choose 0 <= start < stop <= {self.num_times}"
            )
        kept = (self.hyperedge_time >= start) & (self.hyperedge_time < stop)
        return replace(
            _keep_hyperedges(self, kept),
            x=self.x[start:stop],
            x_mask=self.x_mask[start:stop],
            y=None if self.y is None else self.y[start:stop],
            y_mask=self.y_mask[start:stop],
            times=self.times[start:stop],
            hyperedge_time=self.hyperedge_time[kept] - start,
        )

    def __repr__(self) -> str:
        outcome = "no outcome" if self.y is None else f"{self.num_classes} classes" if self.class_names else "numbers"
        links = "" if self.influence is None else f", {self.influence.shape[1]} {self.influence_kind} links"
        return (
            f"TemporalHypergraph({self.num_nodes} agents, {self.num_times} times, {self.num_hyperedges} groups, "
            f"{self.hyperedge_index.shape[1]} memberships, {self.num_features} features, {outcome}{links})"
        )


def _keep_hyperedges(data: TemporalHypergraph, kept: Tensor) -> TemporalHypergraph:
    new_index = torch.cumsum(kept, 0) - 1
    members = kept[data.hyperedge_index[1]]
    nodes, edges = data.hyperedge_index[:, members]
    return replace(
        data,
        hyperedge_index=torch.stack([nodes, new_index[edges]]),
        hyperedge_time=data.hyperedge_time[kept],
        num_hyperedges=int(kept.sum()),
        hyperedge_ids=tuple(name for name, keep in zip(data.hyperedge_ids, kept.tolist(), strict=True) if keep),
        incidence_weight=None if data.incidence_weight is None else data.incidence_weight[members],
    )


def _check_shapes(data: TemporalHypergraph) -> None:
    T, N, F = len(data.times), data.num_nodes, len(data.feature_names)
    expected: dict[str, tuple[int, ...]] = {
        "x": (T, N, F),
        "x_mask": (T, N, F),
        "y_mask": (T, N),
        "hyperedge_index": (2, data.hyperedge_index.shape[-1]),
        "hyperedge_time": (data.num_hyperedges,),
    }
    if data.y is not None:
        expected["y"] = (T, N) if data.class_names else (T, N, data.y.shape[-1])
    if data.influence is not None:
        expected["influence"] = (2, data.influence.shape[-1])
    if data.incidence_weight is not None:
        expected["incidence_weight"] = (data.hyperedge_index.shape[-1],)
    for name, shape in expected.items():
        got = tuple(getattr(data, name).shape)
        if got != shape:
            raise ArgumentError(
                f"{name} has shape {got}, but {T} times, {N} agents, {F} features and {data.num_hyperedges} groups "
                f"ask for {shape}"
            )
    for name, count in (("node_ids", N), ("hyperedge_ids", data.num_hyperedges)):
        if len(getattr(data, name)) != count:
            raise ArgumentError(f"{name} has {len(getattr(data, name))} entries, but there are {count}")


def _check_indices(data: TemporalHypergraph) -> None:
    nodes, edges = data.hyperedge_index
    _check_range("hyperedge_index[0]", nodes, data.num_nodes, "agents")
    _check_range("hyperedge_index[1]", edges, data.num_hyperedges, "groups")
    _check_range("hyperedge_time", data.hyperedge_time, data.num_times, "times")
    if data.influence is not None:
        _check_range("influence", data.influence.flatten(), data.num_nodes, "agents")
    order = edges * max(data.num_nodes, 1) + nodes
    if order.numel() > 1 and not bool((order[1:] > order[:-1]).all()):
        raise ArgumentError(
            "hyperedge_index must be sorted by group, then agent, without an agent twice in a group; "
            "sort it, or build the object with sphunc.from_frames"
        )


def _check_range(name: str, index: Tensor, size: int, what: str) -> None:
    bad = (index < 0) | (index >= size)
    if bool(bad.any()):
        first = int(bad.nonzero()[0])
        raise ArgumentError(f"{name}[{first}] is {int(index[first])}, but there are {size} {what} (0 ... {size - 1})")
