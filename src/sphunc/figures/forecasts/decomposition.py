"""Epistemic against aleatoric uncertainty of every forecast, errors marked."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Bool, Float
from sphunc.figures.style import GREY, MISS


def draw_decomposition(
    axes: Axes,
    epistemic: Float[np.ndarray, " row"],
    aleatoric: Float[np.ndarray, " row"],
    wrong: Bool[np.ndarray, " row"],
) -> str:
    """Draw a point per forecast, large crosses where the named class did not occur; return the alternative text.

    Args:
        axes: to draw on.
        epistemic: scaled to [0, 1].
        aleatoric: in its own unit.
        wrong: True for errors.
    """
    right = ~wrong
    axes.scatter(epistemic[right], aleatoric[right], s=5, color=GREY, linewidth=0, alpha=0.6, label="right")
    axes.scatter(epistemic[wrong], aleatoric[wrong], s=16, color=MISS, marker="x", linewidth=0.8, label="wrong")
    axes.set(xlabel="epistemic (scaled)", ylabel="aleatoric")
    axes.legend(loc="best")
    return (
        f"Scatter of epistemic against aleatoric uncertainty of {len(wrong)} forecasts, {int(wrong.sum())} of them "
        f"wrong. Mean aleatoric: {_mean(aleatoric[wrong])} of wrong and {_mean(aleatoric[right])} of right forecasts; "
        f"mean epistemic: {_mean(epistemic[wrong])} and {_mean(epistemic[right])}."
    )


def _mean(values: Float[np.ndarray, " row"]) -> str:
    if not len(values):
        return "none"
    return f"{values.mean():.2f}"
