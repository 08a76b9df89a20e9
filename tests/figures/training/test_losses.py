"""A line per component that was measured."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_losses


def test_unmeasured_epochs_are_left_out(axes: Axes) -> None:
    losses = {"total": np.array([3.0, 2.0, 1.0]), "held out": np.array([np.nan, 1.5, 1.2]), "none": np.full(3, np.nan)}
    alt = draw_losses(axes, np.arange(3.0), losses)
    assert [line.get_label() for line in axes.lines] == ["total", "held out"]
    np.testing.assert_allclose(axes.lines[1].get_xdata(), [1, 2])
    assert alt == "Losses over 3 epochs: total from 3.000 to 1.000; held out from 1.500 to 1.200."
