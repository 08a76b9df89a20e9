"""Figures of an experiment: which there are, and that they show its numbers."""

import json

import numpy as np
import pytest

from sphunc.errors import ArgumentError
from sphunc.evaluation import accuracy
from sphunc.evaluation.benchmark import Store
from sphunc.figures import draw_results
from sphunc.figures.results import class_probabilities, errors, file_name, pooled, share_lost


def test_every_figure_that_the_results_hold_is_drawn(results: Store) -> None:
    drawn = {figure.name: figure.alt for figure in draw_results(results)}
    for name in ("reliability", "risk-coverage", "uncertainty", "epistemic-error", "links", "link-calibration"):
        assert f"{name}-snare" in drawn
        assert f"{name}-snare-half-lost" in drawn
    assert {"losses", "ece-p10", "h-causal", "dropout", "ablation-sphunc-paper", "cost"} <= set(drawn)
    assert all(alt.endswith(".") for alt in drawn.values())


def test_forecasts_of_a_cell_are_those_of_its_row(results: Store) -> None:
    table = results.table().filter(label="sphunc", data="snare")
    for row in table.iter_rows(named=True):
        forecasts = results.frame(row["key"], "forecasts")
        assert forecasts.height == row["rows_test"]
        found = accuracy(class_probabilities(forecasts), forecasts["outcome"].to_numpy())
        assert found == pytest.approx(row["accuracy"])
        assert errors(forecasts).mean() == pytest.approx(1 - row["accuracy"])
    both = pooled(results, table, "sphunc", "forecasts")
    assert both.height == table["rows_test"].sum()
    assert pooled(results, table, "nobody", "forecasts") is None


def test_share_lost_is_read_from_the_entry() -> None:
    assert share_lost(json.dumps({"world": "snare", "knobs": {"lost_at_test": 0.4}})) == 0.4
    assert share_lost(json.dumps({"world": "snare", "knobs": {}})) == 0.0
    assert share_lost(json.dumps({"tables": "x"})) is None


def test_names_of_files_are_plain() -> None:
    assert file_name("snare, 40 % lost") == "snare-40-lost"


def test_folder_without_results_is_refused(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"holds no results\. Give a folder that sphunc benchmark"):
        list(draw_results(Store(tmp_path)))


def test_probabilities_are_a_matrix(results: Store) -> None:
    key = results.table().filter(label="majority")["key"][0]
    p = class_probabilities(results.frame(key, "forecasts"))
    np.testing.assert_allclose(p.sum(1), 1.0, atol=1e-6)
