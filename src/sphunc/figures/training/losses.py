"""The composite objective and its components over epochs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Float
from sphunc.figures.style import colour_of, line_of


def draw_losses(
    axes: Axes, epochs: Float[np.ndarray, " epoch"], losses: Mapping[str, Float[np.ndarray, " epoch"]]
) -> str:
    """Draw a line per component; return the alternative text.

    Args:
        axes: to draw on.
        epochs: their numbers.
        losses: total, prediction, entropy, causal, and held-out if there is one; NaN where not measured.
    """
    words = []
    for k, (name, values) in enumerate(losses.items()):
        known = np.isfinite(values)
        if known.any():
            axes.plot(epochs[known], values[known], color=colour_of(k), linestyle=line_of(k), label=name)
            words.append(f"{name} from {values[known][0]:.3f} to {values[known][-1]:.3f}")
    axes.set(xlabel="epoch", ylabel="loss")
    axes.legend(loc="best")
    return f"Losses over {len(epochs)} epochs: {'; '.join(words)}."
