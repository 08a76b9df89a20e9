"""Settings apply inside the block alone, and systems differ without colours too."""

import matplotlib as mpl

from sphunc.figures.style import COLOURS, colour_of, figure_style, in_words, line_of, marker_of, new_figure


def test_nothing_changes_outside_of_the_block() -> None:
    before = mpl.rcParams["font.size"]
    with figure_style():
        assert mpl.rcParams["font.size"] == 8
    assert mpl.rcParams["font.size"] == before


def test_eight_systems_differ_in_colour_mark_and_dashes() -> None:
    for choose in (colour_of, marker_of, line_of):
        assert len({choose(k) for k in range(8)}) == 8
        assert choose(8) == choose(0)
    assert len(set(COLOURS)) == 8


def test_axes_come_row_by_row() -> None:
    figure, axes = new_figure(2, 3, width=5.0, height=4.0)
    assert axes == figure.axes
    assert tuple(figure.get_size_inches()) == (5.0, 4.0)


def test_words_are_joined_as_in_a_sentence() -> None:
    assert [in_words([]), in_words(["a"]), in_words(["a", "b", "c"])] == ["", "a", "a, b and c"]
