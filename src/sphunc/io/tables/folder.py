"""A folder of tables, or one table or workbook of all, to a temporal hypergraph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.tables.arrange import arrange, say_notes
from sphunc.io.tables.build import build
from sphunc.io.tables.layout import Layout, layout_of
from sphunc.io.tables.manifest import Manifest, read_manifest
from sphunc.io.tables.roles import LONG, REQUIRED
from sphunc.io.tables.scope import Options
from sphunc.io.tables.sources import read_table
from sphunc.io.tables.table import Table
from sphunc.io.tables.workbooks import WORKBOOK, sheet_names

SUFFIXES = (".csv", ".tsv", ".parquet", WORKBOOK)
Texts = str | float | Sequence[str | float]
Place = tuple[Path, str | None]
"""A file, and a sheet of it if it is a workbook of several tables."""


def read_tables(
    folder: str | Path,
    *,
    agent: str | None = None,
    time: str | None = None,
    group: str | None = None,
    outcome: str | None = None,
    drop: str | Sequence[str] = (),
    missing: Texts = (),
    dayfirst: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    table: str | None = None,
    outcome_kind: str = "auto",
    influence_kind: str = "",
    drop_unknown: bool = False,
    nan_is_missing: bool = False,
    allow_empty_groups: bool = False,
    allow_rare_classes: bool = False,
    like: TemporalHypergraph | None = None,
) -> TemporalHypergraph:
    """Read ``features``, ``groups``, ``outcomes`` and ``influence`` (CSV, TSV, Parquet or Excel) from a folder.

    ``outcomes`` and ``influence`` may be missing. The columns are those of :func:`sphunc.from_frames`; CSV ids are
    integers if every id of every table is written as one (7, not 007), else text. ``sphunc.toml`` in the folder may
    state any of the arguments below; what was read in another way than it stands there is warned of.

    Args:
        folder: where the tables are; or one table that holds them all, or a workbook with a sheet for each.
        agent: name of the column of agents, where it is none of the usual ones.
        time: of the column of times.
        group: of the column of groups.
        outcome: of the column of outcomes, in the table of outcomes or, without one, in that of features.
        drop: columns that are left out.
        missing: numbers or texts that stand for a missing value, such as -99.
        dayfirst: True reads 31/01/2026, False 01/31/2026.
        delimiter: of CSV files; found in the header unless given.
        decimal: sign in numbers, "." or ","; a comma is found in files that are not separated by commas.
        table: file in the folder that holds agent, time, group, outcome and features in one.
        outcome_kind: "class", "number", or "auto": text, or at most 20 different whole numbers, are classes.
        influence_kind: what the links are, in a word; "observed" if not said.
        drop_unknown: leave out rows whose agent or time the features do not know, instead of refusing them.
        nan_is_missing: take NaN of Parquet files as "not observed" instead of refusing it.
        allow_empty_groups: keep groups whose agent cell is empty, and tables without rows.
        allow_rare_classes: accept a class that only one row has.
        like: data that these tables continue: kinds of ids, classes and categories are taken from it.

    Raises:
        DataError: lists every fault with file, row, column, value and remedy (the first 20 of each file, then a
            count). Rows of CSV files are line numbers (the header is line 1), rows of Parquet files count from 0.
    """
    path = Path(folder)
    home = path.parent if path.is_file() else path
    given = {
        "agent": agent,
        "time": time,
        "group": group,
        "outcome": outcome,
        "drop": drop,
        "missing": missing,
        "dayfirst": dayfirst,
        "delimiter": delimiter,
        "decimal": decimal,
        "table": table,
        "outcome_kind": outcome_kind,
        "influence_kind": influence_kind,
        "drop_unknown": drop_unknown,
        "nan_is_missing": nan_is_missing,
        "allow_empty_groups": allow_empty_groups,
        "allow_rare_classes": allow_rare_classes,
    }
    layout = layout_of(home, given)
    places = find_tables(path, layout)
    manifest = read_manifest(home)
    classes = manifest.classes
    if like is not None:
        classes = list(like.class_names)
    log = FaultLog()
    tables: dict[str, Table] = {}
    for kind, (file, sheet) in places.items():
        if (found := read_table(kind, file, layout, log, classes=classes, sheet=sheet)) is not None:
            tables[kind] = found
    log.raise_if_any()
    data = build(arrange(tables, layout, log), _options(layout, manifest, like), log)
    say_notes(log)
    return data


def _options(layout: Layout, manifest: Manifest, like: TemporalHypergraph | None) -> Options:
    kind = layout.outcome_kind
    if kind == "auto":
        kind = manifest.outcome
    if like is None:
        return Options(
            drop_unknown=layout.drop_unknown,
            nan_is_missing=layout.nan_is_missing,
            allow_empty_groups=layout.allow_empty_groups or manifest.allow_empty_groups,
            allow_rare_classes=layout.allow_rare_classes or manifest.allow_rare_classes,
            outcome=kind,
            influence_kind=layout.influence_kind or manifest.influence_kind,
            agents=manifest.agents,
            times=manifest.parsed_times(),
            classes=manifest.classes,
            id_kind=manifest.agent_ids,
            group_kind=manifest.group_ids,
            attributes=manifest.attributes,
        )
    if like.y is not None:
        kind = "class" if like.class_names else "number"
    return Options(
        drop_unknown=layout.drop_unknown,
        nan_is_missing=layout.nan_is_missing,
        allow_empty_groups=True,
        allow_rare_classes=True,
        outcome=kind,
        influence_kind=layout.influence_kind,
        times=manifest.parsed_times(),
        classes=like.class_names,
        id_kind=_kind_of(like.node_ids),
        group_kind=_kind_of(like.hyperedge_ids),
        features=like.feature_names,
    )


def _kind_of(ids: Sequence[object]) -> str:
    """Return "text" where text ids are wanted; integers are found by themselves."""
    return "text" if any(isinstance(one, str) for one in ids) else ""


def find_tables(path: Path, layout: Layout | None = None) -> dict[str, Place]:
    """Return table name -> file and sheet; a folder without features and groups, or with two of a kind, is a fault.

    Args:
        path: the folder, or a file that holds all tables.
        layout: may name one long table in the folder.
    """
    if path.is_file() and path.suffix.lower() in SUFFIXES and path.stem.lower() not in REQUIRED:
        return _tables_of_file(path)
    if not path.is_dir():
        problem = "the folder does not exist"
        if path.exists():
            problem = "the folder is a file"
        raise single_fault(Fault(str(path), problem, "Give the folder that holds features.csv and groups.csv"))
    if layout is not None and layout.table is not None:
        file = path / layout.table
        if not file.is_file():
            raise single_fault(Fault(path.name, f"there is no file {layout.table!r}", f"It holds {_content(path)}"))
        return {LONG: (file, None)}
    found: dict[str, list[Path]] = {kind: [] for kind in REQUIRED}
    for file in sorted(path.iterdir()):
        if file.is_file() and file.stem.lower() in found and file.suffix.lower() in SUFFIXES:
            found[file.stem.lower()].append(file)
    if not any(found.values()):
        raise single_fault(_no_tables(path))
    log = FaultLog()
    for kind, files in found.items():
        if len(files) > 1:
            names = " and ".join(file.name for file in files)
            log.add(Fault(kind, f"there are two files for one table: {names}", "Remove one of them"))
        if not files and kind in ("features", "groups"):
            problem = f"there is no {kind}.csv, {kind}.tsv, {kind}.parquet or {kind}.xlsx"
            log.add(Fault(kind, problem, f"Add {kind}.csv with the columns {', '.join(REQUIRED[kind])}"))
    log.raise_if_any()
    return {kind: (files[0], None) for kind, files in found.items() if files}


def _tables_of_file(path: Path) -> dict[str, Place]:
    """Return the sheets of a workbook that are called after tables, or the file as one long table."""
    if path.suffix.lower() == WORKBOOK:
        sheets = {name.strip().lower(): name for name in sheet_names(path)}
        kinds = {kind: (path, sheets[kind]) for kind in REQUIRED if kind in sheets}
        if "features" in kinds:
            return kinds  # pyright: ignore[reportReturnType]
    return {LONG: (path, None)}


def _no_tables(path: Path) -> Fault:
    problem = f"the folder has no tables; it holds {_content(path)}"
    remedy = "Put features and groups (.csv, .tsv, .parquet or .xlsx) there; outcomes and influence are optional"
    single = [file for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES]
    if len(single) == 1:
        name = single[0].name
        remedy += f". If {name} holds agents, times, groups and features in one, pass table={name!r} (--table {name})"
    return Fault(path.name or str(path), problem, remedy)


def _content(path: Path) -> str:
    return ", ".join(sorted(file.name for file in path.iterdir())[:8]) or "nothing"
