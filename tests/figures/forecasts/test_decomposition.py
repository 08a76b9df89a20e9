"""Errors are marked, and told from the rest in words."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.figures import draw_decomposition


def test_errors_are_marked(axes: Axes) -> None:
    epistemic = np.array([0.1, 0.2, 0.9])
    aleatoric = np.array([0.3, 0.4, 0.8])
    alt = draw_decomposition(axes, epistemic, aleatoric, np.array([False, False, True]))
    right, wrong = axes.collections
    np.testing.assert_allclose(wrong.get_offsets(), [[0.9, 0.8]])
    assert len(right.get_offsets()) == 2
    assert "3 forecasts, 1 of them wrong" in alt
    assert "0.80 of wrong and 0.35 of right" in alt


def test_nothing_wrong(axes: Axes) -> None:
    assert "none of wrong" in draw_decomposition(axes, np.ones(2), np.ones(2), np.zeros(2, dtype=bool))
