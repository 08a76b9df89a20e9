"""Cells: an experiment matrix multiplied out, each cell a value that knows what its number depends on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sphunc.baselines.registry import FORECASTERS
from sphunc.evaluation.benchmark.fingerprint import code_fingerprint, files_fingerprint
from sphunc.evaluation.benchmark.matrix import Matrix, OfficialData, TableData, Variant, WorldData

ORACLE = "oracle"
"""The ceiling on a simulated world: forecasts by one who knows its true states and laws."""
_MEASURING = "sphunc.evaluation.benchmark.measuring"
_APART = (
    "sphunc.baselines.registry",
    "sphunc.evaluation.benchmark.cells",
)  # they know all systems, and compute nothing


@dataclass(frozen=True)
class Cell:
    """One model on one data set with one seed under one variant.

    Attributes:
        model: name in the registry, or "oracle".
        label: what the table calls it.
        data: the entry of the experiment file, as plain values, with the fingerprint of its files where it has files.
        data_label: what the table calls the data.
        variant: name of the variant.
        seed: of the world and of the model.
        settings: fixed settings of the model.
        horizon: steps ahead.
        trials: settings tried on the validation origins.
        attribution: whether links are also read out by the one attribution that all systems share.
        code: fingerprint of the code that the cell runs.
    """

    model: str
    label: str
    data: Mapping[str, Any]
    data_label: str
    variant: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    horizon: int = 1
    trials: int = 1
    attribution: bool = True
    code: str = ""

    @property
    def key(self) -> str:
        """Name of the cell in a store: readable, and different whenever anything but the code differs."""
        asked = {name: value for name, value in asdict(self).items() if name != "code"}
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:12]
        words = "-".join([self.label, self.data_label, self.variant, f"seed{self.seed}"])
        return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', words)}-{digest}"

    def __str__(self) -> str:
        variant = "" if self.variant == "default" else f" · {self.variant}"
        return f"{self.label} · {self.data_label}{variant} · seed {self.seed}"


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """All cells of a matrix, those of the same data and seed together; worlds also get the oracle's."""
    return tuple(
        cell
        for variant in matrix.variants
        for data in matrix.data
        for seed in matrix.seeds
        for cell in _cells(matrix, variant, data, seed)
    )


def _cells(matrix: Matrix, variant: Variant, data: WorldData | TableData | OfficialData, seed: int) -> Iterator[Cell]:
    shared: dict[str, Any] = {
        "data": _plain(data),
        "data_label": data.called,
        "variant": variant.name,
        "seed": seed,
        "horizon": variant.horizon or matrix.horizon,
    }
    for model in matrix.models:
        if variant.models is None or model.called in variant.models:
            own = {
                "settings": {**model.settings, **variant.settings},
                "trials": matrix.trials,
                "attribution": matrix.attribution,
                "code": _code(model.name, shared["data"].get("dataset")),
            }
            yield Cell(model.name, model.called, **shared, **own)
    if isinstance(data, WorldData):
        yield Cell(ORACLE, ORACLE, **shared, code=_code(ORACLE, None))


def _plain(data: WorldData | TableData | OfficialData) -> dict[str, Any]:
    plain = data.model_dump(mode="json", exclude={"label"})
    if isinstance(data, WorldData):
        return plain
    return {**plain, "files": _files(data.tables if isinstance(data, TableData) else data.root)}


@cache
def _files(root: Path) -> str:
    return files_fingerprint(root)


@cache
def _code(model: str, dataset: str | None) -> str:
    roots = [_MEASURING]
    if model != ORACLE:
        roots.append(_home(model))
    if dataset is not None:
        roots.append(f"sphunc.datasets.{dataset}")
    return code_fingerprint(*roots, apart=_APART)


def _home(model: str) -> str:
    return FORECASTERS[model].partition(":")[0]
