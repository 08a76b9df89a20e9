import math

import pytest
import torch

from sphunc.discovery import discover
from sphunc.discovery.verdict import READINGS, check_rows, verdict


@pytest.mark.parametrize(
    ("found", "diagnostics", "words"),
    [
        (0.1, {}, "no link stands out"),
        (10.0, {"placebo_links": 9.0}, "placebo finds as many links"),
        (10.0, {"placebo_links": 5.0}, "trust the ranking"),
        (10.0, {"placebo_links": 0.0, "reversed_links": 13.0}, "directions are doubtful"),
        (10.0, {"same_time_response": 0.9, "same_time_error": 0.1, "shock_response": 1.0}, "at the same time"),
        (10.0, {"shock_response": 0.1, "shock_response_error": 0.1}, "not followed"),
        (10.0, {"simulated_links": 20.0, "simulated_precision": 0.3}, "simulated from the fit"),
        (10.0, {"simulated_links": 3.0, "simulated_precision": 0.3, "placebo_links": 0.0}, "checks passed"),
        (10.0, {"detectable": 0.2}, "too few candidates to compare with decoys"),
        (10.0, {"halves_p_value": 0.001}, "differs between both halves"),
        (10.0, {"placebo_links": 0.0, "reversed_links": 3.0, "halves_p_value": 0.3}, "checks passed: 10 links"),
        (10.0, {}, "not checked"),
    ],
)
def test_gravest_finding_is_said_first(found, diagnostics, words):
    assert words in verdict(found, {"rows_per_target": 40.0}, diagnostics)


def test_too_few_rows_are_named_with_what_it_would_take():
    text = verdict(0.0, {"rows_per_target": 4.0, "detectable": 0.3 * 10**0.5}, {})
    assert "4 rows" in text
    assert "about 40" in text
    assert "10.0 times as many times" in text
    assert "would have been seen" in verdict(0.0, {"rows_per_target": 40.0, "detectable": 0.1}, {})


def test_links_of_a_model_say_what_it_would_take_without_rows():
    text = verdict(0.0, {"detectable": 0.6}, {})
    assert "below 0.6 cannot be seen" in text
    assert "4.0 times as many times" in text
    assert "too few times to find links" in verdict(0.0, {"detectable": 1e6}, {})


def test_rows_are_not_claimed_where_they_are_not_known():
    assert "decoys" in verdict(0.0, {"share": 0.01}, {})
    assert "calibrated by decoys" in verdict(10.0, {"share": 0.01}, {})


def test_every_check_has_value_reference_and_reading(ring, neighbours):
    graph = discover(ring, neighbours)
    assert [check.name for check in graph.checks] == list(READINGS)
    frame = graph.checks_to_frame()
    assert frame.columns == ["check", "value", "reference", "reading"]
    values = dict(zip(frame["check"], frame["value"], strict=True))
    assert values["shock_response"] == pytest.approx(1.0, abs=0.1)
    assert values["simulated_precision"] > 0.8
    assert values["placebo_links"] < 0.5 * frame["reference"][0]


@pytest.mark.parametrize(
    ("diagnostics", "words"),
    [
        ({"placebo_links": 9.0}, "links may be noise"),
        ({"reversed_links": 20.0}, "more than in the data"),
        ({"reversed_links": 9.0}, "does not tell directions apart"),
        ({"reversed_links": 1.0}, "as they are"),
        ({"shock_response": 0.1, "shock_response_error": 0.1}, "not followed"),
        ({"same_time_response": 0.9, "same_time_error": 0.1, "shock_response": 1.0}, "shared shocks"),
        ({"halves_p_value": 0.01, "first_half": 1.4, "second_half": 0.6}, "1.40 in the first half"),
        ({"halves_p_value": math.nan}, "too few"),
        ({"simulated_links": 12.0, "simulated_precision": 0.9}, "12 links shown"),
        ({"detectable": 0.6}, "4.0 times as many times"),
        ({"detectable": 0.2}, "enough"),
    ],
)
def test_readings_say_what_was_found(diagnostics, words):
    assert words in check_rows(10.0, diagnostics)[-1].reading


def test_no_check_is_listed_that_was_not_run():
    states = torch.randn(6, 5, 4, generator=torch.Generator().manual_seed(0))
    graph = discover(states, diagnose=False)
    assert graph.checks == ()
    assert graph.checks_to_frame().height == 0
