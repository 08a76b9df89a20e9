"""Columns of frames, the same in forecasts, effects and influence graphs: ids of agents, names of numeric outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date
from typing import Any

PLAIN = (str, int, float, date)
"""Types that frames keep as they are."""


def id_column(ids: Sequence[Hashable]) -> list[Any]:
    """Ids as a column of a frame can hold them, different ones apart.

    As they are where all have one plain type. Otherwise as text: as ``str`` writes them, or as ``repr`` does where this
    would make one of two.

    Example:
        >>> id_column((1, 2)), id_column((1, ("x", 1))), id_column((1, "1"))
        ([1, 2], ['1', "('x', 1)"], ['1', "'1'"])
    """
    if len({type(one) for one in ids}) <= 1 and all(isinstance(one, PLAIN) for one in ids):
        return list(ids)
    written = [str(one) for one in ids]
    return written if len(set(written)) == len(set(ids)) else [repr(one) for one in ids]


def column_ends(names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """What follows "mean", "deviation" and the like in the column of each of ``count`` numbers.

    ``_<name>`` where numbers have names; without names nothing for a single one, and ``_0``, ``_1`` ... for several.

    Example:
        >>> column_ends(("valence",), 1), column_ends((), 1), column_ends((), 2)
        (('_valence',), ('',), ('_0', '_1'))
    """
    if not names and count == 1:
        return ("",)
    return tuple(f"_{name}" for name in names or range(count))
