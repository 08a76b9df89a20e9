"""A cell measured end to end: on the shared test origins, seeded, with the oracle as the ceiling."""

import json
from dataclasses import replace

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.errors import ArgumentError
from sphunc.evaluation import nll
from sphunc.evaluation.benchmark.cells import ORACLE, Cell
from sphunc.evaluation.benchmark.measuring import measure
from sphunc.hypergraph import comembers, time_split
from sphunc.worlds import simulate

KNOBS = {"agents": 40, "times": 8}
CELL = Cell("persistence", "persistence", {"world": "snare", "knobs": KNOBS}, "snare", "default", 3)


def test_row_is_pooled_over_the_test_origins_of_the_shared_split() -> None:
    row = measure(CELL).row
    data = simulate("snare", seed=3, **KNOBS).data
    split = time_split(data)
    model = forecaster("persistence", seed=3).fit(data, split)
    p = torch.stack([model.predict(data, origin_index=origin).probabilities for origin in split.test])
    targets = list(split.targets("test"))
    assert row["nll"] == pytest.approx(nll(p, data.y[targets], mask=data.y_mask[targets]), abs=1e-6)
    assert row["rows_train"] == int(data.y_mask[list(split.targets("train"))].sum())
    assert (row["model"], row["seed"], row["threads"]) == ("persistence", 3, torch.get_num_threads())
    assert row["candidates"] == comembers(data, until=split.targets("calibration")[-1] + 1).shape[1]


def test_same_cell_gives_the_same_numbers() -> None:
    small = {"world": "snare", "knobs": {"agents": 20, "times": 6}}
    cell = replace(CELL, model="hypergcn", data=small, settings={"epochs": 2})
    first, second = measure(cell).row, measure(cell).row
    for name in ("nll", "ece", "aurc", "p_at_10", "auprc", "p_at_10_common", "auprc_common"):
        assert first[name] == second[name]
        assert first[name] is not None


def test_oracle_is_better_than_the_trivial_and_only_worlds_have_one(tmp_path) -> None:
    from sphunc.io import write_tables

    assert measure(replace(CELL, model=ORACLE)).row["nll"] < measure(CELL).row["nll"]
    write_tables(simulate("snare", seed=3, **KNOBS).data, tmp_path)
    with pytest.raises(ArgumentError, match="oracle: only simulated worlds have one"):
        measure(replace(CELL, model=ORACLE, data={"tables": str(tmp_path), "options": {}}))


def test_attribution_can_be_left_out() -> None:
    assert "auprc_common" not in measure(replace(CELL, attribution=False)).row


def test_trials_choose_settings_and_fixed_ones_stay() -> None:
    row = measure(replace(CELL, model="hypergcn", trials=2, settings={"epochs": 1, "width": 8}, attribution=False)).row
    assert "width" not in json.loads(row["tuned"])
    assert row["seconds_tune"] > 0


def test_out_of_distribution_agents_are_compared_with_unseen_agents_of_known_communities() -> None:
    knobs = {**KNOBS, "newcomers": 0.2, "unseen": 0.2}
    row = measure(replace(CELL, model="majority", data={"world": "snare", "knobs": knobs})).row
    assert row["ood_auroc"] == 0.5
