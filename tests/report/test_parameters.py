import copy
import math
from dataclasses import replace

import pytest

import sphunc
from sphunc.report import block_table, parameter_table


def test_states_and_links_come_first_then_the_clearest_coefficients(
    fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    frame = parameter_table(fitted, world_data).frame
    blocks = frame["block"].to_list()
    count = sum(block.startswith(("states", "links")) for block in blocks)
    assert {block.split(" ")[0] for block in blocks[:count]} == {"states", "links"}
    base = frame[count:]
    clearness = (base["estimate"] / base["standard_error"]).abs()
    assert clearness.to_list() == sorted(clearness.to_list(), reverse=True)


def test_states_without_weight_are_marked(fitted: sphunc.SphUnc, weighted: sphunc.SphUnc) -> None:
    without = copy.copy(fitted)
    without.model_ = replace(fitted.model_, weight=0.0)
    table = parameter_table(without)
    assert table.frame["block"][0] == "states (not in the forecast)"
    assert table.note.startswith("States have weight 0 in the forecast")
    table = parameter_table(weighted)
    assert table.frame["block"][0] == "states"
    assert "weight 0" not in table.note


def test_odds_ratios_are_exponentials(fitted: sphunc.SphUnc) -> None:
    for row in parameter_table(fitted).frame.rows(named=True):
        if row["block"].startswith(("states", "links")):
            assert row["odds_ratio"] is None
        else:
            assert row["odds_ratio"] == pytest.approx(math.exp(row["estimate"]))
            assert row["odds_low"] == pytest.approx(math.exp(row["low"]))


def test_errors_of_the_dynamics_need_the_data(fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    bare = parameter_table(fitted).frame.row(0, named=True)
    full = parameter_table(fitted, world_data).frame.row(0, named=True)
    assert bare["parameter"] == "inertia (typical agent)"
    assert bare["standard_error"] is None
    assert full["standard_error"] > 0


def test_numbers_have_no_odds(number_model: sphunc.SphUnc) -> None:
    table = parameter_table(number_model)
    assert table.frame["odds_ratio"].null_count() == len(table)
    assert "in its own unit" in table.note


def test_every_block_names_its_clearest_coefficient(fitted: sphunc.SphUnc) -> None:
    blocks = block_table(fitted).frame
    parameters = parameter_table(fitted).frame
    for row in blocks.rows(named=True):
        own = parameters.filter(parameters["block"] == row["block"])
        assert row["estimate_over_error"] == pytest.approx(own["estimate"][0] / own["standard_error"][0])
        assert row["clearest"] == f"{own['parameter'][0]} → {own['outcome'][0]}"
