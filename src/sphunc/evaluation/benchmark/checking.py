"""What can be known of an experiment before it runs: all its faults, collected in one go.

Settings are tried on the models themselves, worlds on their knobs, tables by reading them once. Official data sets are
only looked for: they take long to read, and a cell that fails on them says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch

from sphunc.baselines.registry import FORECASTERS, forecaster, forecaster_class
from sphunc.errors import SphuncError
from sphunc.evaluation.benchmark.cells import ORACLE
from sphunc.evaluation.benchmark.matrix import Matrix, Model, OfficialData, TableData, Variant, WorldData
from sphunc.evaluation.benchmark.sources import load_material
from sphunc.hypergraph import PARTS, TemporalHypergraph, least_times, time_split
from sphunc.model import SphUncConfig
from sphunc.worlds import settings_for

OF_THE_FILE = {"seed": "seeds", "horizon": "horizon"}
"""Settings that every model has, but that the experiment gives: the field that does."""


def check_matrix(matrix: Matrix, folder: Path) -> tuple[Matrix, list[str]]:
    """Return the matrix with its paths resolved (relative ones start at ``folder``), and all its faults."""
    matrix, faults = _located(matrix, folder)
    return matrix, [*_model_faults(matrix), *_data_faults(matrix), *_name_faults(matrix), *faults]


def allowed(got: str, names: list[str]) -> str:
    """Say which names are allowed, and which of them was probably meant."""
    near = get_close_matches(got, names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}Allowed: {', '.join(names)}."


def settings_fault(name: str, settings: Mapping[str, Any]) -> str:
    """Why a model cannot have these settings, or nothing."""
    for setting, field in OF_THE_FILE.items():
        if setting in settings:
            return f"{setting!r} is given by the experiment. Remove it, and use the field {field}."
    try:
        torch.device(settings.get("device", "cpu"))
    except (RuntimeError, TypeError, ValueError):
        return f"device is {settings['device']!r}; give a device of torch, such as 'cpu' or 'cuda'."
    try:
        forecaster(name, **settings)
        if name == "sphunc":
            SphUncConfig(**{setting: value for setting, value in settings.items() if setting != "device"})
    except (SphuncError, TypeError) as error:
        return f"{str(error).rstrip('.')}."
    return ""


def _model_faults(matrix: Matrix) -> Iterator[str]:
    for i, model in enumerate(matrix.models):
        if model.name not in FORECASTERS:
            yield f"models[{i}].name: got {model.name!r}. {allowed(model.name, list(FORECASTERS))}"
            continue
        own = settings_fault(model.name, model.settings)
        told = set[str]()
        for variant in (variant for variant in matrix.variants if _concerns(variant, model)):
            fault = settings_fault(model.name, {**model.settings, **variant.settings})
            if fault and fault not in told:
                told.add(fault)
                with_it = f" with variant {variant.name!r}: {fault} {_narrower(matrix, variant)}"
                yield f"models[{i}].settings" + (f": {fault}" if fault == own else with_it)


def _concerns(variant: Variant, model: Model) -> bool:
    return variant.models is None or model.called in variant.models


def _narrower(matrix: Matrix, variant: Variant) -> str:
    """Name the models that can have the settings of a variant, since it may be meant for them alone."""
    known = [model for model in matrix.models if model.name in FORECASTERS and _concerns(variant, model)]
    able = [m.called for m in known if not settings_fault(m.name, {**m.settings, **variant.settings})]
    if not able:
        return f"Mend the settings of variant {variant.name!r}."
    names = ", ".join(f'"{name}"' for name in able)
    return f"Mend the settings of variant {variant.name!r}, or let it apply to others alone: models = [{names}]."


def _data_faults(matrix: Matrix) -> Iterator[str]:
    horizons = _horizons(matrix)
    for i, data in enumerate(matrix.data):
        if isinstance(data, WorldData):
            yield from _world_faults(f"data[{i}]", data, horizons)
        elif isinstance(data, TableData) and data.tables.exists():
            yield from (f"data[{i}].{fault}" for fault in _table_faults(data, matrix))


def _horizons(matrix: Matrix) -> list[int]:
    return sorted({variant.horizon or matrix.horizon for variant in matrix.variants})


def _world_faults(field: str, data: WorldData, horizons: list[int]) -> Iterator[str]:
    try:
        times = settings_for(data.world, dict(data.knobs)).times
    except SphuncError as error:
        yield f"{field}: {error}"
        return
    for horizon in horizons:
        if times < least_times(horizon):
            yield (
                f"{field}: {times} times are too few for horizon {horizon}. Give it at least knobs = "
                f"{{ times = {least_times(horizon)} }}, or lower the horizon."
            )


def _table_faults(data: TableData, matrix: Matrix) -> Iterator[str]:
    try:
        found = load_material(data.model_dump(mode="json"), seed=0).data
    except (SphuncError, OSError) as error:
        yield f"tables: {_indented(error)}"
        return
    except TypeError as error:
        yield f"options: {error}. Give what sphunc.read_tables takes."
        return
    seen = _classes_seen(found)
    if len(seen) < 2:
        what = f"all outcomes are {seen[0]!r}" if seen else "no outcome is observed"
        yield f"tables: {what}, and there is nothing to forecast. Give two classes or more."
    faults = [_features_fault(found, matrix)]
    for horizon in _horizons(matrix):
        faults += _split_faults(found, horizon)
    yield from (f"tables: {fault}" for fault in faults if fault)


def _split_faults(data: TemporalHypergraph, horizon: int) -> Iterator[str]:
    """Why the times cannot be split, or which of them lack what a model is trained or tested on."""
    try:
        split = time_split(data, horizon)
    except SphuncError as error:
        yield f"{error}."
        return
    for part, purpose in ((PARTS[:-1], "trained"), (PARTS[-1:], "tested")):
        targets = sorted({target for name in part for target in split.targets(name)})
        if data.y_mask.any() and not data.y_mask[targets].any():  # no outcome at all is a fault of its own
            first, last = data.times[targets[0]], data.times[targets[-1]]
            yield (
                f"no outcome is observed at the {f'time {first}' if first == last else f'times {first} to {last}'}, on "
                f"which models are {purpose} at horizon {horizon}. Add outcomes there, or leave those times out of "
                "every table."
            )


def _features_fault(data: TemporalHypergraph, matrix: Matrix) -> str:
    """Why models cannot learn from data without features, and which they are."""
    needy = [model.called for model in matrix.models if model.name in FORECASTERS and _needs_features(model.name)]
    if data.num_features or not needy:
        return ""
    return (
        "data has no features; give the features table at least one column of numbers beside time and agent, or leave "
        f"out the models that need them: {', '.join(needy)}."
    )


def _needs_features(name: str) -> bool:
    return getattr(forecaster_class(name), "needs_features", False)


def _classes_seen(data: TemporalHypergraph) -> list[str]:
    """Classes that occur: a manifest may declare others."""
    assert data.y is not None  # load_material refuses data without outcomes
    return [data.class_names[place] for place in data.y[data.y_mask].unique().tolist()]


def _name_faults(matrix: Matrix) -> Iterator[str]:
    known = [model.called for model in matrix.models]
    yield from _borrowed(matrix)
    for i, variant in enumerate(matrix.variants):
        for name in sorted(set(variant.models or ()) - set(known)):
            yield f"variants[{i}].models: got {name!r}. {allowed(name, known)}"
    for called in dict.fromkeys(called for called in known if _system_read(called) == ORACLE):
        yield f"models: {called!r} is what the ceiling of a world is called. Give that model another label."
    if matrix.reference not in known:
        yield f"reference: got {matrix.reference!r}. {allowed(matrix.reference, known)}"
    read = [_system_read(called) or called for called in known]
    yield from _repeated("models", read, "Give one of them another label")
    yield from _repeated("data", [data.called for data in matrix.data], "Give one of them another label")
    yield from _repeated("variants", [variant.name for variant in matrix.variants], "Name them apart")
    yield from _repeated("seeds", list(matrix.seeds), "Give each seed once")


def _borrowed(matrix: Matrix) -> Iterator[str]:
    """Labels under which a system would stand in the tables as another one."""
    for i, model in enumerate(matrix.models):
        system = _system_read(model.called)
        if model.label and system in FORECASTERS and model.name in FORECASTERS and system != model.name:
            yield (
                f"models[{i}].label: got {model.label!r}, which names the system {system!r}, but this one is "
                f"{model.name!r}. Give it a label of its own, such as {f'{model.name}, mine'!r}."
            )


def _system_read(called: str) -> str:
    """The system that a reader takes a label for, whatever its capitals and hyphens; empty if for none."""
    systems = {_letters(name): name for name in (*FORECASTERS, ORACLE)}
    return systems.get(_letters(called), "")


def _letters(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _repeated(field: str, values: list[Any], remedy: str) -> Iterator[str]:
    for value in dict.fromkeys(value for value in values if values.count(value) > 1):
        yield f"{field}: {value!r} stands there {values.count(value)} times. {remedy}."


def _located(matrix: Matrix, folder: Path) -> tuple[Matrix, list[str]]:
    data, faults = [], []
    for i, entry in enumerate(matrix.data):
        field = {TableData: "tables", OfficialData: "root"}.get(type(entry))
        if field is None:
            data.append(entry)
            continue
        written = str(getattr(entry, field))
        path = folder / Path(os.path.expandvars(written)).expanduser()
        if "$" in str(path):
            faults.append(f"data[{i}].{field}: got {written!r}, but that variable is not set. Set it, or give a path.")
        elif not path.exists():
            faults.append(f"data[{i}].{field}: got {written!r}; {path} does not exist. Give the folder of the files.")
        data.append(entry.model_copy(update={field: path.resolve()}))
    return matrix.model_copy(update={"data": tuple(data)}), faults


def _indented(error: BaseException) -> str:
    return "\n    ".join(str(error).splitlines())
