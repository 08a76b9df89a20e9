import math
from xml.etree import ElementTree

import numpy as np
import pytest

from sphunc.report import drawing
from sphunc.report.drawing import Figure, tick_labels

NAME = '<script>&"x"'
FIGURES = {
    "intervals": lambda: drawing.interval_plot(
        "t", "d", [NAME, "b"], [1.0, math.nan], [0.5, 0.1], [2.0, math.inf], axis=NAME, reference=0.0
    ),
    "shares": lambda: drawing.stacked_shares("t", "d", [NAME, "2"], [NAME] * 12, np.full((2, 12), 1 / 12)),
    "band": lambda: drawing.band_chart(
        "t", "d", ["1", "2"], [1.0, math.nan], [0.0, math.nan], [2.0, math.nan], axis=NAME
    ),
    "histogram": lambda: drawing.histogram("t", "d", [0.1, 0.1, math.nan], axis=NAME),
    "scatter": lambda: drawing.scatter("t", NAME, [0.0, 1.0], [1.0, math.nan], axis_across=NAME, axis_upward=NAME),
    "reliability": lambda: drawing.reliability_plot(NAME, "d", [0.4, 0.9], [0.5, 0.8], [10, 90]),
    "violins": lambda: drawing.violin_plot(
        "t", "d", [NAME, "constant"], np.stack([np.arange(20.0), np.ones(20)], 1), np.array([90.0, 1.0])
    ),
    "network": lambda: drawing.network_plot("t", "d", [NAME, "b", "c"], [(0, 1, 0.9, 1.0), (1, 2, 0.2, -1.0)]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figure_is_well_formed_told_in_words_and_escaped(name: str) -> None:
    figure = FIGURES[name]()
    root = ElementTree.fromstring(figure.svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == f"{figure.title}. {figure.description}"
    assert "<script" not in figure.svg
    assert "nan" not in figure.svg
    assert "inf" not in figure.svg


@pytest.mark.parametrize("name", FIGURES)
def test_figure_fits_its_canvas(name: str) -> None:
    root = ElementTree.fromstring(FIGURES[name]().svg)
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for element in root.iter():
        for key, most in (("cx", width), ("cy", height), ("x1", width), ("y2", height)):
            assert -1 <= float(element.get(key, 0)) <= most + 1


def circles(figure: Figure) -> list[tuple[float, float]]:
    found = ElementTree.fromstring(figure.svg).iter("circle")
    return [(float(str(one.get("cx"))), float(str(one.get("cy")))) for one in found]


def test_points_are_placed_in_proportion() -> None:
    figure = drawing.interval_plot("t", "d", ["a", "b", "c"], [0.0, 1.0, 3.0], [0.0] * 3, [3.0] * 3, axis="x")
    x = [point[0] for point in circles(figure)]
    assert (x[2] - x[0]) / (x[1] - x[0]) == pytest.approx(3.0, abs=0.01)


def test_scatter_of_many_draws_an_even_part() -> None:
    values = list(np.linspace(0, 1, 10_000))
    assert (
        len(circles(drawing.scatter("t", "d", values, values, axis_across="x", axis_upward="y"))) == drawing.MOST_POINTS
    )


def test_an_observed_value_far_out_is_drawn_at_the_edge() -> None:
    simulated = np.linspace(-1, 1, 50)[:, None]
    inside = circles(drawing.violin_plot("t", "d", ["s"], simulated, np.array([0.0])))[0][0]
    far = circles(drawing.violin_plot("t", "d", ["s"], simulated, np.array([50.0])))[0][0]
    assert inside < far <= drawing.WIDTH


def test_layout_keeps_linked_agents_close() -> None:
    place = drawing.spring_layout(12, [(k, k + 1) for k in range(0, 12, 2)])
    distance = np.linalg.norm(place[:, None] - place[None], axis=-1)
    linked = [distance[k, k + 1] for k in range(0, 12, 2)]
    assert max(linked) < np.median(distance[np.triu_indices(12, 1)])
    assert place.min() == 0
    assert place.max() == 1


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 7), (1e-5, 3e-5), (0, 12_345)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = drawing.ticks(low, high)
    assert 3 <= len(found) <= 11
    assert low <= min(found)
    assert max(found) <= high * (1 + 1e-9)
    assert np.allclose(np.diff(found), found[1] - found[0])


def test_ticks_of_large_numbers_are_short_and_differ() -> None:
    assert tick_labels([-1e6, 0, 1e6]) == ["-1.0M", "0", "1.0M"]
    assert tick_labels([1_019_000.0, 1_020_000.0]) == ["1.019M", "1.020M"]
    assert tick_labels([0.0, 0.2, 12.0]) == ["0", "0.2", "12"]
