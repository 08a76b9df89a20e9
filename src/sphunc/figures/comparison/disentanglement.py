"""Epistemic and aleatoric parts as training data grow and as labels get noisier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures.style import GREY, colour_of, marker_of

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def draw_disentanglement(axes: Axes, causes: Sequence[float], parts: Curves, cause: str) -> str:
    """Draw both parts of every system against one cause, as multiples of their first value; return the alternative
    text.

    Args:
        axes: to draw on.
        causes: amounts of the cause, such as numbers of training agents.
        parts: by system its epistemic and its aleatoric part at every amount.
        cause: its name.
    """
    words = []
    for k, (name, (epistemic, aleatoric)) in enumerate(parts.items()):
        for part, values, style in (("epistemic", epistemic, "-"), ("aleatoric", aleatoric, "--")):
            relative = np.asarray(values) / values[0]
            axes.plot(
                causes, relative, color=colour_of(k), linestyle=style, marker=marker_of(k), label=f"{name}, {part}"
            )
            words.append(f"{part} of {name} to {relative[-1]:.2f} times its first value")
    axes.axhline(1.0, color=GREY, linewidth=0.6)
    axes.set(xlabel=cause, ylabel="relative to the first")
    axes.legend(loc="best", fontsize=6)
    return f"With {cause} from {causes[0]:g} to {causes[-1]:g}: {'; '.join(words)}."
