"""What a user gives a forecaster, checked before any work: data, origins, folders, devices, callbacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import torch

from sphunc._checks import whole_number
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph


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
        folder = "folder"
        if isinstance(data, str | os.PathLike):
            folder = repr(os.fspath(data))
        remedy = (
            f"get one with sphunc.read_tables({folder}), sphunc.load_dataset(name, folder) or "
            "sphunc.simulate(preset).data"
        )
    raise ArgumentTypeError(f"{asked} needs data=, a TemporalHypergraph; got {type(data).__name__}: {remedy}")


def origin_position(data: TemporalHypergraph, origin: object, origin_index: object) -> int:
    """Position of the time to forecast from, given by its label or by its position; the last time by default.

    Args:
        data: has the times.
        origin: label of a time, or None.
        origin_index: position of a time, or None.
    """
    if origin is not None and origin_index is not None:
        raise ArgumentError(f"origin is {origin!r} and origin_index {origin_index!r}; give one of them")
    if origin is not None:
        return data.time_index(origin)
    if origin_index is None:
        return data.num_times - 1
    position = whole_number("origin_index", origin_index, least=0)
    if position >= data.num_times:
        raise ArgumentError(
            f"origin_index={position}, but the data has {data.num_times} times; choose 0 ... {data.num_times - 1}, or "
            "give the label of a time as origin="
        )
    return position


def check_callbacks(callbacks: object) -> list[Callable[[Any], None]]:
    """Take functions to call with every record of progress."""
    given: list[Any] = [None]
    if isinstance(callbacks, Iterable):
        given = list(callbacks)
    if not all(callable(one) for one in given):
        raise ArgumentTypeError(f"callbacks={callbacks!r} must be a list of functions, such as callbacks=[print]")
    return given


def check_folder(name: str, folder: object) -> Path:
    """Take the path of a folder, whether or not it is there.

    Args:
        name: of the argument.
        folder: what was given.
    """
    if not isinstance(folder, str | os.PathLike):
        raise ArgumentTypeError(f"{name}={folder!r} must be the path of a folder, got {type(folder).__name__}")
    return Path(os.fspath(folder))


def writable_folder(name: str, folder: object) -> Path:
    """Take a folder to write in, and make it where it is not there: only writing tells whether one can.

    Args:
        name: of the argument.
        folder: what was given.
    """
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
    try:
        chosen = torch.device(device)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (RuntimeError, TypeError, ValueError):
        chosen = None
    if chosen is None or not _is_there(chosen):
        there = " or ".join(repr(name) for name in devices())
        raise ArgumentError(f"device={str(device)!r} is not there; on this machine choose {there}")
    return chosen


def devices() -> list[str]:
    """Devices of this machine that torch can compute on."""
    if not torch.accelerator.is_available():
        return ["cpu"]
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        return ["cpu"]
    return ["cpu", *(f"{accelerator.type}:{k}" for k in range(torch.accelerator.device_count()))]


def _is_there(device: torch.device) -> bool:
    return device.type == "cpu" or f"{device.type}:{device.index or 0}" in devices()
