"""Bins of equal mass and a least-squares line."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from sphunc.figures import draw_epistemic_error


def test_trend_is_that_of_least_squares(axes: Axes) -> None:
    epistemic = np.linspace(0, 1, 80)
    wrong = epistemic > 0.5
    alt = draw_epistemic_error(axes, epistemic, wrong)
    slope = np.cov(epistemic, wrong)[0, 1] / epistemic.var(ddof=1)
    assert f"slope of {slope:.2f}" in alt
    assert "from 0.00 in the lowest to 1.00 in the highest bin" in alt


@pytest.mark.parametrize("count", [1, 3])
def test_few_or_equal_rows(axes: Axes, count: int) -> None:
    assert f"in {count} bins" in draw_epistemic_error(axes, np.full(count, 0.5), np.zeros(count, dtype=bool))
