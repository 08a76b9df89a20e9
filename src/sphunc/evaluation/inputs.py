"""What metrics take: numpy arrays, tensors or nested lists, converted once, checked once, masked once.

Leading axes are free: probabilities ``[T, N, C]`` with labels and mask ``[T, N]`` are read as
``T N`` rows. A mask is True where a row counts; the values of other rows (NaN, say) are never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from sphunc._checks import number_between
from sphunc._typing import Bool, Float, Int
from sphunc.errors import ArgumentError, ArgumentTypeError

Numbers = np.ndarray | Tensor | Sequence[object]
Mask = Numbers | None
Rows = Float[np.ndarray, " row"]
Flags = Bool[np.ndarray, " row"]
Labels = Int[np.ndarray, " row"]
ClassRows = Float[np.ndarray, "row class"]

ROUNDING = 1e-4
"""How far probabilities may be from summing to one: above single precision, below a real fault."""


def to_array(name: str, value: Numbers) -> np.ndarray:
    """Convert to a numpy array on the CPU; floating numbers become double precision.

    Args:
        name: of the argument, for the error.
        value: array, tensor or nested list of numbers.
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        if value.is_floating_point():
            value = value.double()  # numpy does not know bfloat16
        value = value.numpy()
    array = even_array(name, value)
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"{name}: expected numbers, got dtype {array.dtype}. Convert to numbers first.")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    return array


def even_array(name: str, value: object) -> np.ndarray:
    """Convert to a numpy array of any kind; refuse nested lists of unequal length.

    Args:
        name: of the argument, for the error.
        value: array or nested list.
    """
    try:
        return np.asarray(value)
    except ValueError:
        raise ArgumentError(
            f"{name}: rows have unequally many entries, expected an array. Give every row the same number of them."
        ) from None


def flat_numbers(
    arrays: Mapping[str, Numbers], mask: Mask = None, *, remedy: str = "Mask rows without a value."
) -> tuple[Rows, ...]:
    """Return equally shaped arrays of finite numbers, as rows that count.

    Args:
        arrays: by the name of the argument.
        mask: True where a row counts.
        remedy: what to do about a number that is not finite.
    """
    converted = {name: to_array(name, value) for name, value in arrays.items()}
    first = next(iter(converted))
    shape = converted[first].shape
    for name, array in converted.items():
        if array.shape != shape:
            raise ArgumentError(f"{name}: shape {array.shape} differs from {shape} of {first}. Give equal shapes.")
    keep = counted(mask, shape, first)
    return tuple(_finite(name, array[keep].astype(np.float64), remedy) for name, array in converted.items())


def counted(mask: Mask, shape: tuple[int, ...], name: str = "rows") -> Bool[np.ndarray, " ..."]:
    """Return the mask as booleans of the given shape; at least one row must count.

    Args:
        mask: True where a row counts; None counts all.
        shape: of the rows.
        name: of the argument that holds the rows.
    """
    if 0 in shape:
        raise ArgumentError(f"{name}: empty, and nothing can be computed from nothing. Leave such a set out.")
    if mask is None:
        return np.ones(shape, dtype=bool)
    keep = to_array("mask", mask)
    if keep.size and keep.dtype != bool:
        raise ArgumentTypeError(f"mask: expected booleans, got dtype {keep.dtype}. Compare first, as in mask > 0.")
    if keep.shape != shape:
        raise ArgumentError(f"mask: shape {keep.shape} differs from {shape} of the rows. Give one boolean per row.")
    if not keep.any():
        raise ArgumentError("mask: no row counts, and a metric of nothing is not defined. Leave such a set out.")
    return keep


def class_probabilities(probabilities: Numbers, mask: Mask = None, name: str = "probabilities") -> ClassRows:
    """Return class probabilities as rows that count, each checked to sum to one.

    Args:
        probabilities: ``[..., C]``.
        mask: True where a row counts, ``[...]``.
        name: of the argument, for the error.
    """
    p = to_array(name, probabilities)
    if p.ndim < 2 or p.shape[-1] < 2:
        raise ArgumentError(f"{name}: shape {p.shape}, expected [..., C] with two classes or more on the last axis.")
    p = _finite(name, p[counted(mask, p.shape[:-1], name)].astype(np.float64), "Mask rows without a value.")
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


def class_forecast(probabilities: Numbers, labels: Numbers, mask: Mask = None) -> tuple[ClassRows, Labels]:
    """Return class probabilities and labels as rows that count.

    Args:
        probabilities: ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
    """
    p = to_array("probabilities", probabilities)
    y = to_array("labels", labels)
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


def flat_truth(arrays: Mapping[str, Numbers], mask: Mask = None) -> tuple[Rows, Flags]:
    """Return finite scores and a yes or no for each, as rows that count.

    Args:
        arrays: scores, then flags of 0 and 1, by the name of the argument.
        mask: True where a row counts.
    """
    values, flags = flat_numbers(arrays, mask)
    if not np.isin(flags, (0.0, 1.0)).all():
        name = list(arrays)[1]
        raise ArgumentError(f"{name}: expected only 0 and 1 (or booleans). Say yes or no for each row.")
    return values, flags.astype(bool)


def share(name: str, value: object, *, allow_one: bool = True) -> float:
    """Take a share of a whole, above 0.

    Args:
        name: of the argument, for the error.
        value: what was given.
        allow_one: whether all of it is a share too.
    """
    number = number_between(name, value, 0.0, 1.0)
    if number == 0.0 or (number == 1.0 and not allow_one):
        raise ArgumentError(f"{name}={number:g} is outside the open interval 0 ... 1; give a share such as 0.95")
    return number


def _finite(name: str, values: np.ndarray, remedy: str) -> np.ndarray:
    faulty = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if faulty.size:
        raise ArgumentError(
            f"{name}: {faulty.size} of {len(values)} rows are NaN or infinite, first at row {faulty[0]}. {remedy}"
        )
    return values
