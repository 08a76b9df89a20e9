"""One door to the data sets: by name, from the user's own copy of the files, with everything checked on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from hashlib import sha256
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from sphunc.datasets.assembly import assembled
from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.reading import Reading
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import SUFFIXES, read_tables

NAMES = ("pheme", "snare", "amigos", "financial", "collaboration")


def load_dataset(name: str, root: str | PathLike[str], *, strict: bool = False, **options: Any) -> TemporalHypergraph:
    """Read one of the paper's data sets from its official files. Nothing is downloaded.

    What was found is held beside the counts and checksums of the public release; the result carries both in
    ``attributes["dataset"]`` (counts, expected, differences, licence, citation).

    Args:
        name: pheme, snare, amigos, financial or collaboration.
        root: the folder (for pheme also the archive) that the owner of the data published, see ``docs/datasets.md``;
            or a folder with tables of one's own (features, groups, outcomes), as :func:`sphunc.read_tables` takes.
        strict: refuse data whose counts or checksums differ from the public release. By default the differences are
            only recorded, because a part of a data set is a legitimate input.
        options: what the data set takes; see its options class, e.g. :class:`sphunc.datasets.pheme.PhemeOptions`.

    Raises:
        DataError: the folder is missing or holds something else; the message tells where to get the data.
        ArgumentError: an option is unknown or has a value that is not allowed.
    """
    dataset = _dataset(name)
    chosen = _options(dataset, options)
    path = Path(root).expanduser()
    if not path.exists():
        refuse(dataset.card, path, "does not exist")
    if _holds_tables(path):
        return _own_tables(dataset.card, path, options)
    reading = dataset.read(path, chosen)
    differing = [*_count_differences(dataset.card, reading), *_checksum_differences(dataset.card, reading, path)]
    if strict and differing:
        shown = "\n".join(f"  {line}" for line in differing)
        raise DataError(
            f"{path}: {name} {reading.release} differs from the public release\n{shown}\n"
            "  Get the complete release, or pass strict=False to use this part of it."
        )
    return assembled(reading, {"dataset": _papers(dataset.card, reading, differing)})


def card(name: str) -> DatasetCard:
    """Return the card of a data set: title, source, licence, citation, layout, published counts."""
    return _dataset(name).card


def _dataset(name: str) -> Dataset:
    if name not in NAMES:
        near = get_close_matches(str(name), NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(
            f"there is no data set {name!r}; known: {', '.join(NAMES)}.{hint} For your own: sphunc.read_tables"
        )
    return import_module(f"sphunc.datasets.{name}").DATASET


def _holds_tables(path: Path) -> bool:
    return all(any((path / f"{table}{suffix}").is_file() for suffix in SUFFIXES) for table in ("features", "groups"))


def _own_tables(card: DatasetCard, path: Path, options: dict[str, Any]) -> TemporalHypergraph:
    if options:
        raise ArgumentError(f"{path} holds tables, which take no options of {card.name}; got {', '.join(options)}")
    return read_tables(path)


def _options(dataset: Dataset, options: dict[str, Any]) -> Any:
    allowed = {field.name: field.default for field in fields(dataset.options)}
    if unknown := sorted(options.keys() - allowed.keys()):
        shown = ", ".join(f"{option}={default!r}" for option, default in allowed.items())
        raise ArgumentError(f"{dataset.card.name} has no option {unknown[0]!r}; options and defaults: {shown}")
    return dataset.options(**options)


def _expected(card: DatasetCard, reading: Reading) -> dict[str, int]:
    return dict(card.expected.get(reading.release, {}) if reading.expected is None else reading.expected)


def _count_differences(card: DatasetCard, reading: Reading) -> Iterator[str]:
    for quantity, expected in _expected(card, reading).items():
        found = reading.counts.get(quantity, 0)
        if found != expected:
            yield f"{quantity}: {found} found, {expected} expected"


def _checksum_differences(card: DatasetCard, reading: Reading, root: Path) -> Iterator[str]:
    for name, published in card.checksums.get(reading.release, {}).items():
        found = next((path for path in sorted(root.rglob(name)) if path.is_file()), None) if root.is_dir() else None
        if found is not None and sha256(found.read_bytes()).hexdigest() != published:
            yield f"{name}: SHA-256 is not that of the public file, {published[:12]}..."


def _papers(card: DatasetCard, reading: Reading, differing: list[str]) -> dict[str, Any]:
    return {
        "name": card.name,
        "release": reading.release,
        "licence": card.licence,
        "citation": card.citation,
        "counts": dict(reading.counts),
        "expected": _expected(card, reading),
        "differences": differing,
        "notes": list(reading.notes),
    }
