"""Faults of a user's files: where, what, and what to do; all of a file at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sphunc.errors import DataError

MOST_SHOWN = 20
"""Faults that an error lists of each file; the rest is counted."""


@dataclass(frozen=True)
class Fault:
    """One fault of a file.

    Attributes:
        file: its name.
        problem: what is wrong, as half a sentence.
        remedy: what to do.
        row: the row as a person sees it in the file; None for the whole file.
        column: name of the column.
        value: what the cell holds.
    """

    file: str
    problem: str
    remedy: str
    row: int | None = None
    column: str | None = None
    value: object = None

    def __str__(self) -> str:
        place = []
        if self.row is not None:
            place.append(f"row {self.row}")
        if self.column is not None:
            place.append(f"column {self.column}")
        where = f"{self.file} {', '.join(place)}".rstrip()
        return f"{where}: {self.problem}. {self.remedy}."


class FaultyDataError(DataError):
    """Data with faults; ``faults`` holds the ones that are shown, ``total`` counts all of them."""

    def __init__(self, faults: Sequence[Fault], total: int, text: str) -> None:
        super().__init__(text)
        self.faults = tuple(faults)
        self.total = total


class FaultLog:
    """Collects faults file by file, keeps the first 20 of each, counts the rest."""

    def __init__(self) -> None:
        self._shown: dict[str, list[Fault]] = {}
        self._count: dict[str, int] = {}
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        """Keep a sentence about what was read in another way than it stands there; no fault."""
        self.notes.append(sentence)

    def add(self, fault: Fault) -> None:
        """Take one fault."""
        self.extend(fault.file, [fault], 1)

    def extend(self, file: str, faults: Iterable[Fault], count: int) -> None:
        """Take several faults of one file.

        Args:
            file: its name.
            faults: at least the first 20 of them.
            count: how many there are.
        """
        shown = [*self._shown.get(file, []), *faults]
        shown.sort(key=_row_order)
        self._shown[file] = shown[:MOST_SHOWN]
        self._count[file] = self._count.get(file, 0) + count

    @property
    def total(self) -> int:
        """All faults so far."""
        return sum(self._count.values())

    def raise_if_any(self) -> None:
        """Raise one error that lists the faults of every file, if there are any."""
        if self.total:
            faults = [fault for shown in self._shown.values() for fault in shown]
            raise FaultyDataError(faults, self.total, self._text(faults))

    def _text(self, faults: Sequence[Fault]) -> str:
        if self.total == 1:
            return str(faults[0])
        lines = []
        for file, shown in self._shown.items():
            count = self._count[file]
            plural = "s" * (count > 1)
            lines.append(f"{count} fault{plural} in {file}:")
            lines.extend(f"  {fault}" for fault in shown)
            if count > len(shown):
                lines.append(f"  ... and {count - len(shown)} more in {file}")
        return "\n".join(lines)


def _row_order(fault: Fault) -> int:
    if fault.row is None:
        return -1  # faults of the whole file come first
    return fault.row


def single_fault(fault: Fault) -> FaultyDataError:
    """Return the error for one fault that makes it senseless to look for more."""
    return FaultyDataError([fault], 1, str(fault))


def describe_known(what: str, known: Sequence[object]) -> str:
    """Say in a few words which values are known, e.g. ``540 agents known: p-001 ... p-540``.

    Args:
        what: what they are, in the plural.
        known: the values in their order.
    """
    if len(known) > 4:
        return f"{len(known)} {what} known: {known[0]} ... {known[-1]}"
    return f"{what} known: {', '.join(map(str, known)) or 'none'}"
