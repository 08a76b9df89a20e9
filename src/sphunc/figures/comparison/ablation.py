"""What a measure loses when a part of the model is taken out: grouped bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures.style import colour_of

HATCHES = ("", "///", "...", "xx")


def draw_ablation(axes: Axes, variants: Sequence[str], measures: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw a group of bars per variant, one bar per measure; return the alternative text.

    Args:
        axes: to draw on.
        variants: names, the full model first.
        measures: by name a mean and half the width of its interval for every variant.
    """
    height = 0.8 / len(measures)
    row = np.arange(len(variants))[::-1]
    words = []
    for k, (name, values) in enumerate(measures.items()):
        mean = np.array([value for value, _ in values])
        half = np.array([width for _, width in values])
        place = row + ((len(measures) - 1) / 2 - k) * height
        axes.barh(
            place,
            mean,
            height=height,
            xerr=half,
            color=colour_of(k),
            hatch=HATCHES[k % len(HATCHES)],
            edgecolor="white",
            error_kw={"elinewidth": 0.7},
            label=name,
        )
        axes.axvline(mean[0], color=colour_of(k), linewidth=0.8, linestyle=":")
        worst = int(np.nanargmin(mean))
        words.append(f"{name} is {mean[0]:.1f} of the full model and lowest, {mean[worst]:.1f}, for {variants[worst]}")
    low = min(value - width for values in measures.values() for value, width in values if np.isfinite(value))
    axes.set(yticks=row, yticklabels=list(variants), xlim=(max(0.0, low - 5), None), xlabel="measure, in points")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.1), ncols=len(measures))
    return f"Bars of {len(variants)} variants: {'; '.join(words)}."
