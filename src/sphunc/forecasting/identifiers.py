"""Ids of agents and labels of times as JSON can hold them, and an order of agents that does not depend on the file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date, datetime

import numpy as np

from sphunc.errors import CheckpointError

Encoded = str | int | float | bool | None | dict[str, object]


def encode_id(one: Hashable) -> Encoded:
    """Return an id as JSON: texts and numbers as they are, dates and tuples tagged; others are refused.

    Numbers and dates of numpy are those of Python, which equal them.
    """
    if isinstance(one, np.generic) and one.item() == one:
        one = one.item()
    if isinstance(one, datetime):
        return {"datetime": one.isoformat()}
    if isinstance(one, date):
        return {"date": one.isoformat()}
    if isinstance(one, tuple):
        return {"tuple": [encode_id(part) for part in one]}
    if one is None or isinstance(one, str | int | float | bool):
        return one
    raise CheckpointError(
        f"id {one!r} is a {type(one).__name__}, which JSON cannot keep; use texts, numbers, dates or tuples of them"
    )


def decode_id(one: object) -> Hashable:
    """Return the id that :func:`encode_id` wrote."""
    if one is None or isinstance(one, str | int | float):
        return one
    if isinstance(one, dict) and len(one) == 1:
        kind, value = next(iter(one.items()))
        if kind == "tuple" and isinstance(value, list):
            return tuple(decode_id(part) for part in value)
        readers = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}
        if kind in readers and isinstance(value, str):
            try:
                return readers[kind](value)
            except ValueError:
                pass
    raise CheckpointError(f"{one!r} is no id that sphunc saves; the folder is damaged: copy it again")


def canonical_order(ids: Sequence[Hashable]) -> list[int]:
    """Positions of the ids in an order that depends on the ids alone, so that results do not depend on the file's.

    Example:
        >>> canonical_order(["b", "a", "c"])
        [1, 0, 2]
    """
    return sorted(range(len(ids)), key=lambda k: (type(ids[k]).__name__, str(ids[k]), repr(ids[k])))
