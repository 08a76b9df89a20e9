"""Fitted values as one JSON document and named tensors: dataclasses are taken apart, and put
together by name.

Nothing is executed on reading: only the dataclasses registered here can be made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass

import torch

from sphunc._typing import Tensor
from sphunc.errors import CheckpointError
from sphunc.forecasting import Categorical, Gaussian, Tails
from sphunc.model.axes import StateAxes
from sphunc.model.base import BaseRegression, Standardiser
from sphunc.model.beliefs import Support
from sphunc.model.dynamics import Dynamics, Links
from sphunc.model.fitting import ComparisonRow, FittedModel, HeldOutForecasts, Predictor
from sphunc.model.preparation import Preparation
from sphunc.model.readout import Readout
from sphunc.model.states import FittedChains, StateModel
from sphunc.model.structure import LinkPrior, StructurePosterior
from sphunc.model.uncertainty import Fusion, HeldOut, Temperature

CLASSES: dict[str, Callable[..., object]] = {
    kind.__name__: kind
    for kind in (
        BaseRegression,
        Categorical,
        ComparisonRow,
        Dynamics,
        FittedChains,
        FittedModel,
        Fusion,
        Gaussian,
        HeldOut,
        HeldOutForecasts,
        LinkPrior,
        Links,
        Predictor,
        Preparation,
        Readout,
        Standardiser,
        StateAxes,
        StateModel,
        StructurePosterior,
        Support,
        Tails,
        Temperature,
    )
}
INFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def serialise(value: object, name: str, tensors: dict[str, Tensor]) -> object:
    """Turn a value into what JSON can hold; tensors go to ``tensors`` under dotted names.

    Args:
        value: dataclass, tensor, tuple, text, number or None.
        name: of the value.
        tensors: filled on the way.
    """
    if isinstance(value, torch.Tensor):
        tensors[name] = value
        return {"tensor": name}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if kind not in CLASSES:
            raise TypeError(f"{kind} is not registered for saving")
        entries = {f.name: serialise(getattr(value, f.name), f"{name}.{f.name}", tensors) for f in fields(value)}
        return {"class": kind, "fields": entries}
    if isinstance(value, tuple | list):
        return {"items": [serialise(item, f"{name}.{k}", tensors) for k, item in enumerate(value)]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, which cannot be saved")


def deserialise(document: object, tensors: Mapping[str, Tensor]) -> object:
    """Return the value that :func:`serialise` turned into a document.

    Args:
        document: what JSON held.
        tensors: by dotted names.
    """
    if not isinstance(document, dict):
        return document
    if "tensor" in document:
        name = str(document["tensor"])
        if name not in tensors:
            raise CheckpointError(f"tensor {name!r} is missing; the folder is damaged: copy it again")
        return tensors[name]
    if "items" in document:
        return tuple(deserialise(item, tensors) for item in document["items"])
    if document.get("float") in INFINITE:
        return INFINITE[document["float"]]
    name = str(document.get("class"))
    kind = CLASSES.get(name)
    if kind is None or not isinstance(document.get("fields"), dict):
        raise CheckpointError(f"{name!r} is no part of a model; the folder is damaged or foreign")
    entries = {field: deserialise(value, tensors) for field, value in document["fields"].items()}
    try:
        return kind(**entries)
    except TypeError as error:
        raise CheckpointError(f"{name} does not fit what was saved ({error}); fit again") from None
