"""One sentence says what the fit is worth, and which part of it cannot be seen."""

from dataclasses import replace

import pytest

from sphunc.model.fitting import ComparisonRow
from sphunc.model.verdict import comparison_frame, comparison_table, describe_fit

ROWS = (
    ComparisonRow("covariates", 1.0, 0.0, 0.0),
    ComparisonRow("covariates + states", 0.9, 0.1, 0.02),
    ComparisonRow("covariates + states + links", 0.85, 0.05, 0.01),
)


def fitted(model, *, weight=0.5, rows=ROWS, held_out="origins", with_states=True):
    predictor = model.predictor
    if not with_states:
        predictor = replace(predictor, states=None)
    return replace(model, predictor=predictor, weight=weight, comparison=rows, held_out=held_out)


def test_states_and_links_that_help_are_counted_in_nats(snare_model):
    assert describe_fit(fitted(snare_model)) == (
        "states add 0.100 nats to a regression on the same covariates; links add 0.050 nats (on held-out times)"
    )
    assert describe_fit(fitted(snare_model, held_out="agents")).endswith("(on held-out agents)")


def test_links_within_their_error_add_nothing_that_can_be_seen(snare_model):
    rows = (*ROWS[:2], ComparisonRow("covariates + states + links", 0.89, 0.01, 0.01))
    assert "links add nothing to the forecast that can be seen" in describe_fit(fitted(snare_model, rows=rows))


def test_states_that_help_only_with_their_links_are_not_said_to_lose(snare_model):
    rows = (
        ROWS[0],
        ComparisonRow("covariates + states", 1.1, -0.1, 0.02),
        ComparisonRow(ROWS[2].model, 0.9, 0.2, 0.02),
    )
    found = describe_fit(fitted(snare_model, rows=rows))
    assert "only together with their links" in found
    assert "-0.1" not in found


def test_states_without_weight_are_left_out(snare_model):
    found = describe_fit(fitted(snare_model, weight=0.0))
    assert found.startswith("states add nothing that can be seen to a regression on the same covariates")
    assert "links" not in found


def test_a_regression_that_is_no_better_than_a_simple_forecast_is_called_so(snare_model):
    simple = (ComparisonRow("class frequencies", 1.01, 0.0, 0.0), ComparisonRow("persistence", 1.3, -0.29, 0.05))
    rows = (*simple, ComparisonRow("covariates", 1.0, 0.01, 0.02), *ROWS[1:])
    found = describe_fit(fitted(snare_model, rows=rows))
    assert found.startswith("covariates add nothing that can be seen to class frequencies; states add")
    better = (*simple, ComparisonRow("covariates", 0.9, 0.11, 0.02), *ROWS[1:])
    assert describe_fit(fitted(snare_model, rows=better)).startswith("states add")


def test_nobody_meets(snare_model):
    assert "nobody ever meets" in describe_fit(fitted(snare_model, rows=ROWS[:2]))


def test_no_states_and_nothing_held_out(snare_model):
    found = describe_fit(fitted(snare_model, weight=0.0, rows=ROWS[:1], with_states=False))
    assert "nothing that persists" in found
    found = describe_fit(fitted(snare_model, weight=0.0, rows=(), held_out="nothing"))
    assert "too few outcomes to hold any out" in found


def test_the_comparison_is_a_table_and_a_frame():
    lines = comparison_table(ROWS).splitlines()
    assert len(lines) == 4
    assert "0.9000" in lines[2]
    assert "+0.1000" in lines[2]
    frame = comparison_frame(ROWS)
    assert frame.columns == ["model", "nll", "gain", "error"]
    assert frame["gain"].to_list() == pytest.approx([0.0, 0.1, 0.05])
    assert comparison_frame(()).height == 0
