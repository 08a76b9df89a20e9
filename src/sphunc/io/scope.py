"""What all tables must agree on: the agents and the times, and how rows that do not fit are noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sphunc.io.cells import id_texts, looks_alike
from sphunc.io.clock import TimeColumn, kind_of, parse_times
from sphunc.io.faults import Fault, FaultLog, describe_known
from sphunc.io.sources import Table


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
        id_kind: "integer" or "text" for untyped agent ids; "" decides by looking.
        group_kind: the same for group ids.
        attributes: carried along.
    """

    drop_unknown: bool = False
    nan_is_missing: bool = False
    allow_empty_groups: bool = False
    allow_rare_classes: bool = False
    outcome: str = "auto"
    influence_kind: str = ""
    agents: Sequence[Any] = ()
    times: Sequence[Any] = ()
    classes: Sequence[str] = ()
    id_kind: str = ""
    group_kind: str = ""
    attributes: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Scope:
    """The agents and times that all tables must agree on."""

    agents: Sequence[str]
    agent_kind: str
    times: Sequence[Any]
    features_file: str
    log: FaultLog
    options: Options

    def agent_index(self, table: Table, role: str, *, required: bool = True) -> np.ndarray:
        """Return the index of each row's agent, -1 where unknown (noted unless dropped) or empty (noted)."""
        texts = id_texts(table, role)
        index = _code(texts, self.agents)
        column = table.roles[role]
        if required:
            table.note(self.log, texts.is_null(), column, "the agent is missing", "Write its id, or remove the row")
        if not self.options.drop_unknown:
            remedy = "Correct the id, add its features, or pass drop_unknown=True (--drop-unknown)"
            table.note(self.log, (index < 0) & texts.is_not_null().to_numpy(), column, self._unknown_agent, remedy)
        return index

    def time_index(self, table: Table) -> np.ndarray:
        """Return the index of each row's time, -1 where it is faulty or unknown (noted unless dropped)."""
        column = table.roles["time"]
        parsed = checked_times(table, self.log, kind_of(self.times[0]) if self.times else None, self.features_file)
        index = parsed.index({time: i for i, time in enumerate(self.times)})
        if not self.options.drop_unknown:
            unknown = (index < 0) & parsed.mask(value is not None for value in parsed.values)
            problem = f"does not occur in {self.features_file} ({describe_known('times', self.times)})"
            remedy = "Correct it, add features for that time, or pass drop_unknown=True (--drop-unknown)"
            table.note(self.log, unknown, column, lambda value: f"time {_shown(value)} {problem}", remedy)
        return index

    def _unknown_agent(self, value: Any) -> str:
        alike = looks_alike(str(value), self.agents)
        hint = f"; it looks like {alike!r}" if alike is not None else ""
        return f"agent {value!r} has no row in {self.features_file} ({describe_known('agents', self.agents)}){hint}"


def checked_times(table: Table, log: FaultLog, kind: str | None, features_file: str) -> TimeColumn:
    """Parse the times of a table and note those that are empty, not times, or of another kind than ``kind``."""
    name = table.roles["time"]
    parsed = parse_times(table.column("time"))
    if parsed is None:
        problem = f"times have type {table.column('time').dtype}"
        log.add(Fault(table.file, problem, "Write integers, dates or ISO datetimes", column=name))
        return TimeColumn(np.full(table.frame.height, -1), ())
    table.note(log, parsed.codes < 0, name, "the time is missing", "Write the time of this row, or remove the row")
    remedy = "Write an integer, a date (2026-01-31) or an ISO datetime (2026-01-31T12:00:00)"
    bad = parsed.mask(value is None for value in parsed.values)
    table.note(log, bad, name, lambda value: f"{value!r} is not a time", remedy)
    kinds = parsed.kinds()
    expected = kind or (kinds[0] if kinds else "integer")
    where = f"times in {features_file} are" if kind else "most times here are"
    other = parsed.mask(value is not None and kind_of(value) != expected for value in parsed.values)
    problem = f"but {where} of the kind {expected}"
    remedy = f"Write every time of every table as {expected}"
    table.note(log, other, name, lambda value: f"{_shown(value)} is no {expected}, {problem}", remedy)
    kept = tuple(None if value is None or kind_of(value) != expected else value for value in parsed.values)
    return TimeColumn(parsed.codes, kept)


def note_duplicates(table: Table, keys: list[np.ndarray], role: str, what: str, log: FaultLog) -> np.ndarray:
    """Note rows whose keys stood before; return the rows that are whole and first of their kind."""
    whole = np.logical_and.reduce([key >= 0 for key in keys])
    code = _joined(keys)
    code = code if whole.all() else code[whole]
    ordered = np.sort(code)
    if not (ordered[1:] == ordered[:-1]).any():
        return whole
    first = np.ones(len(whole), dtype=bool)
    first[whole] = pl.Series(code).is_first_distinct().to_numpy()
    problem = f"there is already {what}"
    table.note(log, ~first, table.roles[role], lambda value: f"{problem} ({value!r})", "Keep one of the rows")
    return whole & first


def _joined(keys: list[np.ndarray]) -> np.ndarray:
    code = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        code *= int(key.max(initial=0)) + 1
        code += key
    return code


def _code(texts: pl.Series, known: Sequence[str]) -> np.ndarray:
    codes = texts.cast(pl.Enum(known), strict=False).to_physical().cast(pl.Int32)
    return codes.fill_null(-1).to_numpy()


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
