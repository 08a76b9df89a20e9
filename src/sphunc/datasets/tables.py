"""What a reader hands over: the four tables of a temporal hypergraph, and counts to hold against the expected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import from_frames

OUTCOME_SCHEMA = {"time": pl.Int64, "agent": pl.String, "outcome": pl.String}


@dataclass(frozen=True, kw_only=True)
class DatasetTables:
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
        agents: all agents in their order, where some may never be observed; empty = those of the tables.
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
    times: tuple[int | date, ...] = ()
    agents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_hypergraph(self, attributes: Mapping[str, object]) -> TemporalHypergraph:
        """Build the data object, which carries ``attributes``; agents and times are sorted unless stated."""
        frames = (self.features, self.groups, self.outcomes)
        outcomes = self.outcomes
        if outcomes.is_empty():
            outcomes = None
        return from_frames(
            features=self.features,
            groups=self.groups,
            outcomes=outcomes,
            influence=self.influence,
            agents=self.agents or sorted(set().union(*(frame["agent"] for frame in frames))),
            times=self.times or sorted(set().union(*(frame["time"] for frame in frames))),
            classes=self.class_names,
            outcome_kind="class",
            influence_kind=self.influence_kind,
            nan_is_missing=True,
            allow_empty_groups=True,
            allow_rare_classes=True,
            attributes=attributes,
        )


def choose(name: str, got: object, allowed: Sequence[object]) -> None:
    """Refuse a value that is not allowed.

    Args:
        name: of the option.
        got: its value.
        allowed: the values to choose from.
    """
    if got not in allowed:
        raise ArgumentError(f"{name}={got!r} is not known; choose one of {', '.join(map(repr, allowed))}")


def dominant(frame: pl.DataFrame, value: str, latest: str) -> pl.DataFrame:
    """Return ``time, agent, outcome``: the most frequent value per time and agent.

    Ties go to the value that came last, then to the alphabetically first, so that the result does not depend on the
    order of the files.

    Args:
        frame: columns ``time``, ``agent`` and the two below.
        value: column of the values; null is no value.
        latest: column of the clock by which a value came last.
    """
    ranked = (
        frame.filter(pl.col(value).is_not_null())
        .group_by("time", "agent", value)
        .agg(pl.len().alias("_count"), pl.col(latest).max().alias("_last"))
        .sort("time", "agent", "_count", "_last", value, descending=[False, False, True, True, False])
    )
    first = ranked.group_by("time", "agent", maintain_order=True).first()
    return first.select("time", "agent", pl.col(value).alias("outcome"))


def carried(frame: pl.DataFrame, times: Sequence[int]) -> pl.DataFrame:
    """Repeat each agent's last known row at every later time that has none: nothing is foreseen.

    Args:
        frame: columns ``time``, ``agent`` and others.
        times: all times.
    """
    first = frame.group_by("agent").agg(pl.col("time").min().alias("_first"))
    grid = first.join(pl.DataFrame({"time": pl.Series(times, dtype=frame.schema["time"])}), how="cross")
    grid = grid.filter(pl.col("time") >= pl.col("_first")).select("time", "agent").sort("time", "agent")
    filled = grid.join_asof(frame.sort("time", "agent"), on="time", by="agent", check_sortedness=False)
    return filled.select(frame.columns)


def large_groups(groups: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Return each membership once, in a fixed order, without small groups.

    Args:
        groups: columns ``time``, ``group``, ``agent``.
        smallest: fewest different agents of a group.
    """
    unique = groups.select("time", "group", "agent").unique()
    return unique.filter(pl.len().over("time", "group") >= smallest).sort("time", "group", "agent")


def distinct_links(links: Sequence[tuple[str, str]], agents: Sequence[str]) -> pl.DataFrame:
    """Return ``source, target`` once per pair of different known agents, in a fixed order.

    Args:
        links: pairs of source and target.
        agents: those that are known.
    """
    known = set(agents)
    kept = sorted({(one, other) for one, other in links if one != other and one in known and other in known})
    return pl.DataFrame(kept, schema={"source": pl.String, "target": pl.String}, orient="row")
