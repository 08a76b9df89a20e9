"""The diagram shows the curve of the metrics, and the counts of all rows."""

import numpy as np
from matplotlib.axes import Axes

from sphunc.evaluation import ece, reliability_curve
from sphunc.figures import draw_reliability, new_figure


def test_points_are_those_of_the_curve_and_counts_add_up(axes: Axes) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    _, (counts,) = new_figure()
    alt = draw_reliability(axes, counts, {"ours": (p, y), "theirs": (p[:, ::-1], y)}, "a world")
    curve = reliability_curve(p, y, bins=10)
    line = next(line for line in axes.lines if line.get_label().startswith("ours"))
    np.testing.assert_allclose(line.get_ydata(), curve.accuracy)
    assert sum(patch.get_height() for patch in counts.patches) == 400
    assert f"{ece(p, y):.3f}" in alt
    assert alt.startswith("Reliability diagram of a world: ours has")
    assert "above the band" in alt  # the reversed probabilities
