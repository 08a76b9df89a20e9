"""Read an experiment file: every fault is named with its field, what was got, what is allowed and what to do."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from sphunc.baselines.registry import FORECASTERS, forecaster
from sphunc.errors import DataError, SphuncError
from sphunc.evaluation.benchmark.cells import ORACLE
from sphunc.evaluation.benchmark.matrix import KINDS, Matrix, Model, OfficialData, TableData, Variant, WorldData
from sphunc.worlds.presets import settings_for

SUFFIXES = (".toml", ".json")


def read_matrix(path: str | os.PathLike[str]) -> Matrix:
    """Read and check an experiment file (TOML or JSON).

    Raises:
        DataError: lists every fault of the file: field, what was got, what is allowed, and the next step.
    """
    file = Path(path)
    return make_matrix(_parse(file), file.name, file.parent)


def make_matrix(content: Mapping[str, Any], source: str = "experiment", folder: Path = Path()) -> Matrix:
    """Check an experiment that was already parsed; relative paths in it start at ``folder``."""
    try:
        matrix = Matrix.model_validate(dict(content))
    except ValidationError as error:
        _refuse(source, [_described(fault) for fault in _roots(error.errors())])
    matrix = _spelled(matrix)
    faults = list(_faults(matrix))
    if not faults:
        matrix, faults = _located(matrix, folder)
    if faults:
        _refuse(source, faults)
    return matrix


def _parse(file: Path) -> dict[str, Any]:
    if file.suffix not in SUFFIXES:
        raise DataError(f"{file}: experiment files end in {' or '.join(SUFFIXES)}; got {file.suffix or 'no ending'!r}.")
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(
            f"{file}: there is no such file. Give an experiment file, or run sphunc benchmark --quick."
        ) from None
    try:
        content = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{file}: not {file.suffix[1:].upper()}: {error}. Mend that place, then run again.") from None
    if not isinstance(content, dict):
        raise DataError(f"{file}: expected fields such as name, models, data, seeds; got a {type(content).__name__}.")
    return content


def _refuse(source: str, faults: list[str]) -> NoReturn:
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    shown = "\n".join(f"  {fault}" for fault in faults)
    raise DataError(f"{source}: {count}\n{shown}\n  Mend the file and run again; docs/benchmark.md lists every field.")


def _spelled(matrix: Matrix) -> Matrix:
    """Names of systems as the registry spells them: a hyphen and an underscore are the same to a person."""
    known = {name.replace("_", "-"): name for name in FORECASTERS}

    def spell(name: str) -> str:
        return known.get(name.replace("_", "-"), name)

    models = tuple(model.model_copy(update={"name": spell(model.name)}) for model in matrix.models)
    called = [model.called for model in models]
    reference = matrix.reference or ("sphunc" if "sphunc" in called else called[0])
    reference = reference if reference in called else spell(reference)
    return matrix.model_copy(update={"models": models, "reference": reference})


def _roots(faults: list[Any]) -> list[Any]:
    """Leave out that a list is empty where it is so only because its entries are faulty."""
    inner = {fault["loc"][:1] for fault in faults if len(fault["loc"]) > 1}
    return [fault for fault in faults if not (fault["type"] == "too_short" and fault["loc"] in inner)]


def _described(fault: Any) -> str:
    kind, place = fault["type"], [part for part in fault["loc"] if part not in KINDS or part is fault["loc"][-1]]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    if kind == "missing":
        return f"{field}: is missing. Add it."
    if kind == "extra_forbidden":
        return f"{field}: there is no such field. {_allowed(str(place[-1]), list(_entry(fault['loc']).model_fields))}"
    if kind.startswith("union_tag"):
        return f"{field}: got {_short(fault['input'])}; an entry of data has one of the fields {', '.join(KINDS)}."
    return f"{field}: got {_short(fault['input'])}; {fault['msg'][:1].lower()}{fault['msg'][1:]}."


def _entry(place: tuple[Any, ...]) -> type[BaseModel]:
    entries: dict[Any, type[BaseModel]] = {"models": Model, "variants": Variant, **KINDS}
    found = [entries[part] for part in place[:-1] if part in entries]
    return found[-1] if found else Matrix


def _faults(matrix: Matrix) -> Iterator[str]:
    for i, model in enumerate(matrix.models):
        if model.name not in FORECASTERS:
            yield f"models[{i}].name: got {model.name!r}. {_allowed(model.name, list(FORECASTERS))}"
            continue
        for variant in matrix.variants:
            if variant.models is None or model.called in variant.models:
                yield from _settings_fault(f"models[{i}]", model, variant)
    for i, data in enumerate(matrix.data):
        if isinstance(data, WorldData):
            try:
                settings_for(data.world, dict(data.knobs))
            except SphuncError as error:
                yield f"data[{i}]: {error}"
    known = [model.called for model in matrix.models]
    for i, variant in enumerate(matrix.variants):
        for name in set(variant.models or ()) - set(known):
            yield f"variants[{i}].models: got {name!r}. {_allowed(name, known)}"
    if ORACLE in known:
        yield f"models: {ORACLE!r} is what the ceiling of a world is called. Give that model another label."
    if matrix.reference not in known:
        yield f"reference: got {matrix.reference!r}. {_allowed(matrix.reference, known)}"
    yield from _repeated("models", known, "Give one of them another label")
    yield from _repeated("data", [data.called for data in matrix.data], "Give one of them another label")
    yield from _repeated("variants", [variant.name for variant in matrix.variants], "Name them apart")
    yield from _repeated("seeds", list(matrix.seeds), "Give each seed once")


def _settings_fault(field: str, model: Model, variant: Variant) -> Iterator[str]:
    try:
        forecaster(model.name, **{**model.settings, **variant.settings})
    except (SphuncError, TypeError) as error:
        where = "" if variant.settings.keys() <= model.settings.keys() else f" with variant {variant.name!r}"
        yield f"{field}.settings{where}: {error}."


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


def _allowed(got: str, names: list[str]) -> str:
    near = get_close_matches(got, names, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}Allowed: {', '.join(names)}."


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
