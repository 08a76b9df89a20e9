"""A row per agent, and intervals that do not hold 0 are counted."""

import polars as pl
from matplotlib.axes import Axes

from sphunc.figures import draw_effects


def test_rows_are_named_and_intervals_counted(axes: Axes) -> None:
    effects = pl.DataFrame(
        {
            "name": ["x", "y"],
            "change": [0.3, -0.1],
            "low": [0.1, -0.3],
            "high": [0.5, 0.1],
            "monte_carlo_error": [0.01, 0.02],
        }
    )
    alt = draw_effects(axes, effects)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "y"]
    assert alt == ("Forest plot of 2 effects: the largest is +0.300 on x; the 90 % intervals of 1 do not hold 0.")
