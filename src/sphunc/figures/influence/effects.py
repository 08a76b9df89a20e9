"""Effects of an intervention with their intervals: a forest plot."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sphunc.figures.style import COLOURS, GREY


def draw_effects(axes: Axes, effects: pl.DataFrame) -> str:
    """Draw a row per agent: change of an outcome, 90 % interval, Monte Carlo error; return the alternative text.

    Args:
        axes: to draw on.
        effects: columns name, change, low, high, monte_carlo_error; the largest first.
    """
    count = effects.height
    row = np.arange(count)[::-1]
    change = effects["change"].to_numpy()
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.hlines(row, effects["low"].to_numpy(), effects["high"].to_numpy(), color=COLOURS[0], linewidth=1.0)
    error = effects["monte_carlo_error"].to_numpy()
    axes.errorbar(change, row, xerr=error, fmt="o", color=COLOURS[1], elinewidth=3, markersize=3, capsize=0)
    axes.set(
        yticks=row, yticklabels=effects["name"].to_list(), xlabel="change of the outcome", ylim=(-0.6, count - 0.4)
    )
    axes.xaxis.set_major_locator(MaxNLocator(5))
    apart = int(((effects["low"] > 0) | (effects["high"] < 0)).sum())
    return (
        f"Forest plot of {count} effects: the largest is {change[0]:+.3f} on {effects['name'][0]}; the 90 % intervals "
        f"of {apart} do not hold 0."
    )
