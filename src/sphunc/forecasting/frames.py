"""How forecasts and effects become frames: columns of ids and times, names of outcome columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date
from typing import Any

import polars as pl

FRAME_TYPES = (str, int, float, date)
"""Types of ids that frames keep as they are."""


def id_column(ids: Sequence[Hashable]) -> list[Any]:
    """Ids as a column of a frame can hold them, different ones apart.

    As they are where all have one type that frames know. Otherwise as text: as ``str`` writes
    them, or as ``repr`` does where ``str`` would make one of two.

    Example:
        >>> id_column((1, 2)), id_column((1, ("x", 1))), id_column((1, "1"))
        ([1, 2], ['1', "('x', 1)"], ['1', "'1'"])
    """
    types = {type(one) for one in ids}
    if len(types) <= 1 and all(isinstance(one, FRAME_TYPES) for one in ids):
        return list(ids)
    texts = [str(one) for one in ids]
    if len(set(texts)) == len(set(ids)):
        return texts
    return [repr(one) for one in ids]


def time_column(times: Sequence[Any], repeats: int) -> pl.Series:
    """Labels of times as a column, each ``repeats`` times in a row.

    Args:
        times: labels: integers, dates or texts; a mixture of them becomes text.
        repeats: rows per time, one for each agent.
    """
    labels = [time for time in times for _ in range(repeats)]
    return pl.Series(labels, strict=False)


def column_ends(names: Sequence[str], count: int) -> tuple[str, ...]:
    """What follows "mean", "deviation" and the like in the column of each numeric outcome.

    ``_<name>`` where outcomes have names; without names nothing for a single one, and ``_0``,
    ``_1`` ... for several.

    Args:
        names: of the outcomes; empty if they have none.
        count: of outcomes, K.

    Example:
        >>> column_ends(("valence",), 1), column_ends((), 1), column_ends((), 2)
        (('_valence',), ('',), ('_0', '_1'))
    """
    if names:
        return tuple(f"_{name}" for name in names)
    if count == 1:
        return ("",)
    return tuple(f"_{k}" for k in range(count))


def probability_columns(class_names: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns of class probabilities, ``p(<class>)``.

    Example:
        >>> probability_columns(("calm", "upset"))
        ('p(calm)', 'p(upset)')
    """
    return tuple(f"p({name})" for name in class_names)
