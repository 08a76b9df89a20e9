"""What a data set says about itself: where it comes from, under which licence, and what its files must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from sphunc.datasets.tables import DatasetTables
from sphunc.errors import DataError

MOST_FAULTS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class DatasetCard:
    """The papers of a data set. Nothing is ever downloaded: ``obtain`` says how to get the files oneself.

    Attributes:
        name: the name that :func:`sphunc.load_dataset` takes.
        title: what it is, in a line.
        source: addresses of the official releases.
        licence: the terms as their owners state them.
        citation: what to cite.
        obtain: how to get the files.
        layout: the trees that are understood, one per line.
        redistributable: False where the terms forbid passing the data on.
        expected: counts by release and quantity: those that the owners publish, and those that were counted once on
            the public files, so that another copy can be held against them.
        checksums: SHA-256 of public files, by release and file name.
    """

    name: str
    title: str
    source: tuple[str, ...]
    licence: str
    citation: str
    obtain: str
    layout: tuple[str, ...]
    redistributable: bool
    expected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    checksums: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def papers(self) -> str:
        """Return the lines that every refusal ends with: layouts, way to obtain, addresses, licence."""
        layouts = "\n".join(f"    {line}" for line in self.layout)
        addresses = "\n".join(f"    {address}" for address in self.source)
        return (
            f"  {self.name} is read from one of\n{layouts}\n  To obtain it: {self.obtain}\n"
            f"  Source:\n{addresses}\n  Licence: {self.licence}"
        )


@dataclass(frozen=True)
class Dataset:
    """A card, the options that loading takes (a frozen dataclass), and the reader."""

    card: DatasetCard
    options: type
    read: Callable[[Path, Any], DatasetTables]


def refuse(card: DatasetCard, where: Path | str, fault: str) -> NoReturn:
    """Raise the error for a tree that is not the data set, with everything needed to get the right one.

    Args:
        card: of the data set.
        where: the path that was given.
        fault: what is wrong with it.
    """
    raise DataError(f"{where}: {fault}\n{card.papers()}")


def refuse_faults(what: str, faults: Sequence[str]) -> None:
    """Raise one error that lists the faults, the first 20 in full; do nothing when there are none.

    Args:
        what: what has the faults.
        faults: one sentence each.
    """
    if not faults:
        return
    lines = [f"  {fault}" for fault in faults[:MOST_FAULTS_SHOWN]]
    if len(faults) > MOST_FAULTS_SHOWN:
        lines.append(f"  ... and {len(faults) - MOST_FAULTS_SHOWN} more")
    raise DataError(f"{what}: {len(faults)} fault(s)\n" + "\n".join(lines))
