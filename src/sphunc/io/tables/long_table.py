"""One long table to three: features, groups and outcomes from rows that hold all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from sphunc.io.tables.cells import id_texts
from sphunc.io.tables.table import Table


def split_long(table: Table) -> dict[str, Table]:
    """Return the tables that one table of agent, time, group, outcome and features holds.

    An agent in several groups at a time has a row for each; features and outcome are taken once where the rows agree.

    Args:
        table: of kind "table", with the roles time and agent, and maybe group, weight and outcome.
    """
    time, agent = table.roles["time"], table.roles["agent"]
    extra = [table.roles[role] for role in ("group", "weight", "outcome") if role in table.roles]
    features = table.frame.drop(extra)
    tables = {"features": _part(table, features, "features", ("time", "agent"))}
    if "group" in table.roles:
        roles = tuple(role for role in ("time", "group", "agent", "weight") if role in table.roles)
        present = id_texts(table, "group").is_not_null()
        groups = table.frame.select([table.roles[role] for role in roles])
        tables["groups"] = _part(table, groups, "groups", roles, keep=present)
    if "outcome" in table.roles:
        outcome = table.roles["outcome"]
        present = table.frame[outcome].is_not_null()
        outcomes = table.frame.select(time, agent, outcome)
        tables["outcomes"] = _part(table, outcomes, "outcomes", ("time", "agent"), keep=present)
    return tables


def take_outcome(features: Table, outcome: str) -> dict[str, Table]:
    """Return features without a column, and that column as the table of outcomes.

    Args:
        features: the table.
        outcome: name of its column of outcomes.
    """
    roles = {**features.roles, "outcome": outcome}
    return split_long(replace(features, roles=roles))


def _part(table: Table, frame: pl.DataFrame, kind: str, roles: tuple[str, ...], keep: pl.Series | None = None) -> Table:
    """Return one table: some columns, rows that differ, each with its place in the file."""
    lines = table.lines
    if lines is None:
        lines = np.arange(frame.height)
    kept = first_distinct(frame)
    if keep is not None:
        kept = kept & keep
    rows = kept.to_numpy()
    return replace(
        table,
        kind=kind,
        frame=frame.filter(kept),
        roles={role: table.roles[role] for role in roles},
        lines=lines[rows],
    )


def first_distinct(frame: pl.DataFrame) -> pl.Series:
    """Say of every row whether none before it is equal."""
    return frame.select(pl.struct(pl.all()).is_first_distinct()).to_series()
