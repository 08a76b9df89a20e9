"""Faults of a user's files: where, what, and what to do; all of a file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sphunc.errors import DataError

SHOWN = 20


@dataclass(frozen=True)
class Fault:
    """One fault: the file, the row as a person sees it there, the column, the value, the problem and the remedy."""

    file: str
    problem: str
    remedy: str
    row: int | None = None
    column: str | None = None
    value: Any = None

    def __str__(self) -> str:
        row = "" if self.row is None else f" row {self.row}"
        column = "" if self.column is None else f", column {self.column}" if row else f" column {self.column}"
        return f"{self.file}{row}{column}: {self.problem}. {self.remedy}."


class FaultyDataError(DataError):
    """Data with faults; ``faults`` holds the ones that are shown, ``total`` counts all of them."""

    def __init__(self, faults: Sequence[Fault], total: int, text: str) -> None:
        super().__init__(text)
        self.faults = tuple(faults)
        self.total = total


@dataclass
class FaultLog:
    """Collects faults file by file, keeps the first 20 of each, counts the rest."""

    _shown: dict[str, list[Fault]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def add(self, fault: Fault, count: int = 1) -> None:
        """Note one fault; ``count`` above 1 says how many more are like it."""
        self.extend(fault.file, [fault], count)

    def extend(self, file: str, faults: Iterable[Fault], count: int) -> None:
        """Note ``count`` faults of ``file``, of which the first ones are given."""
        kept = [*self._shown.get(file, []), *faults]
        kept.sort(key=lambda fault: -1 if fault.row is None else fault.row)
        self._shown[file] = kept[:SHOWN]
        self._count[file] = self._count.get(file, 0) + count

    @property
    def total(self) -> int:
        """All faults noted so far."""
        return sum(self._count.values())

    def raise_if_any(self) -> None:
        """Raise one error that lists the faults of every file, if there are any."""
        if self.total:
            faults = [fault for shown in self._shown.values() for fault in shown]
            raise FaultyDataError(faults, self.total, self._text(faults))

    def _text(self, faults: Sequence[Fault]) -> str:
        if self.total == 1:
            return str(faults[0])
        blocks = []
        for file, shown in self._shown.items():
            count = self._count[file]
            lines = [f"{count} fault{'s' if count > 1 else ''} in {file}:", *(f"  {fault}" for fault in shown)]
            if count > len(shown):
                lines.append(f"  ... and {count - len(shown)} more in {file}")
            blocks.append("\n".join(lines))
        return "\n".join(blocks)


def describe_known(what: str, known: Sequence[Any]) -> str:
    """Say in a few words which values are known, e.g. ``540 agents known: p-001 ... p-540``."""
    if len(known) <= 4:
        return f"{what} known: {', '.join(map(str, known)) or 'none'}"
    return f"{len(known)} {what} known: {known[0]} ... {known[-1]}"


def single_fault(file: str, problem: str, remedy: str, **place: Any) -> FaultyDataError:
    """Return the error for one fault that makes it senseless to look for more."""
    fault = Fault(file, problem, remedy, **place)
    return FaultyDataError([fault], 1, str(fault))


Problem = str | Callable[[Any], str]
