"""A temporal hypergraph to a folder of tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import date
from pathlib import Path

import polars as pl
import torch
from torch import Tensor

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io.files import replacing
from sphunc.io.tables.folder import SUFFIXES
from sphunc.io.tables.manifest import write_manifest
from sphunc.io.tables.roles import REQUIRED


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
    kinds = (_written_kind("node_ids", data.node_ids), _written_kind("hyperedge_ids", data.hyperedge_ids))
    _check_writable(data)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data = data.to("cpu")
    frames = to_frames(data)
    for kind in REQUIRED:
        for suffix in SUFFIXES:
            if kind not in frames or suffix != f".{format}":
                (folder / f"{kind}{suffix}").unlink(missing_ok=True)
    for kind, frame in frames.items():
        with replacing(folder / f"{kind}.{format}") as temporary:
            if format == "parquet":
                frame.write_parquet(temporary)
            else:
                _with_iso_times(frame).write_csv(temporary)
    write_manifest(data, folder, kinds)


def _with_iso_times(frame: pl.DataFrame) -> pl.DataFrame:
    if "time" not in frame.columns or frame["time"].dtype.is_integer():
        return frame
    if frame.is_empty():
        return frame.with_columns(frame["time"].cast(pl.String))
    texts = {time: time.isoformat() for time in frame["time"].unique().to_list()}
    return frame.with_columns(frame["time"].replace_strict(texts, return_dtype=pl.String))


def to_frames(data: TemporalHypergraph) -> dict[str, pl.DataFrame]:
    """Return the tables of ``data`` as polars frames, by name; tables that it does not have are left out."""
    times = _series("time", data.times)
    agents = _series("agent", data.node_ids)
    present = torch.ones_like(data.y_mask)
    if data.num_features:
        present = data.x_mask.any(-1)
    values = data.x.masked_fill(~data.x_mask, torch.nan)[present].numpy()
    columns = [pl.Series(name, values[:, i]).fill_nan(None) for i, name in enumerate(data.feature_names)]
    frames = {
        "features": _keys(present, times, agents).with_columns(columns),
        "groups": _group_rows(data, times, agents),
    }
    if data.y is not None:
        outcomes = data.y[data.y_mask].numpy()
        if data.class_names:
            columns = [_series("outcome", data.class_names).gather(outcomes)]
        else:
            columns = [pl.Series(name, outcomes[:, k]) for k, name in enumerate(data.outcome_names)]
        frames["outcomes"] = _keys(data.y_mask, times, agents).with_columns(columns)
    if data.influence is not None:
        source, target = data.influence.numpy()
        links = [agents.gather(source).alias("source"), agents.gather(target).alias("target")]
        frames["influence"] = pl.DataFrame(links)
    return frames


def _keys(present: Tensor, times: pl.Series, agents: pl.Series) -> pl.DataFrame:
    """Return ``time`` and ``agent`` of every True cell of ``present``, ``[T, N]``."""
    time, agent = present.nonzero().T.numpy()
    return pl.DataFrame([times.gather(time), agents.gather(agent)])


def _group_rows(data: TemporalHypergraph, times: pl.Series, agents: pl.Series) -> pl.DataFrame:
    """Return one row per membership, and one without an agent per empty group, in the order of the groups."""
    empty = (data.hyperedge_size == 0).nonzero().flatten()
    node, edge = data.hyperedge_index
    edge = torch.cat([edge, empty])
    order = edge.argsort(stable=True).numpy()
    edge = edge[order]
    member = pl.Series(node.numpy()).extend_constant(None, len(empty)).gather(order)
    group = _series("group", data.hyperedge_ids).gather(edge.numpy())
    time = times.gather(data.hyperedge_time[edge].numpy())
    frame = pl.DataFrame([time, group, agents.gather(member)])
    if data.incidence_weight is None:
        return frame
    weight = pl.Series("weight", data.incidence_weight.numpy()).extend_constant(None, len(empty))
    return frame.with_columns(weight.gather(order))


def _series(name: str, values: Iterable[object]) -> pl.Series:
    listed = list(values)
    if not listed:
        return pl.Series(name, [], dtype=pl.String)
    return pl.Series(name, listed)


def _written_kind(name: str, ids: tuple[Hashable, ...]) -> str:
    kinds = {type(one) for one in ids}
    if kinds - {int, str} or len(kinds) > 1:
        got = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ArgumentTypeError(f"{name} are {got}; tables hold all integers or all text (write_hif takes both)")
    if "" in ids:
        raise ArgumentError(f"{name} has an empty id, which a table cannot tell from a missing one; rename it")
    if kinds == {int}:
        return "integer"
    return "text"


def _check_writable(data: TemporalHypergraph) -> None:
    first = data.times[0]
    if not isinstance(first, (int, date)) or isinstance(first, bool):
        raise ArgumentTypeError(f"times are {type(first).__name__}; tables hold integers, dates or datetimes")
    for what, names in (("a feature", data.feature_names), ("an outcome", data.outcome_names)):
        for name in names:
            if name.strip().lower() in ("time", "agent"):
                noun = what.split()[1]
                raise ArgumentError(f"{what} is called {name!r}, like the column beside it; rename the {noun}")
    if set(data.class_names) & {"", "NA"}:
        raise ArgumentError("a class is called '' or 'NA', which tables read as missing; rename the class")
