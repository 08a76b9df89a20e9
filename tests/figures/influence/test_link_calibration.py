"""Shares of true links per bin, with the number of links."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from sphunc.evaluation import link_ece
from sphunc.figures import draw_link_calibration


def test_share_and_count_of_every_bin(axes: Axes) -> None:
    p = np.array([0.05] * 6 + [0.95] * 4)
    truth = np.array([False] * 6 + [True] * 3 + [False])
    alt = draw_link_calibration(axes, p, truth)
    assert sorted(text.get_text() for text in axes.texts) == ["4", "6"]
    drawn = sorted(float(container.lines[0].get_ydata()[0]) for container in axes.containers)
    assert drawn == pytest.approx([0.0, 0.75])
    assert f"{link_ece(p, truth):.3f}" in alt
