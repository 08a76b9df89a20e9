"""Settings of a peer by name and value: what is no setting, or out of its range, is refused before any work.

A field of a settings class carries its range in its type: ``width: Count = 64``. A word that is no setting is refused
with the one that was probably meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from sphunc.errors import ArgumentError, ArgumentTypeError


@dataclass(frozen=True)
class Range:
    """Numbers that a setting may have.

    Attributes:
        words: the range as a person would say it.
        least: the smallest.
        below: all must be smaller than this.
        least_is_allowed: whether the smallest is one of them.
    """

    words: str
    least: int | float
    below: float = math.inf
    least_is_allowed: bool = True

    def __contains__(self, value: int | float) -> bool:
        return value < self.below and (value >= self.least if self.least_is_allowed else value > self.least)


Count = Annotated[int, Range("a whole number, 1 or more", 1)]
Several = Annotated[int, Range("a whole number, 2 or more", 2)]
Share = Annotated[float, Range("a number from 0 up to, but not, 1", 0.0, below=1.0)]
Weight = Annotated[float, Range("a finite number, 0 or more", 0.0)]
Rate = Annotated[float, Range("a finite number above 0", 0.0, least_is_allowed=False)]


def check_params(owner: str, given: Iterable[str], allowed: Sequence[str]) -> None:
    """Raise for the names in ``given`` that are not ``allowed``, all at once."""
    unknown = [_unknown(owner, name, allowed) for name in given if name not in allowed]
    if unknown:
        raise ArgumentError(f"{'; '.join(unknown)}; allowed: {', '.join(allowed)}")


def _unknown(owner: str, name: str, allowed: Sequence[str]) -> str:
    close = get_close_matches(name, allowed, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{name!r} is not a setting of {owner}{hint}"


def check_values(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as Python's own numbers and words; raise for those that their fields do not allow, all at once.

    Args:
        kind: the settings class.
        given: values of some of its fields.
    """
    hints = get_type_hints(kind, include_extras=True)
    checked, faults = dict[str, Any](), list[ArgumentError | ArgumentTypeError]()
    for name, value in given.items():
        try:
            checked[name] = _checked(name, value, hints[name])
        except (ArgumentError, ArgumentTypeError) as fault:
            faults.append(fault)
    if faults:
        raise type(faults[0])(". ".join(map(str, faults)))
    return checked


def _checked(name: str, value: Any, hint: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if hint is bool:
        return _typed(name, value, bool, "True or False")
    if get_origin(hint) is Literal:
        return _chosen(name, value, get_args(hint))
    base, allowed = get_args(hint)
    _typed(name, value, Integral if base is int else Real, allowed.words)
    if value not in allowed:
        raise ArgumentError(f"{name} is {value!r}; give {allowed.words}")
    return base(value)


def _chosen(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}; choose {' or '.join(map(repr, choices))}")
    return value


def _typed(name: str, value: Any, kind: type[Any], words: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ArgumentTypeError(f"{name} is {value!r}, of type {type(value).__name__}; give {words}")
    return value
