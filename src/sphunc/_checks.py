"""Checks of arguments that every room shares: whole numbers, seeds, numbers, names, "did you mean".

A check returns the value in the form that the library keeps, Python's own types. What it refuses it
names: the argument, what was given, what is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

from sphunc.errors import ArgumentError, ArgumentTypeError

LARGEST_SEED = 2**63 - 1
"""Every generator takes seeds up to here."""
MOST_SHOWN = 6
"""Names that an error lists; of more it shows the first two and the last."""


def is_whole(value: object) -> bool:
    """Say whether a value is a whole number, of Python or numpy; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(name: str, value: object, least: int | None = None) -> int:
    """Take a whole number.

    Args:
        name: of the argument, for the error.
        value: what was given.
        least: smallest value that is allowed; None allows all.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name}={value!r} must be a whole number, got {kind}")
    if least is not None and value < least:
        raise ArgumentError(f"{name}={int(value)} must be at least {least}")
    return int(value)


def seed_number(value: object) -> int:
    """Take a seed, which any generator of random numbers accepts."""
    seed = whole_number("seed", value, least=0)
    if seed > LARGEST_SEED:
        raise ArgumentError(f"seed={seed} must be at most {LARGEST_SEED}")
    return seed


def number_between(name: str, value: Any, low: float, high: float) -> float:
    """Take a number of any kind that ``float`` reads, between two bounds.

    Args:
        name: of the argument, for the error.
        value: what was given; texts and truth values are refused.
        low: smallest value that is allowed.
        high: largest one.
    """
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError  # float() would take them
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError, RuntimeError):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name}={value!r} must be a number, got {kind}") from None
    if not low <= number <= high:
        raise ArgumentError(f"{name}={number:g} is outside {low:g} ... {high:g}")
    return number


def plain_scalar(value: Any) -> Any:
    """Return scalars of numpy and torch as Python's own, anything else as it is.

    A ``datetime64`` stays: it may be finer than Python's dates, which would make it a number.
    """
    if isinstance(value, np.datetime64):
        return value
    is_scalar = isinstance(value, np.number | np.bool_ | np.str_)
    if is_scalar or getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def plain_list(value: Any) -> Any:
    """Return arrays and tensors as Python's lists or scalars, anything else as it is."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def is_name(value: object) -> bool:
    """Say whether a value may name an agent, a group or a time: hashable, no truth value, no array."""
    if isinstance(value, bool):
        return False
    if hasattr(value, "tolist") and not isinstance(value, np.generic):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def some_names(names: Sequence[object]) -> str:
    """List names for a message, the first two and the last of many.

    Example:
        >>> some_names(["a", "b"]), some_names(range(100))
        ('a, b', '0, 1, ... 99')
    """
    shown = [str(name) for name in names]
    if len(shown) <= MOST_SHOWN:
        return ", ".join(shown)
    return f"{shown[0]}, {shown[1]}, ... {shown[-1]}"


def did_you_mean(given: object, allowed: Sequence[object]) -> str:
    """Return "; did you mean 'calm'?" for the allowed name nearest to what was given, or nothing.

    Args:
        given: a name that is not allowed.
        allowed: those that are.

    Example:
        >>> did_you_mean("clam", ["calm", "upset"]), did_you_mean("joy", ["calm", "upset"])
        ("; did you mean 'calm'?", '')
    """
    by_text = {str(name): name for name in allowed}
    near = get_close_matches(str(given), list(by_text), n=1)
    if not near:
        return ""
    return f"; did you mean {by_text[near[0]]!r}?"
