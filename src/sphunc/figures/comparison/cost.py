"""What systems cost: training time, time of a forecast, and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures.style import colour_of, in_words


def draw_cost(axes: Sequence[Axes], systems: Sequence[str], costs: Mapping[str, Sequence[float]]) -> str:
    """Draw horizontal bars on a logarithmic scale, one panel per cost; return the alternative text.

    Args:
        axes: one for each cost.
        systems: names.
        costs: by name (with its unit) a value for every system; NaN where it was not measured.
    """
    row = np.arange(len(systems))[::-1]
    words = []
    for k, (at, (name, values)) in enumerate(zip(axes, costs.items(), strict=True)):
        amount = np.asarray(values, dtype=float)
        known = np.isfinite(amount)
        at.barh(row[known], amount[known], color=[colour_of(j) for j in np.flatnonzero(known).tolist()])
        at.set(xscale="log", xlabel=name, yticks=row, yticklabels=list(systems))
        if k:
            at.set_yticklabels([])
        if known.any():
            least = int(np.nanargmin(amount))
            words.append(f"{name}: least {amount[least]:.3g} ({systems[least]}), most {np.nanmax(amount):.3g}")
    return f"Costs of {in_words(systems)}. {'; '.join(words)}."
