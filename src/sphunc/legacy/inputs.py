"""What a user gives a model, checked before any work: data, settings, folders. Errors say how to get what is needed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import torch

from sphunc.causal.counts import whole_number
from sphunc.errors import ArgumentError, ArgumentTypeError, DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.config import SphUncConfig, check_setting
from sphunc.legacy.history import Callback


def check_data(asked: str, data: object) -> TemporalHypergraph:
    """Refuse anything but data.

    Args:
        asked: the method that was called.
        data: what it was given.
    """
    if isinstance(data, TemporalHypergraph):
        return data
    if isinstance(getattr(data, "data", None), TemporalHypergraph):
        remedy = "pass its .data"
    else:
        folder = repr(os.fspath(data)) if isinstance(data, str | os.PathLike) else "folder"
        remedy = (
            f"get one with sphunc.read_tables({folder}), sphunc.load_dataset(name, folder) or "
            "sphunc.simulate(preset).data"
        )
    raise ArgumentTypeError(f"{asked} needs data=, a TemporalHypergraph; got {type(data).__name__}: {remedy}")


def warn_of_weights(data: TemporalHypergraph) -> None:
    """Say that members of a group count alike, where the data weigh them."""
    weight = data.incidence_weight
    if weight is not None and weight.numel() and bool((weight != weight[0]).any()):
        warnings.warn(
            f"groups have a column weight ({float(weight.min()):.3g} to {float(weight.max()):.3g}), which the model "
            "does not use: all members of a group count alike. Leave out memberships that should not count",
            UserWarning,
            stacklevel=3,
        )


def check_origin(data: TemporalHypergraph, origin: object, name: str = "origin") -> int:
    """Take a time index to forecast from; the label of a time is refused with the way to its index."""
    try:
        return whole_number(name, origin)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(
            f"{error}; choose an index 0 ... {data.num_times - 1} of data.times (data.times.index(time) finds it)"
        ) from None


def check_origins(data: TemporalHypergraph, origins: object) -> list[int]:
    """Take time indices of the data to forecast from, each once."""
    if not isinstance(origins, Iterable) or isinstance(origins, str):
        raise ArgumentTypeError(f"origins={origins!r} must be time indices, such as origins=[2, 3]")
    chosen = [check_origin(data, origin, "origins") for origin in origins]
    for place, origin in enumerate(chosen):
        if not 0 <= origin < data.num_times:
            raise ArgumentError(
                f"origins has {origin}, but the data has {data.num_times} times; choose 0 ... {data.num_times - 1}"
            )
        if origin in chosen[:place]:
            raise ArgumentError(f"origins has {origin} more than once, and it would count as often; name it once")
    return chosen


def check_noise(numeric: bool, config: SphUncConfig) -> None:
    """Refuse to forecast numbers without noise: their law would have no width."""
    if numeric and config.uncertainty == "epistemic":
        raise ArgumentError(
            "uncertainty='epistemic' takes the noise off outcomes, and numbers without noise have no density; choose "
            "'both' or 'aleatoric', or bin the outcomes into classes"
        )


def check_times(data: TemporalHypergraph, last: Any) -> None:
    """Refuse times that cannot be told to be later than ``last``, a time that was seen before."""
    try:
        _ = data.times[-1] > last
    except TypeError:
        raise DataError(
            f"data has times such as {data.times[-1]!r} ({type(data.times[-1]).__name__}), but fit saw times up to "
            f"{last!r} ({type(last).__name__}), so that none can be told to be later; give times of the same kind, or "
            "name origins="
        ) from None


def check_coverage(coverage: object) -> float | None:
    """Take a share, or None; whether it lies between 0 and 1 is left to who uses it."""
    if coverage is None:
        return None
    if not isinstance(coverage, Real) or isinstance(coverage, bool):
        raise ArgumentTypeError(
            f"coverage={coverage!r} must be a number, got {type(coverage).__name__}; choose a share strictly between 0 "
            "and 1, such as 0.9"
        )
    return float(coverage)


def check_callbacks(callbacks: object) -> list[Callback]:
    """Take functions to call with the record of every pass."""
    given: list[Any] = list(callbacks) if isinstance(callbacks, Iterable) else [None]
    if not all(map(callable, given)):
        raise ArgumentTypeError(f"callbacks={callbacks!r} must be a list of functions, such as callbacks=[print]")
    return given


def check_folder(name: str, folder: object) -> Path:
    """Take the path of a folder, whether or not it is there."""
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentTypeError(f"{name}={folder!r} must be the path of a folder, got {type(folder).__name__}")
    return Path(folder)


def writable_folder(name: str, folder: object) -> Path:
    """Take a folder to write in, and make it where it is not there: only writing tells whether one can."""
    path = check_folder(name, folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            return path
    except OSError as error:
        why = "it is a file" if path.is_file() else error.strerror
        raise ArgumentError(
            f"{name}={str(path)!r} cannot be written in ({why}); give a folder of yours, or one that is not there yet"
        ) from None


def check_device(device: object) -> torch.device:
    """Refuse a device that torch does not know, or that is not there."""
    given: Any = device
    try:
        chosen = torch.device(given)
    except (RuntimeError, TypeError, ValueError):
        chosen = None
    if chosen is None or not _is_there(chosen):
        there = " or ".join(repr(name) for name in devices())
        shown = str(given) if isinstance(given, torch.device) else given
        raise ArgumentError(f"device={shown!r} is not there; on this machine choose {there}")
    return chosen


def devices() -> list[str]:
    """Devices of this machine that torch can compute on."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if accelerator is None:
        return ["cpu"]
    return ["cpu", *(f"{accelerator.type}:{k}" for k in range(torch.accelerator.device_count()))]


def _is_there(device: torch.device) -> bool:
    return device.type == "cpu" or f"{device.type}:{device.index or 0}" in devices()


def check_settings(settings: Mapping[str, Any]) -> SphUncConfig:
    """Make a configuration; True and False are refused where a number is asked for, and would count as 1 and 0."""
    for name, value in settings.items():
        check_setting(name)
        field = SphUncConfig.model_fields[name]
        is_number = field.annotation is not bool and not isinstance(field.default, str)
        if isinstance(value, bool | np.bool_) and is_number:
            raise ArgumentTypeError(f"{name}={value!r} must be a number, got {type(value).__name__}")
    return SphUncConfig(**settings)
