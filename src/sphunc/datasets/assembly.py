"""From the tables of a reader to the data object, with the data set's papers carried along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sphunc.datasets.reading import Reading
from sphunc.hypergraph import TemporalHypergraph
from sphunc.hypergraph.assembly import assemble


def assembled(reading: Reading, attributes: dict[str, Any]) -> TemporalHypergraph:
    """Scatter the tables into the data object; agents and times are sorted, whatever the files' order."""
    tables = (reading.features, reading.groups, reading.outcomes)
    times = list(reading.times) or sorted(set().union(*(table["time"].to_list() for table in tables)))
    agents = list(reading.agents) or sorted(set().union(*(table["agent"].to_list() for table in tables)))
    names = [name for name in reading.features.columns if name not in {"time", "agent"}]
    met = reading.groups.select("time", "group").unique().sort("time", "group")
    return assemble(
        times=times,
        node_ids=agents,
        features=(
            _positions(reading.features["time"], times),
            _positions(reading.features["agent"], agents),
            _values(reading.features, names),
        ),
        feature_names=names,
        hyperedge_ids=met["group"].to_list(),
        hyperedge_time=_positions(met["time"], times),
        memberships=_memberships(reading.groups, met, agents),
        outcomes=_outcomes(reading, times, agents),
        class_names=reading.class_names,
        influence=_links(reading.influence, agents),
        influence_kind=reading.influence_kind,
        attributes=attributes,
    )


def _positions(column: pl.Series, entries: Sequence[Any]) -> np.ndarray:
    place = {entry: position for position, entry in enumerate(entries)}
    return np.array([place[entry] for entry in column.to_list()], dtype=np.int64)


def _values(features: pl.DataFrame, names: list[str]) -> np.ndarray:
    numbers = features.select(pl.col(names).cast(pl.Float32).fill_null(float("nan")))
    return numbers.to_numpy() if names else np.zeros((features.height, 0), dtype=np.float32)


def _memberships(groups: pl.DataFrame, met: pl.DataFrame, agents: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    rows = groups.join(met.with_row_index("_row"), on=["time", "group"], how="left", maintain_order="left")
    return rows["_row"].cast(pl.Int64).to_numpy(), _positions(groups["agent"], agents)


def _outcomes(reading: Reading, times: list[Any], agents: list[Any]) -> tuple[np.ndarray, ...] | None:
    table = reading.outcomes
    if table.is_empty():
        return None
    values = _positions(table["outcome"], reading.class_names) if reading.class_names else table["outcome"].to_numpy()
    return _positions(table["time"], times), _positions(table["agent"], agents), values


def _links(influence: pl.DataFrame | None, agents: list[Any]) -> np.ndarray | None:
    if influence is None:
        return None
    return np.stack([_positions(influence[end], agents) for end in ("source", "target")])
