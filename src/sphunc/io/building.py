"""From tables to the object: every check within and between tables, all faults noted before any is raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.cells import common_kind, id_texts, numbers, restore_ids, sort_ids
from sphunc.io.clock import TimeColumn, kind_of
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.groups import read_groups, read_links
from sphunc.io.outcomes import read_outcomes
from sphunc.io.scope import Options, Scope, checked_times, note_duplicates
from sphunc.io.sources import Table


def build(tables: dict[str, Table], options: Options, log: FaultLog) -> TemporalHypergraph:
    """Check ``tables`` (features, and whatever else there is) and put them together; ``tables`` is emptied."""
    scope, feature_time = _scope(tables, options, log)
    columns: dict[str, Any] = {"feature_names": tables["features"].values}
    # Each table is let go once it is read: memory then holds one table of text at a time.
    columns["features"] = _features(tables.pop("features"), feature_time, scope)
    if "groups" in tables:
        columns |= read_groups(tables.pop("groups"), scope)
    if "outcomes" in tables:
        columns |= read_outcomes(tables.pop("outcomes"), scope)
    if "influence" in tables:
        columns["influence"] = read_links(tables.pop("influence"), scope)
        columns["influence_kind"] = options.influence_kind or "observed"
    log.raise_if_any()
    if not scope.agents or not scope.times:
        raise single_fault(scope.features_file, "there are no agents and times", "Write at least one row")
    ids = restore_ids(scope.agents, scope.agent_kind)
    try:
        return assemble(times=scope.times, node_ids=ids, attributes=dict(options.attributes or {}), **columns)
    except ArgumentError as error:  # the panel is larger than the machine
        raise single_fault(scope.features_file, str(error), "Then read the tables again") from error


def _scope(tables: Mapping[str, Table], options: Options, log: FaultLog) -> tuple[Scope, TimeColumn]:
    table = tables["features"]
    kind = common_kind(list(_agent_columns(tables)), "agent", log, prefer=options.id_kind)
    parsed = checked_times(table, log, None, "")
    given = _given_agents(kind, options, log)
    found = set(id_texts(table, "agent").drop_nulls().unique().to_list())
    kinds = parsed.kinds()
    times = {value for value in parsed.values if value is not None}
    times |= {time for time in options.times if not kinds or kind_of(time) == kinds[0]}
    agents = [*given, *sort_ids(list(found.difference(given)), kind)]
    return Scope(agents, kind, sorted(times), table.file, log, options), parsed


def _given_agents(kind: str, options: Options, log: FaultLog) -> list[str]:
    wanted = int if kind == "integer" else str
    if all(type(agent) is wanted for agent in options.agents):
        return [str(agent) for agent in options.agents]
    if not options.id_kind:  # the user's own list, not that of a manifest which the tables have outgrown
        other, here = ("integers", "text") if kind == "text" else ("text", "integers")
        problem = f"agents are {other}, but the agent ids of the tables are {here}"
        log.add(Fault("agents", problem, "Give them as the same kind"))
    return []


def _agent_columns(tables: Mapping[str, Table]) -> Iterator[tuple[Table, str]]:
    for name, table in tables.items():
        for role in ("source", "target") if name == "influence" else ("agent",):
            yield table, role


def _features(table: Table, parsed: TimeColumn, scope: Scope) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if table.frame.height == 0 and not scope.options.allow_empty_groups:
        scope.log.add(Fault(table.file, "there is a header but no row", "Write one row per time and agent"))
    time = parsed.index({time: i for i, time in enumerate(scope.times)})
    agent = scope.agent_index(table, "agent")
    values = np.empty((table.frame.height, len(table.values)), dtype=np.float32)
    missing = scope.options.nan_is_missing
    for i, name in enumerate(table.values):
        values[:, i] = numbers(table, name, scope.log, what="a feature", nan_is_missing=missing)
    good = note_duplicates(table, [time, agent], "agent", "a row for this time and agent", scope.log)
    return (time, agent, values) if good.all() else (time[good], agent[good], values[good])
