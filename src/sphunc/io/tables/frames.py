"""Dataframes of any library to a temporal hypergraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.faults import FaultLog
from sphunc.io.tables.arrange import arrange, say_notes
from sphunc.io.tables.build import build
from sphunc.io.tables.cells import AgentId
from sphunc.io.tables.layout import Layout, changed_layout
from sphunc.io.tables.scope import Options
from sphunc.io.tables.sources import FrameLike, table_from_frame
from sphunc.io.tables.table import Table
from sphunc.io.times import Time


def from_frames(
    *,
    features: FrameLike,
    groups: FrameLike = None,
    outcomes: FrameLike = None,
    influence: FrameLike = None,
    agents: Sequence[AgentId] = (),
    times: Sequence[Time] = (),
    classes: Sequence[str] = (),
    agent: str | None = None,
    time: str | None = None,
    group: str | None = None,
    outcome: str | None = None,
    drop: str | Sequence[str] = (),
    missing: str | float | Sequence[str | float] = (),
    dayfirst: bool | None = None,
    outcome_kind: str = "auto",
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
        agent: name of the column of agents, where it is none of the usual ones.
        time: of the column of times.
        group: of the column of groups.
        outcome: of the column of outcomes, in ``outcomes`` or, without it, in ``features``.
        drop: columns that are left out.
        missing: numbers or texts that stand for a missing value, such as -99.
        dayfirst: True reads 31/01/2026, False 01/31/2026.
        outcome_kind: "class", "number", or "auto": text, or at most 20 different whole numbers, are classes.
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
    columns = {"agent": agent, "time": time, "group": group, "outcome": outcome, "drop": drop, "missing": missing}
    layout = changed_layout(Layout(), {**columns, "dayfirst": dayfirst, "outcome_kind": outcome_kind})
    options = Options(
        drop_unknown=drop_unknown,
        nan_is_missing=nan_is_missing,
        allow_empty_groups=allow_empty_groups,
        allow_rare_classes=allow_rare_classes,
        outcome=outcome_kind,
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
        if source is not None and (table := table_from_frame(kind, source, log, layout, classes)) is not None:
            tables[kind] = table
    log.raise_if_any()
    data = build(arrange(tables, layout, log), options, log)
    say_notes(log)
    return data
