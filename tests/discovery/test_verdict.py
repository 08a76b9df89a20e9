import pytest
import torch

from sphunc.discovery import discover
from sphunc.discovery.verdict import READINGS, verdict


@pytest.mark.parametrize(
    ("found", "diagnostics", "words"),
    [
        (0.1, {}, "no link stands out"),
        (10.0, {"placebo_links": 9.0}, "placebo finds as many links"),
        (10.0, {"placebo_links": 5.0}, "trust the ranking"),
        (10.0, {"placebo_links": 0.0, "reversed_links": 13.0}, "directions are doubtful"),
        (10.0, {"placebo_links": 0.0, "reversed_links": 3.0}, "checks passed: 10 links"),
        (10.0, {}, "not checked"),
    ],
)
def test_gravest_finding_is_said_first(found, diagnostics, words):
    assert words in verdict(found, {"rows_per_target": 40.0}, diagnostics)


def test_too_few_rows_are_named_with_what_it_would_take():
    text = verdict(0.0, {"rows_per_target": 4.0, "rows_needed": 40.0}, {})
    assert "4 rows" in text
    assert "about 40" in text
    assert "10.0 times as many times" in text
    assert "would have been seen" in verdict(0.0, {"rows_per_target": 40.0, "rows_needed": 4.0}, {})


def test_rows_are_not_claimed_where_they_are_not_known():
    assert "decoys" in verdict(0.0, {"share": 0.01}, {})
    assert "calibrated by decoys" in verdict(10.0, {"share": 0.01}, {})


def test_every_check_that_discover_runs_has_a_reading():
    states = torch.randn(6, 5, 4, generator=torch.Generator().manual_seed(0))
    assert set(discover(states).diagnostics) == set(READINGS)
