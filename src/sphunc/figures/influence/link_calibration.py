"""Probabilities of links against the share of them that are true."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Bool, Float
from sphunc.evaluation import check_link_calibration
from sphunc.figures.style import COLOURS, GREY, LEVEL_DEVIATIONS

BINS = 10


def draw_link_calibration(
    axes: Axes, probability: Float[np.ndarray, " link"], is_true: Bool[np.ndarray, " link"]
) -> str:
    """Draw the share of true links per bin with 95 % intervals and the number of links; return the alternative text.

    Args:
        axes: to draw on.
        probability: of every candidate link.
        is_true: whether it is one.
    """
    check = check_link_calibration(probability, is_true, samples=500)
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="perfect")
    for b in np.unique(place):
        inside = place == b
        centre = probability[inside].mean()
        share = is_true[inside].mean()
        count = int(inside.sum())
        # Agresti and Coull (1998): an interval that is not empty at 0 and 1.
        middle = (share * count + 2) / (count + 4)
        half = LEVEL_DEVIATIONS * np.sqrt(middle * (1 - middle) / (count + 4))
        ends = np.array([[share - max(0.0, middle - half)], [min(1.0, middle + half) - share]]).clip(min=0)
        axes.errorbar([centre], [share], yerr=ends, fmt="o", color=COLOURS[0], capsize=2)
        axes.annotate(f"{count:,}", (centre, share), xytext=(4, -8), textcoords="offset points", fontsize=6)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of a link", ylabel="share of true links")
    axes.set_title(f"ECE {check.ece:.3f} (floor {check.null.floor:.3f})")
    return (
        f"Calibration of {len(probability)} link probabilities; expected calibration error {check.ece:.3f}, floor "
        f"{check.null.floor:.3f}. Numbers beside the points count links."
    )
