"""How figures look: sizes of a printed page, and colours and marks that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMN = 3.35
"""Width of a column of print, in inches."""
PAGE = 6.9
"""Width of a page of print, in inches."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")
"""Of Okabe and Ito (2008), Color universal design: distinct for readers of any colour vision."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2)))
HIT = COLOURS[2]
MISS = COLOURS[1]
GREY = "#8a8a8a"
LEVEL_DEVIATIONS = 1.96
"""Normal quantile of 95 % intervals."""
SETTINGS: dict[Any, object] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "sphunc",
    "figure.constrained_layout.use": True,
}
"""A white ground is part of the figure, so that it stays legible on a dark page."""


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the settings inside the block; nothing outside of it changes."""
    with mpl.rc_context(SETTINGS):
        yield


def new_figure(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = COLUMN,
    height: float = 2.6,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure without any window, and its axes row by row.

    Args:
        rows: of axes.
        columns: of axes.
        width: in inches.
        height: in inches.
        heights: of the rows, relative to each other; all alike unless given.
    """
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
    return figure, list(axes.flat)


def colour_of(k: int) -> str:
    """Colour of the k-th system; they repeat after eight."""
    return COLOURS[k % len(COLOURS)]


def marker_of(k: int) -> str:
    """Mark of the k-th system."""
    return MARKERS[k % len(MARKERS)]


def line_of(k: int) -> str | tuple[int, tuple[int, ...]]:
    """Dashes of the k-th system: lines differ in print without colours too."""
    return LINES[k % len(LINES)]


def in_words(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
