"""What all tables must agree on: the agents and the times, and how rows that do not fit are noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sphunc.io.faults import describe_known
from sphunc.io.tables.cells import AgentId, id_texts, similar_id
from sphunc.io.tables.table import Table
from sphunc.io.tables.tidy import SLASHED_DATE
from sphunc.io.times import TIME_REMEDY, Time, TimeColumn, parse_times, time_kind


@dataclass(frozen=True)
class Options:
    """What to accept, and what the user knows beyond the tables.

    Attributes:
        drop_unknown: leave out rows whose agent or time is not in the features, instead of calling them faults.
        nan_is_missing: take NaN as "not observed".
        allow_empty_groups: keep groups without members (a row with an empty agent cell), and tables without rows.
        allow_rare_classes: accept a class that only one row has.
        outcome: "class", "number", or "auto" (text, or at most 20 different whole numbers, are classes).
        influence_kind: what the links are, in a word.
        agents: agents that exist although no row may mention them, in the order wanted.
        times: times that exist although no row may mention them.
        classes: class names in the order wanted.
        id_kind: "integer" or "text" for untyped agent ids; "" decides by their form.
        group_kind: the same for group ids.
        attributes: carried along.
        features: names of the features of data that these tables continue.
    """

    drop_unknown: bool = False
    nan_is_missing: bool = False
    allow_empty_groups: bool = False
    allow_rare_classes: bool = False
    outcome: str = "auto"
    influence_kind: str = ""
    agents: Sequence[AgentId] = ()
    times: Sequence[Time] = ()
    classes: Sequence[str] = ()
    id_kind: str = ""
    group_kind: str = ""
    attributes: Mapping[str, object] | None = None
    features: Sequence[str] = ()


@dataclass(frozen=True)
class Scope:
    """The agents and times that all tables must agree on.

    Attributes:
        agents: ids as text, in the order of the agent axis.
        agent_kind: "integer" or "text".
        times: ascending.
        features_file: name of the table that they come from.
        options: what to accept.
    """

    agents: Sequence[str]
    agent_kind: str
    times: Sequence[Time]
    features_file: str
    options: Options

    def agent_index(self, table: Table, role: str, *, required: bool = True) -> np.ndarray:
        """Return the index of each row's agent, -1 where it is unknown (noted unless dropped) or empty.

        Args:
            table: the table.
            role: of its column of agents.
            required: note empty cells.
        """
        texts = id_texts(table, role)
        codes = texts.cast(pl.Enum(self.agents), strict=False).to_physical().cast(pl.Int32)
        index = codes.fill_null(-1).to_numpy()
        column = table.roles[role]
        if required:
            table.note(texts.is_null(), column, "the agent is missing", "Write its id, or remove the row")
        if not self.options.drop_unknown:
            unknown = (index < 0) & texts.is_not_null().to_numpy()
            remedy = "Correct the id, add its features, or pass drop_unknown=True (--drop-unknown)"
            table.note(unknown, column, self._unknown_agent, remedy)
        return index

    def time_index(self, table: Table) -> np.ndarray:
        """Return the index of each row's time, -1 where it is faulty or unknown (noted unless dropped)."""
        kind = None
        if self.times:
            kind = time_kind(self.times[0])
        parsed = checked_times(table, kind, self.features_file)
        index = parsed.index(self.times)
        if not self.options.drop_unknown:
            unknown = (index < 0) & parsed.mask(value is not None for value in parsed.values)
            problem = f"does not occur in {self.features_file} ({describe_known('times', self.times)})"
            remedy = "Correct it, add features for that time, or pass drop_unknown=True (--drop-unknown)"
            table.note(unknown, table.roles["time"], lambda value: f"time {_shown(value)} {problem}", remedy)
        return index

    def _unknown_agent(self, value: object) -> str:
        known = describe_known("agents", self.agents)
        problem = f"agent {value!r} has no row in {self.features_file} ({known})"
        similar = similar_id(str(value), self.agents)
        if similar is not None:
            problem += f"; it looks like {similar!r}"
        return problem


def checked_times(table: Table, kind: str | None, features_file: str) -> TimeColumn:
    """Parse the times of a table and note those that are empty, no times, or of another kind.

    Args:
        table: the table.
        kind: the kind that its times must have; None takes the most frequent one.
        features_file: name of the table that has times of that kind.
    """
    name = table.roles["time"]
    column = table.column("time")
    parsed = parse_times(column)
    if parsed is None:
        table.note_whole(f"times have type {column.dtype}", "Write integers, dates or ISO datetimes", name)
        return TimeColumn(np.full(len(column), -1), ())
    table.note(parsed.codes < 0, name, "the time is missing", "Write the time of this row, or remove the row")
    unreadable = parsed.mask(value is None for value in parsed.values)
    unordered = unreadable & _is_date_of_unknown_order(column)
    if unordered.any():
        example = column.filter(pl.Series(unordered))[0]
        problem = (
            f"{int(unordered.sum()):,} times are written like {example!r}, where the day or the month may come first"
        )
        remedy = "Pass dayfirst=True (--dayfirst) or dayfirst=False (--monthfirst), or write 2026-01-31"
        table.note_whole(problem, remedy, name)
    table.note(unreadable & ~unordered, name, lambda value: f"{value!r} is not a time", TIME_REMEDY)

    where = f"times in {features_file} are"
    if kind is None:
        kind = next(iter(parsed.kinds()), "integer")
        where = "most times here are"
    others = [value is not None and time_kind(value) != kind for value in parsed.values]
    problem = f"is no {kind}, but {where} of the kind {kind}"
    remedy = f"Write every time of every table as {kind}"
    table.note(parsed.mask(others), name, lambda value: f"{_shown(value)} {problem}", remedy)
    kept = [None if other else value for value, other in zip(parsed.values, others, strict=True)]
    return TimeColumn(parsed.codes, tuple(kept))


def _is_date_of_unknown_order(column: pl.Series) -> np.ndarray:
    """Say which cells are dates with slashes that are right in one order at least."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return np.zeros(len(column), dtype=bool)
    text = column.cast(pl.String).str.strip_chars()
    fitting = text.set((~text.str.contains(SLASHED_DATE)).fill_null(True), None).str.replace_all("-", "/")
    right = [fitting.str.to_date(order, strict=False).is_not_null() for order in ("%d/%m/%Y", "%m/%d/%Y")]
    return (right[0] | right[1]).to_numpy()


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return str(value)


def first_rows(table: Table, keys: Sequence[np.ndarray], role: str, what: str) -> np.ndarray:
    """Note rows whose keys stood before; return which rows are complete and first of their kind.

    Args:
        table: the table.
        keys: columns of indices, -1 where there is none.
        role: of the column that messages name.
        what: what is there already.
    """
    complete = np.logical_and.reduce([key >= 0 for key in keys])
    code = np.zeros(len(complete), dtype=np.int64)
    for key in keys:
        code *= int(key.max(initial=0)) + 1
        code += key
    if not complete.all():
        code = code[complete]
    ordered = np.sort(code)
    if not (ordered[1:] == ordered[:-1]).any():
        return complete
    first = np.ones(len(complete), dtype=bool)
    first[complete] = pl.Series(code).is_first_distinct().to_numpy()
    problem = f"there is already {what}"
    table.note(~first, table.roles[role], lambda value: f"{problem} ({value!r})", "Keep one of the rows")
    return complete & first
