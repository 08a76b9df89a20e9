"""Groups and links of a table: who met whom in which group at which time, and who is known to influence whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sphunc.io.cells import common_kind, id_texts, numbers, restore_ids
from sphunc.io.clock import factorize
from sphunc.io.faults import Fault
from sphunc.io.scope import Scope, note_duplicates
from sphunc.io.sources import Table


def read_groups(table: Table, scope: Scope) -> dict[str, Any]:
    """Return groups and memberships as :func:`sphunc.hypergraph.assemble` takes them."""
    log, allowed = scope.log, scope.options.allow_empty_groups
    if table.frame.height == 0 and not allowed:
        remedy = "Write one row per time, group and agent, or pass allow_empty_groups=True (--allow-empty)"
        log.add(Fault(table.file, "there is a header but no row", remedy))
    kind = common_kind([(table, "group")], "group", log, prefer=scope.options.group_kind)
    texts = id_texts(table, "group")
    table.note(log, texts.is_null(), table.roles["group"], "the group is missing", "Write its name, or remove the row")
    time, agent = scope.time_index(table), scope.agent_index(table, "agent", required=False)
    group_code, names = factorize(texts)
    empty = id_texts(table, "agent").is_null().to_numpy()
    if not allowed:
        remedy = "Write a member, remove the row, or pass allow_empty_groups=True (--allow-empty)"
        problem = "the agent is missing, so that the group has no member in this row"
        table.note(log, empty, table.roles["agent"], problem, remedy)
    weight = _weights(table, scope)
    members = note_duplicates(table, [time, group_code, agent], "agent", "this agent in this group at this time", log)
    meeting, place = _meetings(time, group_code, members | (empty & allowed))
    columns = tuple(column for column in (place, agent, weight) if column is not None)
    if not members.all():
        columns = tuple(column[members] for column in columns)
    ids = restore_ids(names, kind) if not log.total else names
    return {
        "hyperedge_ids": [ids[g] for g in meeting[1].tolist()],
        "hyperedge_time": meeting[0],
        "memberships": columns,
    }


def _meetings(time: np.ndarray, group: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # A meeting is a group at a time; meetings stand in time order, then in order of first appearance.
    width = int(group.max(initial=0)) + 1
    key = time.astype(np.int64)
    key *= width
    key += group
    kept = rows & (time >= 0) & (group >= 0)
    appearing = pl.Series(key if kept.all() else key[kept]).unique(maintain_order=True).to_numpy()
    meetings = appearing[np.argsort(appearing // width, kind="stable")]
    by_key = np.argsort(meetings).astype(np.int32)
    place = np.zeros(len(key), dtype=np.int32)
    if len(meetings):
        place = by_key[np.searchsorted(meetings[by_key], key).clip(max=len(meetings) - 1)]
    return np.stack([meetings // width, meetings % width]), place


def _weights(table: Table, scope: Scope) -> np.ndarray | None:
    if "weight" not in table.roles:
        return None
    name = table.roles["weight"]
    weight = numbers(table, name, scope.log, what="a weight", nan_is_missing=False)
    present = table.frame[name].is_not_null().to_numpy()
    if not present.any():
        return None
    missing = ~present & id_texts(table, "agent").is_not_null().to_numpy()
    table.note(scope.log, missing, name, "the weight is missing", "Write a number, or drop the column")
    return weight


def read_links(table: Table, scope: Scope) -> np.ndarray:
    """Return the known links, ``[2, K]``, row 0 source, row 1 target."""
    source, target = scope.agent_index(table, "source"), scope.agent_index(table, "target")
    itself = (source == target) & (source >= 0)
    table.note(scope.log, itself, table.roles["target"], "an agent is linked to itself", "Remove the row")
    good = note_duplicates(table, [source, target], "target", "this link", scope.log)
    return np.stack([source[good], target[good]])
