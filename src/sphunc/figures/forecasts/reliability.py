"""Reliability diagram: confidence against accuracy, with counts and the band of perfect calibration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Float, Int
from sphunc.evaluation import check_calibration, reliability_curve
from sphunc.figures.style import GREY, LEVEL_DEVIATIONS, colour_of, marker_of

BINS = 10

System = tuple[Float[np.ndarray, "row class"], Int[np.ndarray, " row"]]


def draw_reliability(axes: Axes, counts: Axes, systems: Mapping[str, System], title: str = "") -> str:
    r"""Draw accuracy against confidence; return the alternative text.

    The band of a bin with n rows and mean confidence c is :math:`c \pm 1.96 \sqrt{c (1 - c) / n}`, for the first
    system: where a calibrated forecaster lies in 95 of 100 bins.

    Args:
        axes: for the diagram.
        counts: for the number of rows in every bin.
        systems: class probabilities ``[n, C]`` and outcomes ``[n]`` by name; the first is ours.
        title: of the diagram.
    """
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="perfect")
    words = []
    for k, (name, (probabilities, outcomes)) in enumerate(systems.items()):
        curve = reliability_curve(probabilities, outcomes, bins=BINS)
        check = check_calibration(probabilities, outcomes, samples=500)
        if k == 0:
            spread = np.sqrt(curve.confidence * (1 - curve.confidence) / curve.count)
            low = curve.confidence - LEVEL_DEVIATIONS * spread
            high = curve.confidence + LEVEL_DEVIATIONS * spread
            axes.fill_between(
                curve.confidence, low.clip(0), high.clip(max=1), color=colour_of(k), alpha=0.15, linewidth=0
            )
        label = f"{name} (ECE {check.ece:.3f}, floor {check.null.floor:.3f})"
        axes.plot(curve.confidence, curve.accuracy, color=colour_of(k), marker=marker_of(k), label=label)
        width = 0.8 / BINS / len(systems)
        centre = (curve.low + curve.high) / 2 + (k - (len(systems) - 1) / 2) * width
        counts.bar(centre, curve.count, width=width, color=colour_of(k))
        verdict = "inside" if check.is_calibrated else "above"
        words.append(f"{name} has an expected calibration error of {check.ece:.3f}, {verdict} the band of chance")
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy", title=title)
    axes.legend(loc="upper left")
    counts.set(xlim=(0, 1), xlabel="confidence", ylabel="rows")
    return f"Reliability diagram{f' of {title}' if title else ''}: {'; '.join(words)}."
