"""From tables as they were read to features, groups, outcomes and influence, and what there is to say about it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from sphunc.io.faults import FaultLog
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.long_table import split_long, take_outcome
from sphunc.io.tables.roles import LONG, check_named_columns
from sphunc.io.tables.table import Table


def arrange(tables: Mapping[str, Table], layout: Layout, log: FaultLog) -> dict[str, Table]:
    """Split a long table, and choose the column of outcomes; names that no table has are refused.

    Args:
        tables: by kind, as they were read.
        layout: what the user said of them.
        log: takes notes.
    """
    columns = [name for table in tables.values() for name in (*table.frame.columns, *table.dropped)]
    check_named_columns(layout, columns)
    arranged = dict(tables)
    if LONG in arranged:
        return {**split_long(arranged.pop(LONG)), **arranged}
    name = layout.outcome
    if name is None:
        return arranged
    if "outcomes" not in arranged:
        return {**arranged, **take_outcome(arranged["features"], name)}
    outcomes = arranged["outcomes"]
    others = [column for column in outcomes.values if column != name]
    if others:
        log.note(f"{outcomes.file}: the outcome is {name!r}; {', '.join(map(repr, others))} is left out")
        arranged["outcomes"] = outcomes.without(others)
    return arranged


def say_notes(log: FaultLog) -> None:
    """Warn of what was read in another way than it stands in the tables."""
    if log.notes:
        warnings.warn("\n".join(dict.fromkeys(log.notes)), UserWarning, stacklevel=3)
