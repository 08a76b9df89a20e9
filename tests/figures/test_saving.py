"""Files hold their alternative text, and are the same every time."""

from pathlib import Path

import pytest

from sphunc.errors import ArgumentError
from sphunc.figures import FORMATS, figure_bytes, figure_style, new_figure, save_figure

ALT = "A line from <0> to 1."


@pytest.fixture
def figure():
    with figure_style():
        drawn, axes = new_figure()
        axes[0].plot([0, 1])
    return drawn


def test_every_format_and_the_text_are_written(figure, tmp_path: Path) -> None:
    paths = save_figure(figure, tmp_path, "line", ALT)
    assert [path.name for path in paths] == ["line.png", "line.svg", "line.pdf", "line.txt"]
    assert paths[-1].read_text() == f"{ALT}\n"
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[2].read_bytes().startswith(b"%PDF")


def test_screen_readers_find_the_text_in_svg(figure) -> None:
    svg = figure_bytes(figure, "svg", ALT).decode()
    assert 'role="img"' in svg
    assert "<title>A line from &lt;0&gt; to 1.</title>" in svg


@pytest.mark.parametrize("kind", FORMATS)
def test_same_figure_gives_the_same_bytes(figure, kind: str) -> None:
    assert figure_bytes(figure, kind, ALT) == figure_bytes(figure, kind, ALT)


def test_unknown_format_is_refused(figure) -> None:
    with pytest.raises(ArgumentError, match="format is 'gif'; choose png, svg, pdf"):
        figure_bytes(figure, "gif", ALT)
