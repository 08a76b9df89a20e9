"""How a user's tables are written: which column plays which role, marks of missing values, dates, decimal signs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from sphunc._checks import did_you_mean
from sphunc.errors import ArgumentError
from sphunc.io.faults import Fault, single_fault

NAME = "sphunc.toml"
OUTCOME_KINDS = ("auto", "class", "number")
DECIMAL_SIGNS = (".", ",")


@dataclass(frozen=True)
class Layout:
    """What a user says about tables that are not written in the way of this library.

    Attributes:
        agent: name of the column of agents; None finds it by its usual names.
        time: of times.
        group: of groups.
        outcome: of outcomes; in the features where there is no table of outcomes.
        drop: names of columns that are left out.
        missing: texts or numbers that stand for a missing value, besides the usual marks.
        dayfirst: True reads 31/01/2026, False 01/31/2026; None refuses both.
        delimiter: of CSV files; None finds it in the header.
        decimal: sign in numbers, "." or ","; None finds it in files that commas do not separate.
        table: name of one long table in the folder, in place of features, groups and outcomes.
        outcome_kind: "class", "number", or "auto".
        nan_is_missing: take NaN of typed tables as "not observed".
        drop_unknown: leave out rows whose agent or time the features do not know.
        allow_empty_groups: keep groups without members, and tables without rows.
        allow_rare_classes: accept a class that only one row has.
        influence_kind: what the links are, in a word.
    """

    agent: str | None = None
    time: str | None = None
    group: str | None = None
    outcome: str | None = None
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    dayfirst: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    table: str | None = None
    outcome_kind: str = "auto"
    nan_is_missing: bool = False
    drop_unknown: bool = False
    allow_empty_groups: bool = False
    allow_rare_classes: bool = False
    influence_kind: str = ""

    def __post_init__(self) -> None:
        check_outcome_kind(self.outcome_kind)
        if self.delimiter is not None and (len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'):
            raise ArgumentError(f"delimiter is {self.delimiter!r}; give one character, e.g. ';'")
        if self.decimal is not None and self.decimal not in DECIMAL_SIGNS:
            raise ArgumentError(f"decimal is {self.decimal!r}; choose '.' or ','")

    def role(self, name: str) -> str | None:
        """Return the column that plays a role, if the user named it."""
        return {"agent": self.agent, "time": self.time, "group": self.group, "outcome": self.outcome}.get(name)


def check_outcome_kind(kind: str) -> None:
    """Refuse an unknown kind of outcome."""
    if kind not in OUTCOME_KINDS:
        raise ArgumentError(f"outcome_kind is {kind!r}; choose one of {', '.join(OUTCOME_KINDS)}")


def layout_of(folder: Path, given: Mapping[str, object]) -> Layout:
    """Return the layout that ``sphunc.toml`` in the folder states, changed by what was given.

    Args:
        folder: of the tables.
        given: values by name; those that equal the default leave the file's.
    """
    stated = _read(folder / NAME)
    defaults = Layout()
    changed = {name: value for name, value in given.items() if _is_given(value, getattr(defaults, name))}
    return changed_layout(stated, changed)


def changed_layout(layout: Layout, values: Mapping[str, object]) -> Layout:
    """Return the layout with other values; single texts and numbers are taken where several are allowed.

    Args:
        layout: left as it is.
        values: by name.
    """
    lists = {name: _texts(values[name]) for name in ("drop", "missing") if name in values}
    return replace(layout, **{**values, **lists})  # pyright: ignore[reportArgumentType]


def _is_given(value: object, default: object) -> bool:
    if isinstance(default, tuple):
        return bool(value) or value == 0
    return value != default


def _read(path: Path) -> Layout:
    if not path.is_file():
        return Layout()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, OSError) as error:
        problem = f"the file is no TOML ({error})"
        raise single_fault(Fault(NAME, problem, 'Write lines such as agent = "pupil"')) from error
    known = [field.name for field in fields(Layout)]
    for name, value in document.items():
        if name not in known:
            problem = f"{name!r} is not a key{did_you_mean(name, known)}"
            raise single_fault(Fault(NAME, problem, f"Use {', '.join(known)}"))
        _check_kind(name, value)
    try:
        return changed_layout(Layout(), document)
    except ArgumentError as error:
        raise single_fault(Fault(NAME, str(error), "Correct the file")) from error


def _check_kind(name: str, value: object) -> None:
    default = getattr(Layout(), name)
    if isinstance(default, tuple):
        fits = isinstance(value, str | int | float | list)
        wanted = "a text or a list of them"
    elif isinstance(default, bool) or name == "dayfirst":
        fits = isinstance(value, bool)
        wanted = "true or false"
    else:
        fits = isinstance(value, str)
        wanted = "a text"
    if not fits:
        raise single_fault(Fault(NAME, f"{name} is {value!r}", f"Give {wanted}"))


def _texts(values: object) -> tuple[str, ...]:
    """Return one value or several as texts: -99 is "-99"."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        return (str(values),)
    return tuple(str(value) for value in values)
