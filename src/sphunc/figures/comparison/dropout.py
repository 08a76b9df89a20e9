"""A measure against the share of features lost at test time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures.style import colour_of, line_of, marker_of

Curve = tuple[Sequence[float], Sequence[float], Sequence[float]]


def draw_dropout(axes: Axes, curves: Mapping[str, Curve], measure: str) -> str:
    """Draw a line per system with 95 % intervals over seeds; return the alternative text.

    Args:
        axes: to draw on.
        curves: by system: shares lost, means, and half widths of intervals (0 where there is one seed).
        measure: what the means are of.
    """
    words = []
    for k, (name, (lost, mean, half)) in enumerate(curves.items()):
        axes.errorbar(
            np.asarray(lost),
            np.asarray(mean),
            yerr=np.asarray(half),
            color=colour_of(k),
            linestyle=line_of(k),  # pyright: ignore[reportArgumentType]
            marker=marker_of(k),
            capsize=2,
            label=name,
        )
        words.append(f"{name} from {mean[0]:.1f} to {mean[-1]:.1f}")
    axes.set(xlabel="share of features lost at test time", ylabel=measure)
    axes.legend(loc="best", ncols=2)
    return f"{measure} against the share of features lost: {'; '.join(words)}."
