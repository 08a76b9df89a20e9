"""Whole numbers that users give (counts, steps, seeds): Python's and numpy's alike, booleans never."""

from __future__ import annotations

from numbers import Integral

from sphunc.errors import ArgumentError, ArgumentTypeError

LARGEST_SEED = 2**63 - 1
"""Every generator takes seeds up to here."""


def is_whole(value: object) -> bool:
    """Say whether a value counts as a whole number; True and False are answers, not numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(name: str, value: object, least: int | None = None) -> int:
    """Take a whole number, ``least`` or more, and return it as Python's own."""
    if not isinstance(value, Integral) or not is_whole(value):
        raise ArgumentTypeError(f"{name}={value!r} must be a whole number, got {type(value).__name__}")
    if least is not None and value < least:
        raise ArgumentError(f"{name}={int(value)} must be at least {least}")
    return int(value)


def seed_number(value: object) -> int:
    """Take a seed."""
    seed = whole_number("seed", value, least=0)
    if seed > LARGEST_SEED:
        raise ArgumentError(f"seed={seed} must be at most {LARGEST_SEED}")
    return seed
