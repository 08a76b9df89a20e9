"""The most probable links as a directed graph, hits and misses told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from sphunc._typing import Float
from sphunc.figures.style import COLOURS, GREY, HIT, MISS

ROUNDS = 300
FIRST_STEP = 0.15
GRAVITY = 1.0
"""Pull to the centre: parts that no link joins stay near each other."""


def draw_links(
    axes: Axes, links: Sequence[tuple[str, str]], probability: Sequence[float], is_true: Sequence[bool] | None = None
) -> str:
    """Draw an arrow per link, wider the more probable; return the alternative text.

    Args:
        axes: to draw on.
        links: names of source and target.
        probability: of each link.
        is_true: whether each link is a true one, solid and green, or not, dashed and orange; None where nobody knows.
    """
    names = list(dict.fromkeys(name for link in links for name in link))
    place = {name: k for k, name in enumerate(names)}
    position = spring_layout(len(names), [(place[source], place[target]) for source, target in links])
    for k, (source, target) in enumerate(links):
        colour = COLOURS[0]
        dashes = "-"
        if is_true is not None:
            colour = HIT if is_true[k] else MISS
            dashes = "-" if is_true[k] else "--"
        arrow = FancyArrowPatch(
            tuple(position[place[source]]),
            tuple(position[place[target]]),
            arrowstyle="-|>",
            mutation_scale=8,
            shrinkA=7,
            shrinkB=7,
            linewidth=0.5 + 1.5 * probability[k],
            linestyle=dashes,
            color=colour,
            connectionstyle="arc3,rad=0.08",
        )
        axes.add_patch(arrow)
    axes.scatter(position[:, 0], position[:, 1], s=150, color="white", edgecolor=GREY, zorder=2)
    for name, (x, y) in zip(names, position, strict=True):
        axes.text(x, y, name, ha="center", va="center", fontsize=5.5, zorder=3)
    axes.set(xticks=[], yticks=[], xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if is_true is None:
        return f"Directed graph of the {len(links)} most probable links between {len(names)} agents."
    handles = [
        Line2D([], [], color=HIT, label="true link"),
        Line2D([], [], color=MISS, linestyle="--", label="not a true link"),
    ]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 1.08), ncols=2)
    hits = sum(is_true)
    return f"Directed graph of the {len(links)} most probable links between {len(names)} agents: {hits} are true links."


def spring_layout(count: int, links: Sequence[tuple[int, int]]) -> Float[np.ndarray, "node two"]:
    """Positions in [-1, 1]: links attract, all nodes repel (Fruchterman and Reingold 1991), from a circle.

    Args:
        count: number of nodes.
        links: positions of source and target.
    """
    angle = 2 * np.pi * np.arange(count) / max(1, count)
    position = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if count < 3:
        return position
    distance = 1.0 / np.sqrt(count)
    pull = np.zeros((count, count))
    for source, target in links:
        pull[source, target] = 1.0
        pull[target, source] = 1.0
    for turn in range(ROUNDS):
        gap = position[:, None] - position[None]
        length = np.maximum(np.linalg.norm(gap, axis=-1), 1e-3)
        force = distance**2 / length - pull * length**2 / distance
        np.fill_diagonal(force, 0.0)
        move = (gap / length[..., None] * force[..., None]).sum(1) - GRAVITY * position
        size = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        step = FIRST_STEP * (1 - turn / ROUNDS)
        position = position + move / size * np.minimum(size, step)
    low = position.min(0)
    spread = np.maximum(position.max(0) - low, 1e-9)
    return 2 * (position - low) / spread - 1
