"""A line per target."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_strength


def test_ends_are_said(axes: Axes) -> None:
    alt = draw_strength(axes, {"a": ((0.0, 1.0), np.array([0.9, 0.4])), "b": ((0.0, 1.0), np.array([0.5, 0.5]))})
    assert len(axes.lines) == 2
    assert "a from 0.900 to 0.400 nats; b from 0.500 to 0.500 nats" in alt
