"""Two measures, each on its own axis."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_tracking


def test_each_measure_has_its_axis(axes: Axes) -> None:
    alt = draw_tracking(axes, np.arange(2.0), ("ECE", np.array([0.2, 0.1])), ("P@10", np.array([0.3, np.nan])))
    other = next(found for found in axes.figure.axes if found is not axes and found.get_ylabel() == "P@10")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.2, 0.1])
    np.testing.assert_allclose(other.lines[0].get_ydata(), [0.3])
    assert alt == "Over 2 epochs: ECE from 0.200 to 0.100; P@10 from 0.300 to 0.300."
