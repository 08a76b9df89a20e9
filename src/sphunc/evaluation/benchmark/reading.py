"""Read an experiment file: every fault is named with its field, what was got and what is allowed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sphunc.errors import DataError
from sphunc.evaluation.benchmark.checking import check_matrix, not_one_of
from sphunc.evaluation.benchmark.matrix import KINDS, Matrix, Model, Variant

PARSERS = {".toml": tomllib.loads, ".json": json.loads}
SIX_SYSTEMS = ("sphunc", "hypergcn", "sshgnn", "spherenet", "cignn", "causal_sphhn")
"""SphUnc and the five systems of the paper."""
QUICK = {
    "name": "quick",
    "models": [*SIX_SYSTEMS, "edhnn", "boosting", "majority", "persistence", "logistic"],
    "data": [{"world": "snare", "knobs": {"agents": 100, "times": 10}, "label": "small snare world"}],
    "seeds": [0, 1, 2],
}
"""Sized to end within 3 minutes on 2 cores; too small to rank systems that lie close together, and it says so."""
_IN_WORDS = {
    "too_short": "give at least one",
    "string_pattern_mismatch": "a name begins with a letter or digit; letters, digits, spaces and . , + - _ may follow",
    "string_too_short": "a name has one letter or more",
    "tuple_type": "give a list, such as [0, 1]; in TOML each entry of a list of tables begins with [[...]]",
    "model_type": 'give a table, such as { name = "..." }',
    "union_tag_not_found": f"an entry of data has one of the fields {', '.join(KINDS)}",
    "missing": "is missing; add it",
}


def quick_matrix() -> Matrix:
    """The small experiment behind ``sphunc benchmark --quick``, checked."""
    return make_matrix(QUICK, "--quick")


def read_matrix(path: str | os.PathLike[str]) -> Matrix:
    """Read and check an experiment file (TOML or JSON).

    Raises:
        DataError: lists every fault of the file: field, what was got, what is allowed, and the next step.
    """
    file = Path(path)
    parse = PARSERS.get(file.suffix)
    if parse is None:
        raise DataError(f"{file}: experiment files end in {' or '.join(PARSERS)}; got {file.suffix!r}.")
    try:
        content = parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"{file}: cannot be read ({error.strerror}). Give an experiment file, or run sphunc benchmark --quick."
        ) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML or JSON, or nested beyond reason
        raise DataError(f"{file}: not {file.suffix[1:].upper()}: {error}. Mend that place, then run again.") from None
    if not isinstance(content, dict):
        raise DataError(f"{file}: expected fields such as name, models, data, seeds; got a {type(content).__name__}.")
    return make_matrix(content, file.name, file.parent)


def make_matrix(content: Mapping[str, object], source: str = "experiment", folder: Path = Path()) -> Matrix:
    """Check an experiment that was already parsed.

    Args:
        content: fields of the experiment.
        source: what errors call it.
        folder: where relative paths start.
    """
    try:
        matrix = Matrix.model_validate(dict(content))
    except ValidationError as error:
        _refuse(source, _described(error.errors()))
    if not matrix.reference:
        labels = [model.called for model in matrix.models]
        labels.sort(key=lambda label: label != "sphunc")  # SphUnc if it is there, else the first
        matrix = matrix.model_copy(update={"reference": labels[0]})
    matrix, faults = check_matrix(matrix, folder)
    if faults:
        _refuse(source, faults)
    return matrix


def _refuse(source: str, faults: list[str]) -> NoReturn:
    lines = [
        f"{source}: faults: {len(faults)}",
        *faults,
        "Mend the file and run again; docs/benchmark.md has all fields.",
    ]
    raise DataError("\n  ".join(lines))


def _described(faults: list[ErrorDetails]) -> list[str]:
    # A list whose entries are faulty is also called empty: once is enough.
    inner = {fault["loc"][:1] for fault in faults if len(fault["loc"]) > 1}
    return [_describe(fault) for fault in faults if fault["loc"] not in inner]


def _describe(fault: ErrorDetails) -> str:
    kind = fault["type"]
    *above, last = fault["loc"]
    path = [part for part in above if part not in KINDS]  # the kind of an entry is no field of the file
    field = "".join(f".{part}" for part in [*path, last]).lstrip(".")
    if kind == "extra_forbidden":
        return f"{field}: {not_one_of(str(last), list(_entry(above).model_fields))}"
    words = _IN_WORDS.get(kind, fault["msg"])
    if kind == "missing":
        return f"{field}: {words}."
    return f"{field}: got {fault['input']!r:.60}; {words}."


def _entry(above: Sequence[int | str]) -> type[BaseModel]:
    """The kind of entry that a fault lies in."""
    entries: dict[int | str, type[BaseModel]] = {"models": Model, "variants": Variant, **KINDS}
    for part in reversed(above):
        if part in entries:
            return entries[part]
    return Matrix
