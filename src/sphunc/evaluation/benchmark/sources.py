"""The data of a cell: what models may see, and the truth that they are judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sphunc._typing import Links
from sphunc.datasets import load_dataset
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import read_tables
from sphunc.worlds import World, simulate


@dataclass(frozen=True, eq=False)
class Material:
    """Data with what is known beyond it.

    Attributes:
        data: what a model may see, without links.
        links: true or declared links ``[2, K]``, or None.
        kind: what the links are, in a word.
        world: the simulated world, with its oracle; None for other data.
    """

    data: TemporalHypergraph
    links: Links | None
    kind: str
    world: World | None


def load_material(entry: Mapping[str, Any], seed: int) -> Material:
    """Simulate or read the data of an entry of an experiment file; only a world depends on the seed."""
    world = simulate(entry["world"], seed=seed, **entry["knobs"]) if "world" in entry else None
    data = _read(entry) if world is None else world.data
    if data.y is None or not data.class_names:
        what = "no outcomes" if data.y is None else "outcomes that are numbers"
        raise DataError(
            f"the data has {what}; benchmarks measure forecasts of classes. Give outcomes that are classes."
        )
    links = data.influence if world is None else world.links
    return Material(data.until_index(data.num_times - 1), links, data.influence_kind, world)


def _read(entry: Mapping[str, Any]) -> TemporalHypergraph:
    if "tables" in entry:
        return read_tables(entry["tables"], **entry["options"])
    return load_dataset(entry["dataset"], entry["root"], **entry["options"])
