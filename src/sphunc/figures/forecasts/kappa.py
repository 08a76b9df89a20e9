"""Concentrations of the beliefs about states: histogram and box plot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Float
from sphunc.figures.style import COLOURS, GREY

BINS = 30


def draw_kappa_histogram(axes: Axes, kappa: Float[np.ndarray, " row"]) -> str:
    """Draw the distribution of the concentration on a logarithmic scale; return the alternative text.

    Args:
        axes: to draw on.
        kappa: of every belief, positive.
    """
    low = max(float(kappa.min()), 1e-3)
    high = max(float(kappa.max()), 1.01 * low)
    axes.hist(kappa, bins=np.geomspace(low, high, BINS).tolist(), color=COLOURS[0], edgecolor="white", linewidth=0.3)
    median = float(np.median(kappa))
    axes.axvline(median, color=COLOURS[1], linestyle="--", label=f"median {median:.3g}")
    axes.set(xscale="log", xlabel=r"concentration $\kappa$", ylabel="beliefs")
    axes.legend(loc="best")
    return (
        f"Histogram of {len(kappa)} concentrations, from {kappa.min():.3g} to {kappa.max():.3g}, median {median:.3g}."
    )


def draw_kappa_box(axes: Axes, groups: Mapping[str, Float[np.ndarray, " row"]]) -> str:
    """Draw a box per group: quartiles, whiskers of 1.5 times their distance, outliers; return the alternative text.

    Args:
        axes: to draw on.
        groups: concentrations by name, such as "seen often" and "seen once".
    """
    axes.boxplot(
        list(groups.values()),
        tick_labels=list(groups),
        medianprops={"color": COLOURS[1]},
        boxprops={"color": COLOURS[0]},
        flierprops={"marker": ".", "markersize": 2, "markeredgecolor": GREY},
    )
    axes.set(yscale="log", ylabel=r"concentration $\kappa$")
    medians = [f"{name} {np.median(values):.3g}" for name, values in groups.items()]
    return f"Box plots of concentrations; medians: {'; '.join(medians)}."
