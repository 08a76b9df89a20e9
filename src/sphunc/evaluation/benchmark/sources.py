"""The data of a cell: what models may see, and the truth that they are scored against."""

from __future__ import annotations

from typing import NamedTuple

from sphunc._typing import Links
from sphunc.datasets import load_dataset
from sphunc.errors import DataError
from sphunc.evaluation.benchmark.matrix import Settings
from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import read_tables
from sphunc.worlds import World, simulate


class Material(NamedTuple):
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


def load_material(entry: Settings, seed: int) -> Material:
    """Simulate or read the data of an entry of an experiment file.

    Args:
        entry: its fields, as plain values.
        seed: of a world; other data do not depend on it.
    """
    world = None
    if "world" in entry:
        world = simulate(entry["world"], seed=seed, **entry["knobs"])
        data = world.data
        links = world.links
    elif "tables" in entry:
        data = read_tables(entry["tables"], **entry["options"])
        links = data.influence
    else:
        data = load_dataset(entry["dataset"], entry["root"], **entry["options"])
        links = data.influence
    if data.y is None or not data.class_names:
        raise DataError(
            "the data has no outcomes that are classes, which is what benchmarks forecast. Give such outcomes."
        )
    return Material(data.until_index(data.num_times - 1), links, data.influence_kind, world)
