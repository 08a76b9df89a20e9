"""Checks of arguments: an error names the argument, the first bad place and value, what is allowed, and what to do.

Nothing is clamped. A check of values reads one number back from the tensor's device; on an accelerator that is a
synchronisation, and under ``torch.vmap`` it is impossible. Callers that have checked already pass ``validate=False``.
"""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor

from sphunc.errors import ArgumentError, ArgumentTypeError

MAX_KAPPA = 1e150
"""Largest concentration taken: beyond it kappa squared leaves float64."""

UNIT_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}
"""How far a norm may be from 1. Wide enough for directions normalised in the next narrower type."""

_COARSE_TOLERANCE = 1e-2


def check_dim(dim: object) -> int:
    """Take an ambient dimension D >= 2."""
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ArgumentTypeError(
            f"dim must be an int, the ambient dimension D; got {dim!r} of type {type(dim).__name__}."
        )
    if dim < 2:
        raise ArgumentError(f"dim must be at least 2 (the circle); got {dim}. Pass D, not D - 1: S^(D-1) lies in R^D.")
    return dim


def as_kappa(kappa: object, like: Tensor | None = None, *, name: str = "kappa", validate: bool = True) -> Tensor:
    """Take a concentration: a floating tensor, or a number (float64, or the type and device of ``like``).

    Args:
        kappa: what was given.
        like: tensor with the type and device that a number takes.
        name: of the argument, for the error.
        validate: whether to check the values.
    """
    if isinstance(kappa, (int, float)) and not isinstance(kappa, bool):
        dtype = torch.float64
        device = None
        if like is not None:
            dtype = like.dtype
            device = like.device
        largest = torch.finfo(dtype).max
        if largest < kappa <= MAX_KAPPA:
            raise ArgumentError(
                f"{name} is {kappa:.6g}, but {dtype}, the type of the directions, ends at {largest:.6g}. "
                f"Use wider directions, e.g. mu.double()."
            )
        kappa = torch.tensor(float(kappa), dtype=dtype, device=device)
    tensor = check_floating(kappa, name)
    if validate:
        largest = min(MAX_KAPPA, torch.finfo(tensor.dtype).max)
        check_range(tensor, name, 0.0, largest, "Concentrations are finite numbers in [0, 1e150]")
    return tensor


def check_floating(value: object, name: str) -> Tensor:
    """Take a tensor of a floating type.

    Args:
        value: what was given.
        name: of the argument, for the error.
    """
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"{name} must be a torch.Tensor of a floating type; got {type(value).__name__}. Use torch.as_tensor."
        )
    if not value.is_floating_point():
        raise ArgumentTypeError(f"{name} must be of a floating type; got {value.dtype}. Call {name}.double() first.")
    return value


def check_range(value: Tensor, name: str, low: float, high: float, allowed: str) -> None:
    """Refuse entries outside [low, high], and NaN; a meta tensor has no entries to refuse.

    Args:
        value: numbers of any shape.
        name: of the argument, for the error.
        low: smallest value that is allowed.
        high: largest one.
        allowed: sentence that says what is allowed, and why.
    """
    if value.numel() == 0 or value.is_meta:
        return
    smallest, largest = torch.aminmax(value.detach())
    if not (smallest.item() >= low and largest.item() <= high):
        wide = value.detach().double()
        _refuse_first(wide, ~((wide >= low) & (wide <= high)), name, allowed)


def check_same_kind(**tensors: Tensor) -> None:
    """Refuse tensors of different types or devices; nothing is converted silently."""
    (first_name, first), *others = tensors.items()
    for name, other in others:
        if other.dtype != first.dtype:
            raise ArgumentTypeError(
                f"{name} has dtype {other.dtype} but {first_name} has {first.dtype}; all must agree. "
                f"Convert one, e.g. {name}.to({first_name}.dtype)."
            )
        if other.device != first.device:
            raise ArgumentTypeError(
                f"{name} is on {other.device} but {first_name} is on {first.device}; all must be on one device. "
                f"Move one, e.g. {name}.to({first_name}.device)."
            )


def check_directions(value: object, name: str, *, validate: bool = True) -> Tensor:
    """Take unit vectors along the last axis, of length at least 2.

    Args:
        value: what was given.
        name: of the argument, for the error.
        validate: whether to check the lengths.
    """
    tensor = check_floating(value, name)
    if tensor.ndim == 0 or tensor.shape[-1] < 2:
        raise ArgumentError(
            f"{name} must have its D >= 2 coordinates on the last axis; got shape {tuple(tensor.shape)}. "
            f"The smallest sphere is the circle, D = 2."
        )
    if validate and not tensor.is_meta:
        _check_unit(tensor.detach(), name)
    return tensor


def unit_tolerance(dtype: torch.dtype) -> float:
    """How far from 1 the norm of a direction of this type may be."""
    return UNIT_TOLERANCE.get(dtype, _COARSE_TOLERANCE)


def _check_unit(tensor: Tensor, name: str) -> None:
    norms = torch.linalg.vector_norm(tensor, dim=-1)
    tolerance = unit_tolerance(tensor.dtype)
    bad = ~((norms - 1).abs() <= tolerance)
    if bad.any():
        index = _first(bad)
        raise ArgumentError(
            f"{name}{_subscript(index)} has norm {norms[index].item():.6g}; directions must be unit vectors "
            f"(norm 1 within {tolerance:g}). Call sphunc.sphere.normalize first; a zero vector has no direction."
        )


def check_same_dim(**tensors: Tensor) -> None:
    """Refuse directions that live on different spheres."""
    (first_name, first), *others = tensors.items()
    for name, other in others:
        if other.shape[-1] != first.shape[-1]:
            raise ArgumentError(
                f"{name} has {other.shape[-1]} coordinates but {first_name} has {first.shape[-1]}; both must lie on "
                f"the same sphere. Check the last axis of {name}, shape {tuple(other.shape)}."
            )


def check_generator(generator: object) -> None:
    """Take a source of randomness, or None for torch's own."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ArgumentTypeError(
            f"generator must be a torch.Generator or None; got {generator!r} of type {type(generator).__name__}. "
            f"A seed becomes one by torch.Generator().manual_seed(seed)."
        )


def check_broadcast(**shapes: torch.Size) -> torch.Size:
    """The common shape of batches, or an error that names them."""
    try:
        return torch.broadcast_shapes(*shapes.values())
    except RuntimeError:
        given = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise ArgumentError(
            f"batch shapes do not broadcast: {given}. They must be equal or 1 along every axis, from the right."
        ) from None


def _refuse_first(value: Tensor, bad: Tensor, name: str, allowed: str) -> NoReturn:
    index = _first(bad)
    raise ArgumentError(
        f"{name}{_subscript(index)} is {value[index].item():.6g}. {allowed}. Nothing is clamped: correct the value, or "
        f"find where it arose (torch.autograd.set_detect_anomaly for NaN)."
    )


def _first(bad: Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in bad.nonzero()[0])


def _subscript(index: tuple[int, ...]) -> str:
    if not index:
        return ""
    return f"[{', '.join(map(str, index))}]"
