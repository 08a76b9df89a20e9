"""A bar per variant and measure, the full model marked."""

import pytest
from matplotlib.axes import Axes

from sphunc.figures import draw_ablation


def test_bars_have_the_means(axes: Axes) -> None:
    measures = {"F1": [(78.0, 1.0), (70.0, 1.0)], "AUC": [(85.0, 0.0), (80.0, 0.0)]}
    alt = draw_ablation(axes, ["full", "no SCM"], measures)
    assert sorted(patch.get_width() for patch in axes.patches) == pytest.approx([70, 78, 80, 85])
    assert alt == (
        "Bars of 2 variants: F1 is 78.0 of the full model and lowest, 70.0, for no SCM; "
        "AUC is 85.0 of the full model and lowest, 80.0, for no SCM."
    )
