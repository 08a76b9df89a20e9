"""Every concentration is counted, and medians are said."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_kappa_box, draw_kappa_histogram


def test_histogram_counts_every_belief(axes: Axes) -> None:
    kappa = np.geomspace(0.5, 200, 99)
    alt = draw_kappa_histogram(axes, kappa)
    assert sum(patch.get_height() for patch in axes.patches) == 99
    assert "from 0.5 to 200, median 10" in alt


def test_equal_concentrations_are_drawn(axes: Axes) -> None:
    draw_kappa_histogram(axes, np.full(5, 3.0))
    assert sum(patch.get_height() for patch in axes.patches) == 5


def test_boxes_have_the_names_of_their_groups(axes: Axes) -> None:
    alt = draw_kappa_box(axes, {"often": np.array([1.0, 2.0, 3.0]), "once": np.array([0.5])})
    assert [label.get_text() for label in axes.get_xticklabels()] == ["often", "once"]
    assert alt == "Box plots of concentrations; medians: often 2; once 0.5."
