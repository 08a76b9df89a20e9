"""Curves end at the error rate of all forecasts."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from sphunc.evaluation import aurc
from sphunc.figures import draw_risk_coverage


def test_curves_are_those_of_the_metric(axes: Axes) -> None:
    rng = np.random.default_rng(1)
    wrong = rng.random(50) < 0.3
    good = wrong + 0.1 * rng.random(50)
    alt = draw_risk_coverage(axes, {"good": (good, wrong), "blind": (rng.random(50), wrong)})
    for line in axes.lines:
        assert line.get_ydata()[-1] == pytest.approx(wrong.mean())
    assert f"good {aurc(good, wrong.astype(float)):.3f}" in alt
