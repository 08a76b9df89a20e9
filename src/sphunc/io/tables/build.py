"""From tables to the object: every check within and between tables, all faults noted before any is raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.tables.categories import feature_columns
from sphunc.io.tables.cells import common_kind, id_texts, restore_ids, sort_ids
from sphunc.io.tables.groups import read_groups, read_links
from sphunc.io.tables.outcomes import read_outcomes
from sphunc.io.tables.scope import Options, Scope, checked_times, first_rows
from sphunc.io.tables.table import Table
from sphunc.io.times import TimeColumn, time_kind


def build(tables: dict[str, Table], options: Options, log: FaultLog) -> TemporalHypergraph:
    """Check the tables and put them together.

    Args:
        tables: by name: features, and whatever else there is. Emptied on the way: each table is let go once it is
            read, so that memory holds one table of text at a time.
        options: what to accept.
        log: that of the tables.
    """
    scope, feature_times = _scope(tables, options, log)
    names, rows = _features(tables.pop("features"), feature_times, scope)
    columns: dict[str, Any] = {"feature_names": names, "features": rows}
    if "groups" in tables:
        columns |= read_groups(tables.pop("groups"), scope)
    if "outcomes" in tables:
        columns |= read_outcomes(tables.pop("outcomes"), scope)
    if "influence" in tables:
        columns["influence"] = read_links(tables.pop("influence"), scope)
        columns["influence_kind"] = options.influence_kind or "observed"
    log.raise_if_any()
    if not scope.agents or not scope.times:
        problem = "there are no agents and times"
        raise single_fault(Fault(scope.features_file, problem, "Write at least one row"))
    ids = restore_ids(scope.agents, scope.agent_kind)
    attributes = dict(options.attributes or {})
    try:
        return assemble(times=scope.times, node_ids=ids, attributes=attributes, **columns)
    except ArgumentError as error:  # the panel is larger than the machine
        raise single_fault(Fault(scope.features_file, str(error), "Then read the tables again")) from error


def _scope(tables: Mapping[str, Table], options: Options, log: FaultLog) -> tuple[Scope, TimeColumn]:
    features = tables["features"]
    columns = []
    for table in tables.values():
        columns += [(table, role) for role in ("agent", "source", "target") if role in table.roles]
    kind = common_kind(columns, "agent", prefer=options.id_kind)
    given = _given_agents(kind, options, log)
    found = set(id_texts(features, "agent").drop_nulls().unique().to_list())
    agents = [*given, *sort_ids(list(found.difference(given)), kind)]

    parsed = checked_times(features, None, "")
    kinds = parsed.kinds()
    times = {value for value in parsed.values if value is not None}
    times |= {time for time in options.times if not kinds or time_kind(time) == kinds[0]}
    return Scope(agents, kind, sorted(times), features.file, options), parsed


def _given_agents(kind: str, options: Options, log: FaultLog) -> list[str]:
    """Return the agents that the user or the manifest names, as text."""
    wanted = {"integer": int, "text": str}[kind]
    if all(type(agent) is wanted for agent in options.agents):
        return [str(agent) for agent in options.agents]
    if not options.id_kind:  # the user's own list, not that of a manifest which the tables have outgrown
        names = {"integer": "integers", "text": "text"}
        here = names.pop(kind)
        other = names.popitem()[1]
        problem = f"agents are {other}, but the agent ids of the tables are {here}"
        log.add(Fault("agents", problem, "Give them as the same kind"))
    return []


def _features(
    table: Table, times: TimeColumn, scope: Scope
) -> tuple[list[str], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the names of the features, and time, agent and values of every row."""
    if not scope.options.allow_empty_groups:
        table.note_if_empty("Write one row per time and agent")
    time = times.index(scope.times)
    agent = scope.agent_index(table, "agent")
    missing = scope.options.nan_is_missing
    names, columns = feature_columns(table, scope.options.features, nan_is_missing=missing)
    values = np.empty((table.frame.height, len(names)), dtype=np.float32)
    for i, column in enumerate(columns):
        values[:, i] = column
    kept = first_rows(table, [time, agent], "agent", "a row for this time and agent")
    if not kept.all():
        return names, (time[kept], agent[kept], values[kept])
    return names, (time, agent, values)
