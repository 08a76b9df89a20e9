"""What a reader hands over: the four tables of a temporal hypergraph, and counts to hold beside the expected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from sphunc.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A data set as tables, before it becomes a :class:`~sphunc.TemporalHypergraph`.

    Attributes:
        features: ``time, agent`` and one column per feature; null where not observed.
        groups: ``time, group, agent``, one row per membership.
        outcomes: ``time, agent, outcome``.
        influence: ``source, target``, or None.
        influence_kind: what the links are; they are observed social links, never causal truth.
        class_names: the classes in their natural order.
        release: which of the public releases it is.
        counts: what was found, by quantity.
        expected: counts to hold against, where the options ask for a part of the release; None = those of the card.
        times: all times in their order, where some may hold nothing; empty = those of the tables.
        agents: all agents in their order, where some may never be seen; empty = those of the tables.
        notes: choices that the reader had to make.
    """

    features: pl.DataFrame
    groups: pl.DataFrame
    outcomes: pl.DataFrame
    influence: pl.DataFrame | None = None
    influence_kind: str = ""
    class_names: tuple[str, ...] = ()
    release: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    expected: Mapping[str, int] | None = None
    times: tuple[Any, ...] = ()
    agents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def choose(name: str, got: object, allowed: Sequence[object]) -> None:
    """Refuse a value of option ``name`` that is not among the allowed ones."""
    if got not in allowed:
        raise ArgumentError(f"{name}={got!r} is not known; choose one of {', '.join(map(repr, allowed))}")


def at_least(name: str, got: object, least: int) -> None:
    """Refuse what is no whole number, or below what option ``name`` allows."""
    if isinstance(got, bool) or not isinstance(got, int) or got < least:
        raise ArgumentError(f"{name}={got!r} is too small or no whole number; give a whole number of at least {least}")


def dominant(frame: pl.DataFrame, value: str, latest: str) -> pl.DataFrame:
    """Return ``time, agent, outcome``: the most frequent ``value`` per time and agent.

    Ties go to the value that was seen last by the clock ``latest``, then to the alphabetically first, so that the
    result does not depend on the order of the files.
    """
    return (
        frame.filter(pl.col(value).is_not_null())
        .group_by("time", "agent", value)
        .agg(pl.len().alias("_count"), pl.col(latest).max().alias("_last"))
        .sort("time", "agent", "_count", "_last", value, descending=[False, False, True, True, False])
        .group_by("time", "agent", maintain_order=True)
        .first()
        .select("time", "agent", pl.col(value).alias("outcome"))
    )


def carried(frame: pl.DataFrame, times: Sequence[int]) -> pl.DataFrame:
    """Repeat each agent's last known row at every later time that has none: nothing is foreseen."""
    first = frame.group_by("agent").agg(pl.col("time").min().alias("_first"))
    grid = first.join(pl.DataFrame({"time": pl.Series(times, dtype=frame.schema["time"])}), how="cross")
    grid = grid.filter(pl.col("time") >= pl.col("_first")).select("time", "agent").sort("time", "agent")
    filled = grid.join_asof(frame.sort("time", "agent"), on="time", by="agent", check_sortedness=False)
    return filled.select(frame.columns)


def large_groups(groups: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Return each membership once, in groups of at least ``smallest`` different agents, in a fixed order."""
    unique = groups.select("time", "group", "agent").unique()
    return unique.filter(pl.len().over("time", "group") >= smallest).sort("time", "group", "agent")


def distinct_links(links: Sequence[tuple[str, str]], agents: pl.Series) -> pl.DataFrame:
    """Return ``source, target`` once per pair of different known agents, in a fixed order."""
    frame = pl.DataFrame(links, schema={"source": pl.String, "target": pl.String}, orient="row").unique()
    known = agents.unique().implode()
    kept = (pl.col("source") != pl.col("target")) & pl.col("source").is_in(known) & pl.col("target").is_in(known)
    return frame.filter(kept).sort("source", "target")
