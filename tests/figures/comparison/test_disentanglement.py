"""Both parts of every system as multiples of their first value."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_disentanglement


def test_parts_are_relative_to_the_first(axes: Axes) -> None:
    alt = draw_disentanglement(axes, [50.0, 100.0], {"ours": ((0.8, 0.4), (0.2, 0.3))}, "training agents")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1.0, 0.5])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [1.0, 1.5])
    assert alt.startswith("With training agents from 50 to 100: epistemic of ours to 0.50 times")
