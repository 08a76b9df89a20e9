"""A line per system with its intervals."""

from matplotlib.axes import Axes

from sphunc.figures import draw_dropout


def test_lines_and_words(axes: Axes) -> None:
    alt = draw_dropout(axes, {"ours": ((0.0, 0.6), (78.0, 70.0), (1.0, 2.0))}, "macro-F1")
    assert alt == "macro-F1 against the share of features lost: ours from 78.0 to 70.0."
    assert len(axes.containers) == 1
