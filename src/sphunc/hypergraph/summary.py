"""What is in the data, in a few numbers: for a person as text, for a program as a dictionary."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from sphunc.hypergraph.temporal import TemporalHypergraph

CLASS_ROWS = 12


@dataclass(frozen=True)
class Summary:
    """Sizes of a temporal hypergraph and what is missing in it.

    Attributes:
        agents: N.
        times: T.
        first_time, last_time: as the user writes them.
        features: F.
        groups: M, all times together.
        groups_per_time: groups that met at each time.
        size_min, size_median, size_max: members per group.
        empty_groups: groups without members.
        memberships: rows (agent, group).
        missing_share: share of feature cells that were not observed, among agents seen at that time.
        absent_share: share of (time, agent) at which the agent was not seen at all.
        absent_agents: agents never seen at any time.
        isolated_agents: agents never in a group.
        outcome: "classes", "numbers" or "none".
        outcome_share: share of (time, agent) with an outcome.
        classes: names of the classes.
        classes_per_time: how many agents had each class at each time.
        outcome_names: names of numeric outcomes.
        links: number of known links, and ``links_kind`` what they are.
    """

    agents: int
    times: int
    first_time: str
    last_time: str
    features: int
    groups: int
    groups_per_time: tuple[int, ...]
    size_min: int
    size_median: float
    size_max: int
    empty_groups: int
    memberships: int
    missing_share: float
    absent_share: float
    absent_agents: int
    isolated_agents: int
    outcome: str
    outcome_share: float
    classes: tuple[str, ...]
    classes_per_time: tuple[tuple[int, ...], ...]
    outcome_names: tuple[str, ...]
    links: int
    links_kind: str

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as plain values that JSON takes."""
        return asdict(self)

    def __str__(self) -> str:
        links = "none known"
        if self.links_kind:
            links = f"{self.links:,} {self.links_kind}"
        lines = {
            "agents": f"{self.agents:,}{_in_brackets(self.absent_agents, 'never seen')}"
            f"{_in_brackets(self.isolated_agents, 'in no group')}",
            "times": f"{self.times:,} ({self.first_time} ... {self.last_time})",
            "features": _feature_line(self),
            "groups": f"{self.groups:,}{_in_brackets(self.empty_groups, 'empty')}, "
            f"{_range(self.groups_per_time)} per time",
            "group size": f"{self.size_min} ... {self.size_max}, median {self.size_median:g}",
            "memberships": f"{self.memberships:,}",
            "outcome": _outcome_line(self),
            "links": links,
        }
        return "\n".join([*(f"{name:<12} {text}" for name, text in lines.items()), *_class_table(self)])


def summarise(data: TemporalHypergraph) -> Summary:
    """Count what is in ``data``."""
    size = data.hyperedge_size
    present = data.present
    cells = int(present.sum()) * data.num_features
    observed = int(data.x_mask.sum())
    smallest, median, largest = _size_range(data.hyperedge_size)
    outcome = "numbers"
    if data.y is None:
        outcome = "none"
    elif data.class_names:
        outcome = "classes"
    links = 0
    links_kind = data.influence_kind
    if data.influence is not None:
        links = data.influence.shape[1]
        links_kind = links_kind or "known"
    return Summary(
        agents=data.num_nodes,
        times=data.num_times,
        first_time=str(data.times[0]),
        last_time=str(data.times[-1]),
        features=data.num_features,
        groups=data.num_hyperedges,
        groups_per_time=tuple(torch.bincount(data.hyperedge_time, minlength=data.num_times).tolist()),
        size_min=smallest,
        size_median=median,
        size_max=largest,
        empty_groups=int((size == 0).sum()),
        memberships=data.num_memberships,
        missing_share=1 - observed / cells if cells else 0.0,
        absent_share=1 - float(present.double().mean()) if present.numel() else 0.0,
        absent_agents=int((~present.any(0)).sum()),
        isolated_agents=data.num_nodes - int(data.hyperedge_index[0].unique().numel()),
        outcome=outcome,
        outcome_share=float(data.y_mask.double().mean()) if data.y_mask.numel() else 0.0,
        classes=data.class_names,
        classes_per_time=_classes_per_time(data),
        outcome_names=data.outcome_names,
        links=links,
        links_kind=links_kind,
    )


def _size_range(size: Tensor) -> tuple[int, float, int]:
    if not len(size):
        return 0, 0.0, 0
    return int(size.min()), float(np.median(size.cpu().numpy())), int(size.max())


def _classes_per_time(data: TemporalHypergraph) -> tuple[tuple[int, ...], ...]:
    if data.y is None or not data.class_names:
        return ()
    counts = [
        torch.bincount(y[mask], minlength=data.num_classes).tolist()
        for y, mask in zip(data.y, data.y_mask, strict=True)
    ]
    return tuple(tuple(row) for row in counts)


def _in_brackets(count: int, what: str) -> str:
    if not count:
        return ""
    return f" ({count:,} {what})"


def _range(counts: tuple[int, ...]) -> str:
    low = min(counts)
    high = max(counts)
    if low == high:
        return f"{low:,}"
    return f"{low:,} ... {high:,}"


def _feature_line(summary: Summary) -> str:
    absent = f"agents absent at {summary.absent_share:.1%} of their times"
    if not summary.features:
        return f"0 (a model needs at least one), {absent}"
    return f"{summary.features:,}, {summary.missing_share:.1%} of cells missing, {absent}"


def _outcome_line(summary: Summary) -> str:
    if summary.outcome == "none":
        return "none"
    what = "numbers"
    if summary.classes:
        what = f"{len(summary.classes)} classes"
    elif len(summary.outcome_names) > 1:
        what += f" ({', '.join(summary.outcome_names[:CLASS_ROWS])})"
    return f"{what}, known for {summary.outcome_share:.1%} of times and agents"


def _class_table(summary: Summary) -> list[str]:
    if not summary.classes:
        return []
    names = [*summary.classes[:CLASS_ROWS]]
    width = max(len("class"), *(len(name) for name in names))
    lines = [f"{'class':<{width}}  agents at each time"]
    for i, name in enumerate(names):
        counts = [row[i] for row in summary.classes_per_time]
        shown = " ".join(f"{count:>6,}" for count in counts[:CLASS_ROWS])
        if len(counts) > CLASS_ROWS:
            shown += " ..."
        lines.append(f"{name:<{width}}  {shown}")
    rest = len(summary.classes) - len(names)
    if rest:
        lines.append(f"... and {rest} more classes")
    return lines
