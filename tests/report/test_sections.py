from pathlib import Path

import polars as pl
import pytest
import torch

import sphunc
from sphunc.report.drawing import Figure
from sphunc.report.sections import (
    Bullets,
    ReportValues,
    Section,
    forecast_table,
    how_made,
    in_short,
    influence,
    link_figure,
    outcome_figure,
    the_data,
)


@pytest.fixture(scope="module")
def values(quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> ReportValues:
    return ReportValues(quick, world_data, (), {"command": ["sphunc", "fit"], "versions": {"a": 1}})


def texts(section: Section) -> str:
    parts = []
    for block in section.blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Bullets):
            parts += block.items
    return "\n".join(parts)


def test_the_verdict_stands_first(values: ReportValues) -> None:
    first = in_short(values).blocks[0]
    assert isinstance(first, str)
    assert first.lower().startswith(values.model.verdict_[:30].lower())
    assert "accuracy is" in texts(in_short(values))


def test_suspicions_are_told(values: ReportValues, world_data: sphunc.TemporalHypergraph) -> None:
    from dataclasses import replace

    assert "No gaps in time" in texts(the_data(values))
    x = world_data.x.clone()
    x[:, :, 0] = 7.0
    constant = replace(world_data, x=x, x_mask=torch.ones_like(world_data.x_mask))
    found = texts(the_data(ReportValues(values.model, constant, (), {})))
    assert "Worth a look" in found


def test_shares_over_time_are_those_of_the_data(world_data: sphunc.TemporalHypergraph) -> None:
    figure = outcome_figure(world_data)
    assert figure is not None
    assert world_data.y is not None
    share = (world_data.y[0] == 0).double().mean()
    if "class-0" in figure.description:
        assert f"{float(share):.0%} at first" in figure.description
    assert figure.svg.count("<rect") == 3 * world_data.num_times + 3


def test_numbers_over_time_are_a_band(number_data: sphunc.TemporalHypergraph) -> None:
    figure = outcome_figure(number_data)
    assert figure is not None
    assert "polyline" in figure.svg


def test_forecast_table_has_sets(quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    forecast = quick.predict(world_data)
    frame = forecast_table(forecast).frame
    inside = forecast.prediction_set(0.9)[0]
    assert frame["set 90 %"][0] == ", ".join(forecast.class_names[k] for k in inside.nonzero().flatten().tolist())


def test_no_links_are_explained(values: ReportValues) -> None:
    assert texts(influence(values)).startswith("No influence could be learned")


def test_drawing_keeps_to_agents_that_can_be_distinct_titles() -> None:
    top = pl.DataFrame(
        {
            "source": [f"s{k}" for k in range(40)],
            "target": [f"t{k}" for k in range(40)],
            "probability": [0.9] * 40,
            "strength": [1.0] * 40,
        }
    )
    figure = link_figure(top)
    assert isinstance(figure, Figure)
    assert "The 12 most probable links, between 24 agents" in figure.description


def test_the_record_has_seed_versions_and_what_the_caller_says(values: ReportValues) -> None:
    table = how_made(values).blocks[1]
    rows = dict(table.frame.rows())  # pyright: ignore[reportAttributeAccessIssue]
    assert rows["command"] == "sphunc fit"
    assert rows["versions"] == "a: 1"
    assert rows["seed"] == "0"
    assert rows["version of sphunc"] == sphunc.__version__
    assert rows["setting quick"] == "True"


def test_no_section_names_a_network(values: ReportValues, tmp_path: Path) -> None:
    from sphunc.report.document import to_html

    page = to_html("t", [in_short(values), the_data(values)])
    assert "http" not in page.replace("http-equiv", "")
