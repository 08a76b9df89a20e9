"""The data object: agents seen at discrete times, in groups of any size, with features and outcomes."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from sphunc.errors import ArgumentError
from sphunc.hypergraph.time_labels import resolve_time
from sphunc.hypergraph.validation import check


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TemporalHypergraph:
    """N agents at T times: features, memberships in M timed groups, outcomes.

    An agent that has no row at a time is absent there: its masks are False. Sizes are stated, never inferred from
    the largest index, so that isolated agents and empty groups survive. The same group name may meet at several
    times: each meeting is a hyperedge of its own.

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
        outcome_names: names of the K numeric outcomes; "outcome", or "outcome_1" ... "outcome_K", unless given. Empty
            without numeric outcomes, whatever is given.
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
    outcome_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome_names", _outcome_names(self))
        check(self)

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
    def num_memberships(self) -> int:
        """The number of rows (agent, group), nnz."""
        return self.hyperedge_index.shape[1]

    @property
    def hyperedge_size(self) -> Tensor:
        """Members per group, ``[M]``."""
        return torch.bincount(self.hyperedge_index[1], minlength=self.num_hyperedges)

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
        return _derive(self, {name: value.to(device) for name, value in tensors(self).items()})

    def window(self, start: int, stop: int) -> TemporalHypergraph:
        """Return the times ``start <= t < stop`` (indices) with the groups that met then; agents all stay.

        Args:
            start: index of the first time.
            stop: index after the last one.
        """
        if not 0 <= start < stop <= self.num_times:
            raise ArgumentError(
                f"window({start}, {stop}) is outside the {self.num_times} times of the data; "
                f"choose 0 <= start < stop <= {self.num_times}"
            )
        kept = (self.hyperedge_time >= start) & (self.hyperedge_time < stop)
        panel = {name: value[start:stop] for name, value in tensors(self).items() if name in _PANEL}
        groups = _keep_hyperedges(self, kept)
        groups["hyperedge_time"] = groups["hyperedge_time"] - start
        return _derive(self, {**panel, **groups, "times": self.times[start:stop]})

    def time_index(self, label: object) -> int:
        """Return the position of a time in ``times``, given its label.

        Args:
            label: a time as the user writes it (wave 5, a date, an ISO string); a position is refused unless it is
                also a label.
        """
        return resolve_time(label, self.times)

    def until(self, label: object) -> TemporalHypergraph:
        """Return all that may be seen when forecasting from the time with this label, that time included.

        Known links and carried attributes have no time of their own, so that nobody can tell whether they were
        known then: they are left out. :meth:`until_index` takes positions.

        Args:
            label: a time as the user writes it (wave 5, a date, an ISO string), see :meth:`time_index`.
        """
        return self.until_index(self.time_index(label))

    def until_index(self, position: int) -> TemporalHypergraph:
        """Return what :meth:`until` returns, for the time at a position of ``times``.

        Args:
            position: 0 ... T - 1.
        """
        if not 0 <= position < self.num_times:
            raise ArgumentError(
                f"position is {position}, but the data has {self.num_times} times; "
                f"choose 0 ... {self.num_times - 1}, or give the label of a time to until(label)"
            )
        return _derive(self.window(0, position + 1), {"influence": None, "influence_kind": "", "attributes": {}})

    def same_as(self, other: TemporalHypergraph) -> bool:
        """Say whether every tensor, id, name and attribute equals that of ``other``."""
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __repr__(self) -> str:
        outcome = "numbers"
        if self.y is None:
            outcome = "no outcome"
        elif self.class_names:
            outcome = f"{self.num_classes} classes"
        links = ""
        if self.influence is not None:
            links = f", {self.influence.shape[1]} {self.influence_kind} links"
        return (
            f"TemporalHypergraph({self.num_nodes} agents, {self.num_times} times, {self.num_hyperedges} groups, "
            f"{self.num_memberships} memberships, {self.num_features} features, {outcome}{links})"
        )


_PANEL = ("x", "x_mask", "y", "y_mask")


def tensors(data: TemporalHypergraph) -> dict[str, Tensor]:
    """Return the tensors of ``data`` by attribute name; attributes that are None are left out."""
    return {f.name: value for f in fields(data) if isinstance(value := getattr(data, f.name), Tensor)}


def _outcome_names(data: TemporalHypergraph) -> tuple[str, ...]:
    # Names of numbers that are replaced by classes, or taken away, have nothing left to name.
    if not isinstance(data.y, Tensor) or data.y.ndim < 3 or data.class_names:
        return ()
    if data.outcome_names:
        return data.outcome_names
    K = data.y.shape[-1]
    if K == 1:
        return ("outcome",)
    return tuple(f"outcome_{k + 1}" for k in range(K))


def _derive(data: TemporalHypergraph, changes: Mapping[str, object]) -> TemporalHypergraph:
    # A part of valid data is valid: going round __post_init__ keeps windows free of a full pass over the values.
    derived = copy.copy(data)
    for name, value in changes.items():
        object.__setattr__(derived, name, value)
    return derived


def _keep_hyperedges(data: TemporalHypergraph, kept: Tensor) -> dict[str, Any]:
    new_index = torch.cumsum(kept, 0) - 1
    members = kept[data.hyperedge_index[1]]
    nodes, edges = data.hyperedge_index[:, members]
    weight = data.incidence_weight
    if weight is not None:
        weight = weight[members]
    return {
        "hyperedge_index": torch.stack([nodes, new_index[edges]]),
        "hyperedge_time": data.hyperedge_time[kept],
        "num_hyperedges": int(kept.sum()),
        "hyperedge_ids": tuple(data.hyperedge_ids[i] for i in kept.nonzero().flatten().tolist()),
        "incidence_weight": weight,
    }


def _same(mine: object, theirs: object) -> bool:
    if isinstance(mine, Tensor) and isinstance(theirs, Tensor):
        return mine.dtype == theirs.dtype and torch.equal(mine, theirs)
    return type(mine) is type(theirs) and bool(mine == theirs)
