"""Read an experiment file: every fault is named with its field, what was got, what is allowed and what to do."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from sphunc.baselines.registry import FORECASTERS
from sphunc.errors import DataError
from sphunc.evaluation.benchmark.checking import allowed, check_matrix
from sphunc.evaluation.benchmark.matrix import KINDS, Matrix, Model, Variant

SUFFIXES = (".toml", ".json")
_IN_WORDS = {
    "too_short": "give at least one",
    "string_pattern_mismatch": "a name begins with a letter or digit; letters, digits, spaces and . , + - _ may follow",
    "string_too_short": "a name has one letter or more",
    "tuple_type": "give a list, such as [0, 1]",
    "model_type": 'give a table, such as { name = "..." }',
}

_LISTS = {
    ("models",): 'give a list of names or tables, such as models = ["sphunc", "majority"]',
    ("data",): "give a list of tables: in TOML each begins with [[data]], in JSON they stand in [ ]",
    ("variants",): "give a list of tables: in TOML each begins with [[variants]], in JSON they stand in [ ]",
}
"""Fields that are lists, but not of numbers: how to write them."""


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
    matrix, faults = check_matrix(_spelled(matrix), folder)
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
    except IsADirectoryError:
        raise DataError(f"{file}: this is a folder. Give an experiment file, such as one inside it.") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}). Give a file that you may read.") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file}: not UTF-8: byte {error.object[error.start]:#04x} at place {error.start}. Save it as UTF-8."
        ) from None
    try:
        content = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except RecursionError:
        raise DataError(f"{file}: lists or tables are nested too deeply. No field needs more than a few.") from None
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
        return f"{field}: there is no such field. {allowed(str(place[-1]), list(_entry(fault['loc']).model_fields))}"
    if kind.startswith("union_tag"):
        return f"{field}: got {_short(fault['input'])}; an entry of data has one of the fields {', '.join(KINDS)}."
    if kind == "tuple_type" and fault["loc"] in _LISTS:
        return f"{field}: got {_short(fault['input'])}; {_LISTS[fault['loc']]}."
    words = _IN_WORDS.get(kind, f"{fault['msg'][:1].lower()}{fault['msg'][1:]}")
    return f"{field}: got {_short(fault['input'])}; {words}."


def _entry(place: tuple[Any, ...]) -> type[BaseModel]:
    entries: dict[Any, type[BaseModel]] = {"models": Model, "variants": Variant, **KINDS}
    found = [entries[part] for part in place[:-1] if part in entries]
    return found[-1] if found else Matrix


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
