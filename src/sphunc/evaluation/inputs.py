"""What metrics take: numpy arrays, tensors or nested lists, converted once, checked once, masked once.

Leading axes are free: probabilities ``[T, N, C]`` with labels and mask ``[T, N]`` are read as ``T N`` rows. A mask is
True where a row counts; what stands in rows that do not count (NaN, say) is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.errors import ArgumentError, ArgumentTypeError

Numbers = np.ndarray | Tensor | Sequence[Any]

ROUNDING = 1e-4
"""How far probabilities may be from summing to one: generous for single precision, too small for a real fault."""


def to_array(name: str, value: Numbers) -> np.ndarray:
    """Convert to a numpy array on the CPU; floating numbers become double precision, integers and booleans stay."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = value.double().numpy() if value.is_floating_point() else value.numpy()
    array = even_array(name, value)
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"{name}: expected numbers, got dtype {array.dtype}. Convert to numbers first.")
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def even_array(name: str, value: Any) -> np.ndarray:
    """Convert to a numpy array of any kind, refusing nested lists of which some are longer than others."""
    try:
        return np.asarray(value)
    except ValueError:
        lengths = list(dict.fromkeys(_length(row) for row in value))
        got = f" (some {lengths[0]}, some {lengths[1]})" if len(lengths) > 1 else ""
        raise ArgumentError(
            f"{name}: rows have unequally many entries{got}, expected an array. Give every row the same number of them."
        ) from None


def _length(row: Any) -> int:
    try:
        return len(row)
    except TypeError:
        return 0


def flat_numbers(mask: Numbers | None = None, **arrays: Numbers) -> tuple[Float[np.ndarray, " row"], ...]:
    """Equally shaped arrays of finite numbers, as rows that count."""
    return equal_numbers(arrays, mask)


def equal_numbers(
    arrays: Mapping[str, Numbers], mask: Numbers | None = None, *, remedy: str = "Mask rows without a value."
) -> tuple[Float[np.ndarray, " row"], ...]:
    """As :func:`flat_numbers`, for arrays of any name; ``remedy`` says what to do about a number that is not finite."""
    converted = {name: to_array(name, value) for name, value in arrays.items()}
    first, shape = next((name, array.shape) for name, array in converted.items())
    for name, array in converted.items():
        if array.shape != shape:
            raise ArgumentError(f"{name}: shape {array.shape} differs from {shape} of {first}. Give equal shapes.")
    keep = counted(mask, shape, first)
    return tuple(_finite(name, array[keep].astype(np.float64), remedy) for name, array in converted.items())


def counted(mask: Numbers | None, shape: tuple[int, ...], name: str = "rows") -> Bool[np.ndarray, " ..."]:
    """The mask as booleans of the given shape, all True when there is none; at least one row must count.

    Args:
        mask: True where a row counts.
        shape: of the rows.
        name: what the caller calls the rows.
    """
    if 0 in shape:
        raise ArgumentError(f"{name}: empty, and nothing can be computed from nothing. Leave such a set out.")
    keep = np.ones(shape, dtype=bool) if mask is None else to_array("mask", mask)
    if keep.size and keep.dtype != bool:
        raise ArgumentTypeError(f"mask: expected booleans, got dtype {keep.dtype}. Compare first, as in mask > 0.")
    if keep.shape != shape:
        raise ArgumentError(f"mask: shape {keep.shape} differs from {shape} of the rows. Give one boolean per row.")
    if not keep.any():
        raise ArgumentError("mask: no row counts, and a metric of nothing is not defined. Leave such a set out.")
    return keep


def class_probabilities(
    probabilities: Numbers, mask: Numbers | None = None, name: str = "probabilities"
) -> Float[np.ndarray, "row class"]:
    """Class probabilities ``[..., C]`` as rows that count, each checked to sum to one."""
    p = to_array(name, probabilities)
    if p.ndim < 2 or p.shape[-1] < 2:
        raise ArgumentError(f"{name}: shape {p.shape}, expected [..., C] with two classes or more on the last axis.")
    return _simplex(name, p[counted(mask, p.shape[:-1], name)].astype(np.float64))


