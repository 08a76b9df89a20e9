"""Epistemic uncertainty against the error rate, with a trend."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Bool, Float
from sphunc.figures.style import COLOURS, GREY, LEVEL_DEVIATIONS

BINS = 8


def draw_epistemic_error(axes: Axes, epistemic: Float[np.ndarray, " row"], wrong: Bool[np.ndarray, " row"]) -> str:
    """Draw the error rate in bins of equal mass, with 95 % intervals and a least-squares line; return the alternative
    text.

    Args:
        axes: to draw on.
        epistemic: of every forecast.
        wrong: True for errors.
    """
    order = np.argsort(epistemic, kind="stable")
    parts = [part for part in np.array_split(order, min(BINS, len(order))) if len(part)]
    centre = np.array([epistemic[part].mean() for part in parts])
    rate = np.array([wrong[part].mean() for part in parts])
    error = np.array([np.sqrt(wrong[part].mean() * (1 - wrong[part].mean()) / len(part)) for part in parts])
    axes.errorbar(centre, rate, yerr=LEVEL_DEVIATIONS * error, fmt="o", color=COLOURS[0], capsize=2, label="error rate")
    slope = 0.0
    if np.ptp(epistemic) > 0:
        slope, intercept = np.polyfit(epistemic, wrong.astype(float), 1)
        ends = np.array([epistemic.min(), epistemic.max()])
        axes.plot(ends, intercept + slope * ends, color=GREY, linestyle="--", label=f"trend, slope {slope:.2f}")
    axes.set(xlabel="epistemic (scaled)", ylabel="error rate", ylim=(0, None))
    axes.legend(loc="best")
    return (
        f"Error rate in {len(parts)} bins of epistemic uncertainty, from {rate[0]:.2f} in the lowest to {rate[-1]:.2f} "
        f"in the highest bin; the trend has a slope of {slope:.2f}."
    )
