"""Links as arrows: hits and misses told apart, agents apart from each other."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from sphunc.figures import draw_links
from sphunc.figures.influence.graph import spring_layout
from sphunc.figures.style import HIT, MISS


def test_hits_and_misses_differ_in_colour_and_dashes(axes: Axes) -> None:
    alt = draw_links(axes, [("a", "b"), ("c", "b")], [0.9, 0.4], [True, False])
    hit, miss = axes.patches
    assert (to_hex(hit.get_edgecolor()).upper(), hit.get_linestyle()) == (HIT, "-")
    assert (to_hex(miss.get_edgecolor()).upper(), miss.get_linestyle()) == (MISS, "--")
    assert hit.get_linewidth() > miss.get_linewidth()
    assert alt == "Directed graph of the 2 most probable links between 3 agents: 1 are true links."


def test_without_truth_there_is_no_legend(axes: Axes) -> None:
    assert "true" not in draw_links(axes, [("a", "b")], [0.9])
    assert axes.get_legend() is None


def test_layout_keeps_nodes_apart_and_linked_ones_near() -> None:
    position = spring_layout(10, [(k, k + 1) for k in range(0, 10, 2)])
    gaps = np.linalg.norm(position[:, None] - position[None], axis=-1) + 9 * np.eye(10)
    assert gaps.min() > 0.05
    linked = np.array([gaps[k, k + 1] for k in range(0, 10, 2)])
    assert linked.mean() < np.median(gaps[gaps < 9])
    assert np.abs(position).max() <= 1 + 1e-9
