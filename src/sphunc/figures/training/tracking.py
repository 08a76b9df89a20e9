"""Two measures over epochs on axes of their own: calibration and links, or H_causal and confidence."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Float
from sphunc.figures.style import COLOURS

Series = tuple[str, Float[np.ndarray, " epoch"]]


def draw_tracking(axes: Axes, epochs: Float[np.ndarray, " epoch"], left: Series, right: Series) -> str:
    """Draw one measure on the left axis and one on the right; return the alternative text.

    Args:
        axes: to draw on; the right axis is added.
        epochs: their numbers.
        left: name and values of the first, such as ECE.
        right: of the second, such as P@10.
    """
    other = axes.twinx()
    lines = []
    words = []
    for at, (name, values), colour, style in ((axes, left, COLOURS[0], "-"), (other, right, COLOURS[1], "--")):
        known = np.isfinite(values)
        lines += at.plot(epochs[known], values[known], color=colour, linestyle=style, label=name)
        at.set_ylabel(name, color=colour)
        at.tick_params(axis="y", colors=colour)
        if known.any():
            words.append(f"{name} from {values[known][0]:.3f} to {values[known][-1]:.3f}")
    other.grid(visible=False)
    axes.set_xlabel("epoch")
    axes.legend(handles=lines, loc="upper center", ncols=2, bbox_to_anchor=(0.5, 1.16))
    return f"Over {len(epochs)} epochs: {'; '.join(words)}."
