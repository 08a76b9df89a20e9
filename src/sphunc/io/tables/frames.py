"""Dataframes of any library to a temporal hypergraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.faults import FaultLog
from sphunc.io.tables.build import build
from sphunc.io.tables.cells import AgentId
from sphunc.io.tables.scope import Options
from sphunc.io.tables.sources import FrameLike, table_from_frame
from sphunc.io.tables.table import Table
from sphunc.io.times import Time

OUTCOME_KINDS = ("auto", "class", "number")


def from_frames(
    *,
    features: FrameLike,
    groups: FrameLike = None,
    outcomes: FrameLike = None,
    influence: FrameLike = None,
    agents: Sequence[AgentId] = (),
    times: Sequence[Time] = (),
    classes: Sequence[str] = (),
    outcome: str = "auto",
    influence_kind: str = "",
    drop_unknown: bool = False,
    nan_is_missing: bool = False,
    allow_empty_groups: bool = False,
    allow_rare_classes: bool = False,
    attributes: Mapping[str, object] | None = None,
) -> TemporalHypergraph:
    """Build the data object from dataframes: polars, pandas, pyarrow, any Arrow stream, or a mapping of columns.

    Args:
        features: columns ``time``, ``agent`` and one per feature; empty cells are "not observed".
        groups: columns ``time``, ``group``, ``agent`` and maybe ``weight``: one row per membership.
        outcomes: columns ``time``, ``agent`` and one outcome (classes or numbers), or several of numbers.
        influence: columns ``source``, ``target``: links that are known.
        agents: agents that exist although no row may mention them; they come first, in this order.
        times: times that exist although no row may mention them.
        classes: class names; they come first, in this order.
        outcome: "class", "number", or "auto": text, or at most 20 different whole numbers, are classes.
        influence_kind: what the links are, in a word ("reply", "nomination"); "observed" if not said.
        drop_unknown: leave out rows whose agent or time the features do not know, instead of refusing them.
        nan_is_missing: take NaN as "not observed" instead of refusing it.
        allow_empty_groups: keep groups whose agent cell is empty, and tables without rows.
        allow_rare_classes: accept a class that only one row has.
        attributes: carried along, never read by models.

    Raises:
        DataError: lists every fault (the first 20 of each table, then a count); rows are counted from 0.

    Example:
        >>> from_frames(features={"time": [1, 1], "agent": ["a", "b"], "mood": [0.5, None]},
        ...     groups={"time": [1, 1], "group": ["g", "g"], "agent": ["a", "b"]})
        TemporalHypergraph(2 agents, 1 times, 1 groups, 2 memberships, 1 features, no outcome)
    """
    check_outcome(outcome)
    options = Options(
        drop_unknown=drop_unknown,
        nan_is_missing=nan_is_missing,
        allow_empty_groups=allow_empty_groups,
        allow_rare_classes=allow_rare_classes,
        outcome=outcome,
        influence_kind=influence_kind,
        agents=agents,
        times=times,
        classes=classes,
        attributes=attributes,
    )
    given = {"features": features, "groups": groups, "outcomes": outcomes, "influence": influence}
    log = FaultLog()
    tables: dict[str, Table] = {}
    for kind, source in given.items():
        if source is not None and (table := table_from_frame(kind, source, log)) is not None:
            tables[kind] = table
    log.raise_if_any()
    return build(tables, options, log)


def check_outcome(outcome: str) -> None:
    """Refuse an unknown kind of outcome."""
    if outcome not in OUTCOME_KINDS:
        raise ArgumentError(f"outcome is {outcome!r}; choose one of {', '.join(OUTCOME_KINDS)}")