def class_forecast(
    probabilities: Numbers, labels: Numbers, mask: Numbers | None = None
) -> tuple[Float[np.ndarray, "row class"], Int[np.ndarray, " row"]]:
    """Class probabilities ``[..., C]`` and labels ``[...]`` in 0 ... C-1, as rows that count."""
    p, y = to_array("probabilities", probabilities), to_array("labels", labels)
    if y.size and y.dtype.kind not in "iu":  # numpy calls an empty list one of floating numbers
        raise ArgumentTypeError(f"labels: expected integers, got dtype {y.dtype}. Give class indices 0 ... C-1.")
    if p.shape[:-1] != y.shape:
        raise ArgumentError(f"labels: shape {y.shape} does not fit probabilities {p.shape}. Give one label per row.")
    p = class_probabilities(p, mask)
    y = y[counted(mask, y.shape)].astype(np.int64)
    outside = np.unique(y[(y < 0) | (y >= p.shape[1])])
    if outside.size:
        raise ArgumentError(
            f"labels: {outside[:5].tolist()} outside the classes 0 ... {p.shape[1] - 1}. "
            "Mask rows without an outcome, or give a probability for every class."
        )
    return p, y


def flat_truth(
    mask: Numbers | None = None, **arrays: Numbers
) -> tuple[Float[np.ndarray, " row"], Bool[np.ndarray, " row"]]:
    """Finite scores and a yes or no for each, as rows that count; named as the caller calls them, in this order."""
    values, flags = flat_numbers(mask, **arrays)
    if not np.isin(flags, (0.0, 1.0)).all():
        name = list(arrays)[1]
        raise ArgumentError(f"{name}: expected only 0 and 1 (or booleans). Say yes or no for each row.")
    return values, flags.astype(bool)


def unit_interval(name: str, values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """Probabilities of single events, refused outside [0, 1] (rounding forgiven)."""
    if values.min() < -ROUNDING or values.max() > 1 + ROUNDING:
        raise ArgumentError(
            f"{name}: range [{values.min():.4g}, {values.max():.4g}], expected probabilities in [0, 1]. "
            "Scores without a scale have a ranking, not a calibration."
        )
    return values.clip(0.0, 1.0)


def at_least(name: str, value: Any, least: int) -> int:
    """The whole number itself, refused below ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name}: got {value!r}, expected a whole number, {least} or more.")
    if value < least:
        raise ArgumentError(f"{name}: got {value}, expected {least} or more.")
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """The random numbers of a seed."""
    return np.random.default_rng(at_least("seed", seed, 0))


def inside(name: str, value: Any) -> float:
    """A share strictly between 0 and 1."""
    return number_where(name, value, lambda v: 0.0 < v < 1.0, "a number strictly between 0 and 1, such as 0.95")


def share(name: str, value: Any) -> float:
    """A share above 0, up to all."""
    return number_where(name, value, lambda v: 0.0 < v <= 1.0, "a share in (0, 1], such as 0.8")


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    return number_where(name, value, lambda v: 0.0 < v < np.inf, "a finite number above 0")


def number_where(name: str, value: Any, holds: Callable[[float], bool], allowed: str) -> float:
    """The number itself, refused where ``holds`` does not, or where it is none; ``allowed`` says so in words."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name}: got {value!r}, expected {allowed}.")
    if not holds(float(value)):
        raise ArgumentError(f"{name}: got {value}, expected {allowed}.")
    return float(value)


def _finite(name: str, values: np.ndarray, remedy: str = "Mask rows without a value.") -> np.ndarray:
    faulty = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if faulty.size:
        raise ArgumentError(
            f"{name}: {faulty.size} of {len(values)} rows are NaN or infinite, first at row {faulty[0]}. {remedy}"
        )
    return values


def _simplex(name: str, p: np.ndarray) -> np.ndarray:
    _finite(name, p)
    if p.min() < -ROUNDING:
        raise ArgumentError(f"{name}: smallest value {p.min():.4g} is negative. Give probabilities, not logits.")
    sums = p.sum(axis=1)
    worst = int(np.abs(sums - 1.0).argmax())
    if abs(sums[worst] - 1.0) > ROUNDING:
        raise ArgumentError(
            f"{name}: row {worst} sums to {sums[worst]:.6g}, expected 1 (to {ROUNDING:g}). "
            "Give probabilities over all classes, as softmax(logits) does."
        )
    return p.clip(0.0, 1.0)
