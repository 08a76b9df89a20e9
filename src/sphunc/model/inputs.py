"""What a user gives a model, checked before any work: data, device, settings. Errors say how to get what is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from sphunc.causal.counts import whole_number
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.config import SphUncConfig, check_setting, configure


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


def check_origins(origins: object) -> list[int]:
    """Take time indices to forecast from."""
    if not isinstance(origins, Iterable) or isinstance(origins, str):
        raise ArgumentTypeError(f"origins={origins!r} must be time indices, such as origins=[2, 3]")
    return [whole_number("origins", origin) for origin in origins]


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
    return configure(**settings)


def plain_numbers(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with numpy's numbers as Python's, which JSON keeps."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
