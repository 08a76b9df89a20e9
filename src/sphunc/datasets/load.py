"""One door to the data sets: by name, from the user's own copy of the files, with everything checked on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from hashlib import sha256
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from sphunc._checks import did_you_mean
from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.tables import DatasetTables
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import SUFFIXES, read_tables

NAMES = ("pheme", "snare", "amigos", "financial", "collaboration")


def load_dataset(name: str, root: str | PathLike[str], *, strict: bool = False, **options: Any) -> TemporalHypergraph:
    """Read one of the paper's data sets from its official files. Nothing is downloaded.

    What was found is held against the counts and checksums of the public release; the result carries both in
    ``attributes["dataset"]`` (counts, expected, differences, licence, citation).

    Args:
        name: pheme, snare, amigos, financial or collaboration.
        root: the folder (for pheme also the archive) that the owner of the data published, see ``docs/datasets.md``;
            or a folder with tables of one's own (features, groups, outcomes), as :func:`sphunc.read_tables` takes.
        strict: refuse data whose counts or checksums differ from the public release. By default the differences are
            only recorded, because a part of a data set is a legitimate input.
        options: what the data set takes; see its options class, e.g. :class:`sphunc.datasets.pheme.PhemeOptions`.

    Raises:
        DataError: the folder is missing or holds something else; the message says where to get the data.
        ArgumentError: an option is unknown or has a value that is not allowed.
    """
    dataset = _dataset(name)
    card = dataset.card
    _check_options(dataset, options)
    chosen = dataset.options(**options)
    path = Path(root).expanduser()
    if not path.exists():
        refuse(card, path, "does not exist")
    if _holds_table(path, "features") and _holds_table(path, "groups"):
        if options:
            raise ArgumentError(f"{path} holds tables, which take no options of {name}; got {', '.join(options)}")
        return read_tables(path)

    tables = dataset.read(path, chosen)
    expected = tables.expected
    if expected is None:
        expected = card.expected.get(tables.release, {})
    differences = [*_count_differences(tables, expected), *_checksum_differences(card, tables.release, path)]
    if strict and differences:
        shown = "\n".join(f"  {line}" for line in differences)
        raise DataError(
            f"{path}: {name} {tables.release} differs from the public release\n{shown}\n"
            "  Get the complete release, or pass strict=False to use this part of it."
        )
    papers = {
        "name": name,
        "release": tables.release,
        "licence": card.licence,
        "citation": card.citation,
        "counts": dict(tables.counts),
        "expected": dict(expected),
        "differences": differences,
        "notes": list(tables.notes),
    }
    return tables.to_hypergraph({"dataset": papers})


def card(name: str) -> DatasetCard:
    """Return the card of a data set: title, source, licence, citation, layout, published counts."""
    return _dataset(name).card


def _dataset(name: str) -> Dataset:
    if name not in NAMES:
        raise DataError(
            f"there is no data set {name!r}; known: {', '.join(NAMES)}. "
            f"For your own: sphunc.read_tables{did_you_mean(name, NAMES)}"
        )
    return import_module(f"sphunc.datasets.{name}").DATASET


def _check_options(dataset: Dataset, options: Mapping[str, object]) -> None:
    allowed = {field.name: field.default for field in fields(dataset.options)}
    for option in sorted(options.keys() - allowed.keys()):
        shown = ", ".join(f"{name}={default!r}" for name, default in allowed.items())
        raise ArgumentError(f"{dataset.card.name} has no option {option!r}; options and defaults: {shown}")


def _holds_table(path: Path, table: str) -> bool:
    return any((path / f"{table}{suffix}").is_file() for suffix in SUFFIXES)


def _count_differences(tables: DatasetTables, expected: Mapping[str, int]) -> Iterator[str]:
    for quantity, count in expected.items():
        found = tables.counts.get(quantity, 0)
        if found != count:
            yield f"{quantity}: {found} found, {count} expected"


def _checksum_differences(card: DatasetCard, release: str, root: Path) -> Iterator[str]:
    for name, published in card.checksums.get(release, {}).items():
        for path in sorted(root.rglob(name))[:1]:
            if sha256(path.read_bytes()).hexdigest() != published:
                yield f"{name}: SHA-256 is not that of the public file, {published[:12]}..."
