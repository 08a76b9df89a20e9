"""What can be known of an experiment before it runs: all its faults, collected in one go.

Settings are tried on the models themselves, worlds on their knobs, tables by reading them once.
Official data sets are only looked for: they take long to read, and a cell that fails on them says why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sphunc._checks import did_you_mean
from sphunc.baselines import FORECASTERS, forecaster
from sphunc.errors import SphuncError
from sphunc.evaluation.benchmark.cells import ORACLE
from sphunc.evaluation.benchmark.matrix import DataEntry, Matrix, OfficialData, TableData, WorldData
from sphunc.evaluation.benchmark.sources import load_material
from sphunc.hypergraph import least_times, time_split
from sphunc.model import SphUncConfig
from sphunc.worlds import settings_for


def check_matrix(matrix: Matrix, folder: Path) -> tuple[Matrix, list[str]]:
    """Return the matrix with its paths resolved, and all its faults.

    Args:
        matrix: whose fields are of the right types.
        folder: where relative paths start.
    """
    entries = []
    faults = []
    horizons = sorted({variant.horizon or matrix.horizon for variant in matrix.variants})
    for i, entry in enumerate(matrix.data):
        entry = _located(entry, folder)
        entries.append(entry)
        faults += [f"data.{i}.{fault}" for fault in _data_faults(entry, horizons)]
    matrix = matrix.model_copy(update={"data": tuple(entries)})
    return matrix, [*_model_faults(matrix), *faults, *_name_faults(matrix)]


def not_one_of(got: str, names: Sequence[str]) -> str:
    """Say that a name is not allowed, which are, and which of them was probably meant.

    Args:
        got: the name.
        names: those that are allowed.
    """
    return f"{got!r} is not one of {', '.join(names)}{did_you_mean(got, names)}"


def settings_fault(name: str, settings: Mapping[str, object]) -> str:
    """Why a model cannot have these settings, or nothing.

    Args:
        name: of the model in the registry.
        settings: as the experiment gives them.
    """
    config = dict(settings)
    config.pop("device", None)
    try:
        forecaster(name, seed=0, horizon=1, **settings)  # the experiment gives both
        if name == "sphunc":
            SphUncConfig(**config)  # pyright: ignore[reportArgumentType]
    except (SphuncError, TypeError) as error:
        return str(error)
    return ""


def _model_faults(matrix: Matrix) -> Iterator[str]:
    for i, model in enumerate(matrix.models):
        if model.name not in FORECASTERS:
            yield f"models.{i}.name: {not_one_of(model.name, list(FORECASTERS))}"
            continue
        fault = settings_fault(model.name, model.settings)
        if fault:
            yield f"models.{i}.settings: {fault}"
            continue
        for variant in matrix.variants:
            fault = settings_fault(model.name, {**model.settings, **variant.settings})
            if fault and variant.applies_to(model):
                yield (
                    f"models.{i}.settings with variant {variant.name!r}: {fault}; mend the settings of the variant, "
                    "or name the models that it applies to"
                )


def _located(entry: DataEntry, folder: Path) -> DataEntry:
    """The entry with its path expanded, and absolute."""
    if isinstance(entry, WorldData):
        return entry
    field = "root"
    if isinstance(entry, TableData):
        field = "tables"
    path = Path(os.path.expandvars(getattr(entry, field))).expanduser()
    return entry.model_copy(update={field: (folder / path).resolve()})


def _data_faults(entry: DataEntry, horizons: list[int]) -> Iterator[str]:
    try:
        if isinstance(entry, WorldData):
            times = settings_for(entry.world, dict(entry.knobs)).times
            for horizon in horizons:
                if times < least_times(horizon):
                    yield f"knobs: {times} times are too few for horizon {horizon}; give times = {least_times(horizon)}"
        elif isinstance(entry, OfficialData):
            if not entry.root.exists():
                yield f"root: {entry.root} does not exist. Give the folder of the files"
        elif not entry.tables.exists():
            yield f"tables: {entry.tables} does not exist. Give the folder of the tables"
        else:
            data = load_material(entry.model_dump(mode="json"), seed=0).data
            for horizon in horizons:
                time_split(data, horizon)
    except (SphuncError, OSError, TypeError) as error:  # TypeError: an option that the reader does not know
        first_field = next(iter(type(entry).model_fields))
        yield f"{first_field}: {error}"


def _name_faults(matrix: Matrix) -> Iterator[str]:
    labels = [model.called for model in matrix.models]
    for i, variant in enumerate(matrix.variants):
        for name in variant.models or ():
            if name not in labels:
                yield f"variants.{i}.models: {not_one_of(name, labels)}"
    if matrix.reference not in labels:
        yield f"reference: {not_one_of(matrix.reference, labels)}"
    yield from _repeated("models", [*labels, ORACLE], "give one of them another label")
    yield from _repeated("data", [data.called for data in matrix.data], "give one of them another label")
    yield from _repeated("variants", [variant.name for variant in matrix.variants], "name them apart")
    yield from _repeated("seeds", matrix.seeds, "give each seed once")


def _repeated(field: str, values: Iterable[object], remedy: str) -> Iterator[str]:
    for value, count in Counter(values).items():
        if count > 1:
            yield f"{field}: {value!r} is there {count} times; {remedy}"
