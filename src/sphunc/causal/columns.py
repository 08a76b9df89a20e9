"""Names of columns that hold numeric outcomes, the same in forecasts, effects and contrasts."""

from __future__ import annotations


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
