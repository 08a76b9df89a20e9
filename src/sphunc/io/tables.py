"""A folder of tables to a temporal hypergraph and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.building import build
from sphunc.io.columns import REQUIRED
from sphunc.io.faults import Fault, FaultLog, single_fault
from sphunc.io.files import replacing
from sphunc.io.frames import check_outcome
from sphunc.io.manifest import Manifest, read_manifest, write_manifest
from sphunc.io.scope import Options
from sphunc.io.sources import Table, read_table

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
    given = Options(
        drop_unknown=drop_unknown,
        nan_is_missing=nan_is_missing,
        allow_empty_groups=allow_empty_groups,
        allow_rare_classes=allow_rare_classes,
        outcome=outcome,
        influence_kind=influence_kind,
    )
    paths = find_tables(Path(folder))
    options = _with_manifest(given, read_manifest(Path(folder)))
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
        what = "is a file" if folder.exists() else "does not exist"
        raise single_fault(str(folder), f"the folder {what}", "Give the folder that holds features.csv and groups.csv")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    found = {kind: [p for p in files if p.stem.lower() == kind and p.suffix.lower() in SUFFIXES] for kind in REQUIRED}
    if not any(found.values()):
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        remedy = "Put features and groups (.csv, .tsv or .parquet) there; outcomes and influence are optional"
        raise single_fault(folder.name or str(folder), f"the folder has no tables; it holds {there}", remedy)
    log = FaultLog()
    for kind, paths in found.items():
        if len(paths) > 1:
            names = " and ".join(path.name for path in paths)
            log.add(Fault(kind, f"there are two files for one table: {names}", "Remove one of them"))
        if not paths and kind in ("features", "groups"):
            remedy = f"Add {kind}.csv with the columns {', '.join(REQUIRED[kind])}"
            log.add(Fault(kind, f"there is no {kind}.csv, {kind}.tsv or {kind}.parquet", remedy))
    log.raise_if_any()
    return {kind: paths[0] for kind, paths in found.items() if paths}


def _with_manifest(given: Options, manifest: Manifest) -> Options:
    return replace(
        given,
        agents=manifest.agents,
        id_kind=manifest.agent_ids,
        group_kind=manifest.group_ids,
        times=manifest.parsed_times(),
        outcome=given.outcome if given.outcome != "auto" else manifest.outcome,
        classes=manifest.classes,
        influence_kind=given.influence_kind or manifest.influence_kind,
        allow_empty_groups=given.allow_empty_groups or manifest.allow_empty_groups,
        allow_rare_classes=given.allow_rare_classes or manifest.allow_rare_classes,
        attributes=manifest.attributes,
    )


def write_tables(data: TemporalHypergraph, folder: str | Path, *, format: str = "csv") -> None:
    """Write ``data`` as tables that :func:`read_tables` reads back the same.

    Each file appears whole or not at all. ``sphunc.json`` keeps what tables cannot say (order of agents, kinds of ids).

    Args:
        data: what to write.
        folder: made if it does not exist; tables of another format that stand there are removed.
        format: "csv" or "parquet".
    """
    if format not in ("csv", "parquet"):
        raise ArgumentError(f"format is {format!r}; choose csv or parquet")
    kinds = _written_kind("node_ids", data.node_ids), _written_kind("hyperedge_ids", data.hyperedge_ids)
    _check_writable(data)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data = data.to("cpu")
    for kind, frame in to_frames(data).items():
        for suffix in SUFFIXES:
            if frame is None or suffix != f".{format}":
                (folder / f"{kind}{suffix}").unlink(missing_ok=True)
        if frame is not None:
            _write(frame, folder / f"{kind}.{format}")
    write_manifest(data, folder, kinds, rare=_has_rare_class(data))


def _has_rare_class(data: TemporalHypergraph) -> bool:
    if data.y is None or not data.class_names:
        return False
    return bool((torch.bincount(data.y[data.y_mask]) == 1).any())


def _write(frame: pl.DataFrame, path: Path) -> None:
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            frame.write_parquet(temporary)
        else:
            frame.with_columns(_iso_time(frame)).write_csv(temporary)


def _iso_time(frame: pl.DataFrame) -> list[pl.Series]:
    if "time" not in frame.columns or frame["time"].dtype.is_integer():
        return []
    texts = {time: time.isoformat() for time in frame["time"].unique().to_list()}
    return [frame["time"].replace_strict(texts, return_dtype=pl.String) if texts else frame["time"].cast(pl.String)]


def to_frames(data: TemporalHypergraph) -> dict[str, pl.DataFrame | None]:
    """Return the tables of ``data`` as polars frames; None for tables it does not have."""
    times, agents = _series("time", data.times), _series("agent", data.node_ids)
    rows = (data.x_mask.any(-1) if data.num_features else torch.ones_like(data.y_mask)).nonzero()
    features = pl.DataFrame([times.gather(rows[:, 0].numpy()), agents.gather(rows[:, 1].numpy())])
    values = data.x.masked_fill(~data.x_mask, torch.nan)[rows[:, 0], rows[:, 1]].numpy()
    columns = [pl.Series(n, values[:, i]).fill_nan(None) for i, n in enumerate(data.feature_names)]
    return {
        "features": features.with_columns(columns),
        "groups": _group_rows(data, times, agents),
        "outcomes": None if data.y is None else _outcome_rows(data, times, agents),
        "influence": None if data.influence is None else _link_rows(data, agents),
    }


def _group_rows(data: TemporalHypergraph, times: pl.Series, agents: pl.Series) -> pl.DataFrame:
    empty = (data.hyperedge_size == 0).nonzero().flatten()
    node, edge = data.hyperedge_index
    edge = torch.cat([edge, empty])
    order = edge.argsort(stable=True)
    member = pl.Series(node.numpy()).extend(pl.Series([None] * len(empty), dtype=pl.Int64)).gather(order.numpy())
    edge = edge[order]
    frame = pl.DataFrame(
        [
            times.gather(data.hyperedge_time[edge].numpy()),
            _series("group", data.hyperedge_ids).gather(edge.numpy()),
            agents.gather(member),
        ]
    )
    if data.incidence_weight is None:
        return frame
    weight = pl.Series("weight", data.incidence_weight.numpy()).extend(pl.Series([None] * len(empty), dtype=pl.Float32))
    return frame.with_columns(weight.gather(order.numpy()))


def _outcome_rows(data: TemporalHypergraph, times: pl.Series, agents: pl.Series) -> pl.DataFrame:
    rows = data.y_mask.nonzero()
    frame = pl.DataFrame([times.gather(rows[:, 0].numpy()), agents.gather(rows[:, 1].numpy())])
    values = data.y[rows[:, 0], rows[:, 1]]  # pyright: ignore[reportOptionalSubscript]
    if data.class_names:
        return frame.with_columns(_series("outcome", data.class_names).gather(values.numpy()))
    return frame.with_columns([pl.Series(name, values[:, k].numpy()) for k, name in enumerate(data.outcome_names)])


def _link_rows(data: TemporalHypergraph, agents: pl.Series) -> pl.DataFrame:
    source, target = data.influence.numpy()  # pyright: ignore[reportOptionalMemberAccess]
    return pl.DataFrame([agents.gather(source).alias("source"), agents.gather(target).alias("target")])


def _series(name: str, values: Iterable[Any]) -> pl.Series:
    listed = list(values)
    return pl.Series(name, listed, dtype=None if listed else pl.String)


def _written_kind(name: str, ids: tuple[Any, ...]) -> str:
    kinds = {type(one) for one in ids}
    if kinds - {int, str} or len(kinds) > 1:
        got = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ArgumentTypeError(f"{name} are {got}; tables hold all integers or all text (write_hif takes both)")
    if "" in ids:
        raise ArgumentError(f"{name} has an empty id, which a table cannot tell from a missing one; rename it")
    return "integer" if kinds == {int} else "text"


def _check_writable(data: TemporalHypergraph) -> None:
    first = data.times[0]
    if not isinstance(first, (int, date)) or isinstance(first, bool):
        raise ArgumentTypeError(f"times are {type(first).__name__}; tables hold integers, dates or datetimes")
    for what, names in (("a feature", data.feature_names), ("an outcome", data.outcome_names)):
        for name in names:
            if name.strip().lower() in ("time", "agent"):
                raise ArgumentError(
                    f"{what} is called {name!r}, like the column beside it; rename the {what.split()[1]}"
                )
    if set(data.class_names) & {"", "NA"}:
        raise ArgumentError("a class is called '' or 'NA', which tables read as missing; rename the class")
