"""A panel per cost; what was not measured has no bar."""

import math

from sphunc.figures import draw_cost, new_figure


def test_missing_costs_have_no_bar() -> None:
    _, axes = new_figure(1, 2)
    alt = draw_cost(axes, ["a", "b"], {"training (s)": [1.0, 20.0], "memory (MB)": [math.nan, 300.0]})
    assert [len(panel.patches) for panel in axes] == [2, 1]
    assert "training (s): least 1 (a), most 20" in alt
    assert "memory (MB): least 300 (b), most 300" in alt
