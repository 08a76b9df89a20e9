"""A folder of tables to a temporal hypergraph."""

from __future__ import annotations

from pathlib import Path

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.tables.build import build
from sphunc.io.tables.frames import check_outcome
from sphunc.io.tables.manifest import read_manifest
from sphunc.io.tables.roles import REQUIRED
from sphunc.io.tables.scope import Options
from sphunc.io.tables.sources import read_table
from sphunc.io.tables.table import Table

SUFFIXES = (".csv", ".tsv", ".parquet")


def read_tables(
    folder: str | Path,
    *,
    delimiter: str | None = None,
    outcome: str = "auto",
    influence_kind: str = "",
    drop_unknown: bool = False,
    nan_is_missing: bool = False,
    allow_empty_groups: bool = False,
    allow_rare_classes: bool = False,
) -> TemporalHypergraph:
    """Read ``features``, ``groups``, ``outcomes`` and ``influence`` (CSV, TSV or Parquet) from a folder.

    ``outcomes`` and ``influence`` may be missing. The columns are those of :func:`sphunc.from_frames`; CSV ids are
    integers if every id of every table is written as one (7, not 007), else text.

    Args:
        folder: where the tables are.
        delimiter: of CSV files; a comma (a tab in ``.tsv``) unless given.
        outcome: "class", "number", or "auto": text, or at most 20 different whole numbers, are classes.
        influence_kind: what the links are, in a word; "observed" if not said.
        drop_unknown: leave out rows whose agent or time the features do not know, instead of refusing them.
        nan_is_missing: take NaN as "not observed" instead of refusing it.
        allow_empty_groups: keep groups whose agent cell is empty, and tables without rows.
        allow_rare_classes: accept a class that only one row has.

    Raises:
        DataError: lists every fault with file, row, column, value and remedy (the first 20 of each file, then a
            count). Rows of CSV files are line numbers (the header is line 1), rows of Parquet files count from 0.
    """
    check_outcome(outcome)
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise ArgumentError(f"delimiter is {delimiter!r}; give one character, e.g. ';'")
    paths = find_tables(Path(folder))
    manifest = read_manifest(Path(folder))
    if outcome == "auto":
        outcome = manifest.outcome
    options = Options(
        drop_unknown=drop_unknown,
        nan_is_missing=nan_is_missing,
        allow_empty_groups=allow_empty_groups or manifest.allow_empty_groups,
        allow_rare_classes=allow_rare_classes or manifest.allow_rare_classes,
        outcome=outcome,
        influence_kind=influence_kind or manifest.influence_kind,
        agents=manifest.agents,
        times=manifest.parsed_times(),
        classes=manifest.classes,
        id_kind=manifest.agent_ids,
        group_kind=manifest.group_ids,
        attributes=manifest.attributes,
    )
    log = FaultLog()
    tables: dict[str, Table] = {}
    for kind, path in paths.items():
        if (table := read_table(kind, path, delimiter, log)) is not None:
            tables[kind] = table
    log.raise_if_any()
    return build(tables, options, log)


def find_tables(folder: Path) -> dict[str, Path]:
    """Return table name -> file; a folder without features and groups, or with two of a kind, is a fault."""
    if not folder.is_dir():
        problem = "the folder does not exist"
        if folder.exists():
            problem = "the folder is a file"
        raise single_fault(Fault(str(folder), problem, "Give the folder that holds features.csv and groups.csv"))
    found: dict[str, list[Path]] = {kind: [] for kind in REQUIRED}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.stem.lower() in found and path.suffix.lower() in SUFFIXES:
            found[path.stem.lower()].append(path)
    if not any(found.values()):
        present = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        problem = f"the folder has no tables; it holds {present}"
        remedy = "Put features and groups (.csv, .tsv or .parquet) there; outcomes and influence are optional"
        raise single_fault(Fault(folder.name or str(folder), problem, remedy))
    log = FaultLog()
    for kind, paths in found.items():
        if len(paths) > 1:
            names = " and ".join(path.name for path in paths)
            log.add(Fault(kind, f"there are two files for one table: {names}", "Remove one of them"))
        if not paths and kind in ("features", "groups"):
            problem = f"there is no {kind}.csv, {kind}.tsv or {kind}.parquet"
            log.add(Fault(kind, problem, f"Add {kind}.csv with the columns {', '.join(REQUIRED[kind])}"))
    log.raise_if_any()
    return {kind: paths[0] for kind, paths in found.items() if paths}
