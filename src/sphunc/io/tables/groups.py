"""Groups and links of a table: who met whom in which group at which time, and who is known to influence whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sphunc.io.tables.cells import common_kind, id_texts, numbers, restore_ids
from sphunc.io.tables.scope import Scope, first_rows
from sphunc.io.tables.table import Table
from sphunc.io.times import factorize


def read_groups(table: Table, scope: Scope) -> dict[str, Any]:
    """Return groups and memberships as :func:`sphunc.hypergraph.assemble` takes them.

    Args:
        table: columns ``time``, ``group``, ``agent`` and maybe ``weight``.
        scope: agents and times, and whether empty groups are kept.
    """
    allow_empty = scope.options.allow_empty_groups
    texts = id_texts(table, "group")
    empty = id_texts(table, "agent").is_null().to_numpy()
    if not allow_empty:
        flag = "or pass allow_empty_groups=True (--allow-empty)"
        table.note_if_empty(f"Write one row per time, group and agent, {flag}")
        problem = "the agent is missing, so that the group has no member in this row"
        table.note(empty, table.roles["agent"], problem, f"Write a member, remove the row, {flag}")
    kind = common_kind([(table, "group")], "group", prefer=scope.options.group_kind)
    remedy = "Write its name, or remove the row"
    table.note(texts.is_null(), table.roles["group"], "the group is missing", remedy)

    time = scope.time_index(table)
    agent = scope.agent_index(table, "agent", required=False)
    group, names = factorize(texts)
    weight = _weights(table, empty)
    members = first_rows(table, [time, group, agent], "agent", "this agent in this group at this time")
    meetings, meeting_of_row = _meetings(time, group, members | (empty & allow_empty))
    columns = [meeting_of_row, agent]
    if weight is not None:
        columns.append(weight)
    if not members.all():
        columns = [column[members] for column in columns]
    if table.log.total:
        return {}  # the ids may not be of the kind that they were taken for
    ids = restore_ids(names, kind)
    return {
        "hyperedge_ids": [ids[name] for name in meetings[1].tolist()],
        "hyperedge_time": meetings[0],
        "memberships": tuple(columns),
    }


def _meetings(time: np.ndarray, group: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the meetings, a meeting being a group at a time, in time order and then as they appear.

    Returns:
        Time and group of each meeting, ``[2, M]``, and the meeting of each row.
    """
    width = int(group.max(initial=0)) + 1
    key = time.astype(np.int64)
    key *= width
    key += group
    placed = rows & (time >= 0) & (group >= 0)
    keys = key
    if not placed.all():
        keys = key[placed]
    appearing = pl.Series(keys).unique(maintain_order=True).to_numpy()
    meetings = appearing[np.argsort(appearing // width, kind="stable")]
    by_key = np.argsort(meetings).astype(np.int32)
    meeting_of_row = np.zeros(len(key), dtype=np.int32)
    if len(meetings):
        place = np.searchsorted(meetings[by_key], key).clip(max=len(meetings) - 1)
        meeting_of_row = by_key[place]
    return np.stack([meetings // width, meetings % width]), meeting_of_row


def _weights(table: Table, empty: np.ndarray) -> np.ndarray | None:
    name = table.roles.get("weight")
    if name is None:
        return None
    weight = numbers(table, name, what="a weight", nan_is_missing=False)
    absent = table.frame[name].is_null().to_numpy()
    if absent.all():
        return None
    table.note(absent & ~empty, name, "the weight is missing", "Write a number, or drop the column")
    return weight


def read_links(table: Table, scope: Scope) -> np.ndarray:
    """Return the known links, ``[2, K]``, row 0 source, row 1 target.

    Args:
        table: columns ``source`` and ``target``.
        scope: the agents.
    """
    source = scope.agent_index(table, "source")
    target = scope.agent_index(table, "target")
    to_itself = (source == target) & (source >= 0)
    table.note(to_itself, table.roles["target"], "an agent is linked to itself", "Remove the row")
    kept = first_rows(table, [source, target], "target", "this link")
    return np.stack([source[kept], target[kept]])
