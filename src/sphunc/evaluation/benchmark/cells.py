"""Cells: an experiment matrix multiplied out, each cell a value that knows what its number depends on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

from sphunc.baselines import FORECASTERS, WRAPPED, WRAPPERS, forecaster
from sphunc.evaluation.benchmark.matrix import DataEntry, Matrix, Model, Settings, TableData, Variant, WorldData
from sphunc.evaluation.benchmark.provenance import code_fingerprint, files_fingerprint

ORACLE = "oracle"
"""The ceiling on a simulated world: forecasts from its true states and distributions."""
DEFAULT = "default"
"""The variant that the others are tested against."""
_MEASURING = "sphunc.evaluation.benchmark.measuring"
_APART = (forecaster.__module__, __name__)  # they know all systems, and compute nothing


@dataclass(frozen=True)
class Cell:
    """One model on one data set with one seed under one variant.

    Attributes:
        model: name in the registry, or "oracle".
        label: what the table calls it.
        data: the entry of the experiment file, as plain values, with the fingerprint of its files
            where it has files.
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
    data: Settings
    data_label: str
    variant: str
    seed: int
    settings: Mapping[str, object] = field(default_factory=dict)
    horizon: int = 1
    trials: int = 1
    attribution: bool = True
    code: str = ""

    @property
    def key(self) -> str:
        """Name of the cell in a store: readable, and different whenever anything but the code differs."""
        request = asdict(self)
        del request["code"]
        digest = hashlib.sha256(as_json(request).encode()).hexdigest()[:12]
        words = "-".join([self.label, self.data_label, self.variant, f"seed{self.seed}"])
        return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', words)}-{digest}"

    def __str__(self) -> str:
        return f"{self.label} · {place(self.data_label, self.variant, ' · ')} · seed {self.seed}"


def as_json(content: Mapping[str, object]) -> str:
    """One text for one content: keys sorted, values that JSON does not know as their text."""
    return json.dumps(dict(content), sort_keys=True, default=str)


def place(data: str, variant: str, separator: str = ", ") -> str:
    """Name a data set with its variant, unless that is the default.

    Args:
        data: what the table calls the data.
        variant: name of the variant.
        separator: between the two.
    """
    if variant == DEFAULT:
        return data
    return f"{data}{separator}{variant}"


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """All cells of a matrix, those of the same data and seed together; worlds also get the oracle's."""
    cells = []
    for variant, data, seed in product(matrix.variants, matrix.data, matrix.seeds):
        shared: Settings = {
            "data": _plain(data),
            "data_label": data.called,
            "variant": variant.name,
            "seed": seed,
            "horizon": variant.horizon or matrix.horizon,
        }
        for model in matrix.models:
            if variant.applies_to(model):
                cell = Cell(
                    model=model.name,
                    label=model.called,
                    settings={**model.settings, **variant.settings},
                    trials=matrix.trials,
                    attribution=matrix.attribution,
                    code=_code(model.name, shared["data"].get("dataset"), _wrapped(model, variant)),
                    **shared,
                )
                cells.append(cell)
        if isinstance(data, WorldData):
            cells.append(Cell(model=ORACLE, label=ORACLE, code=_code(ORACLE, None), **shared))
    return tuple(cells)


def _plain(data: DataEntry) -> Settings:
    plain = data.model_dump(mode="json", exclude={"label"})
    if isinstance(data, TableData):
        plain["files"] = _files(data.tables)
    elif not isinstance(data, WorldData):
        plain["files"] = _files(data.root)
    return plain


@cache
def _files(root: Path) -> str:
    return files_fingerprint(root)


def _wrapped(model: Model, variant: Variant) -> str | None:
    """The system that an ensemble or Monte Carlo dropout is made of."""
    if model.name not in WRAPPERS:
        return None
    return str({**model.settings, **variant.settings}.get("of", WRAPPED))


@cache
def _code(model: str, dataset: str | None, wrapped: str | None = None) -> str:
    roots = [_MEASURING]
    for name in (model, wrapped):
        if name is not None and name in FORECASTERS:
            module, _, _ = FORECASTERS[name].partition(":")
            roots.append(module)
    if dataset is not None:
        roots.append(f"sphunc.datasets.{dataset}")
    return code_fingerprint(*roots, apart=_APART)
