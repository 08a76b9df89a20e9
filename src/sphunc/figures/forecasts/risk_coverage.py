"""Risk-coverage curves: the error rate of the most certain share of forecasts (Geifman and El-Yaniv 2017)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Bool, Float
from sphunc.evaluation import aurc, risk_coverage
from sphunc.figures.style import colour_of, in_words, line_of

System = tuple[Float[np.ndarray, " row"], Bool[np.ndarray, " row"]]


def draw_risk_coverage(axes: Axes, systems: Mapping[str, System]) -> str:
    """Draw a curve per system; return the alternative text.

    Args:
        axes: to draw on.
        systems: uncertainty and errors by name.
    """
    words = []
    for k, (name, (uncertainty, wrong)) in enumerate(systems.items()):
        coverage, risk = risk_coverage(uncertainty, wrong.astype(float))
        area = aurc(uncertainty, wrong.astype(float))
        axes.plot(coverage, risk, color=colour_of(k), linestyle=line_of(k), label=f"{name} (area {area:.3f})")
        words.append(f"{name} {area:.3f}")
    axes.set(xlabel="coverage", ylabel="error rate of the most certain", xlim=(0, 1), ylim=(0, None))
    axes.legend(loc="best")
    return f"Risk-coverage curves; areas below them: {in_words(words)}."
