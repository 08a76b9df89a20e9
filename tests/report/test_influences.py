import math

import polars as pl
import pytest
import torch

import sphunc
from sphunc.report import influence_table


def test_links_are_those_of_the_graph_with_a_row_per_class(
    weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    table = influence_table(weighted, world_data, count=4)
    top = weighted.influence().top(4)
    assert len(table) == 3 * len(top)
    assert table.frame["source"].to_list()[::3] == top["source"].to_list()
    assert (table.frame["low"] <= table.frame["high"]).all()


def test_odds_ratios_are_those_of_the_probabilities_and_agree_with_simulated_interventions(
    weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    table = influence_table(weighted, world_data, count=3).frame
    gaps = []
    for row in table.rows(named=True):
        effect = weighted.intervene(
            sphunc.Do(row["source"], toward=row["outcome"]), data=world_data, samples=200, seed=0
        )
        place = effect.index(row["target"])
        column = world_data.class_names.index(row["outcome"])
        assert row["from"] == pytest.approx(float(effect.factual[place, column]), abs=0.02)
        gaps.append((row["to"] - row["from"]) - float(effect.difference[place, column]))
    assert float(torch.tensor(gaps).abs().mean()) < 0.1


def test_states_without_weight_give_probability_and_strength_alone(
    fitted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    import copy
    from dataclasses import replace

    model = copy.copy(fitted)
    model.model_ = replace(fitted.model_, weight=0.0)
    table = influence_table(model, world_data, count=4)
    assert "odds_ratio" not in table.frame.columns
    assert "weight 0" in table.note
    assert ((table.frame["low"] <= table.frame["strength"]) & (table.frame["strength"] <= table.frame["high"])).all()


def test_a_fit_without_links_says_why(quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    table = influence_table(quick, world_data)
    assert len(table) == 0
    assert table.note.startswith("no influence could be learned")


def test_positions_follow_the_order_of_the_data(weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    """Another order of the agents changes nothing."""
    frames = _frames(world_data)
    shuffled = sphunc.from_frames(
        features=frames["features"].sample(fraction=1.0, shuffle=True, seed=1),
        groups=frames["groups"],
        outcomes=frames["outcomes"],
    )
    straight = influence_table(weighted, world_data, count=3).frame
    other = influence_table(weighted, shuffled, count=3).frame
    assert other["odds_ratio"].to_list() == pytest.approx(straight["odds_ratio"].to_list(), rel=1e-3)


def _frames(data: sphunc.TemporalHypergraph) -> dict[str, pl.DataFrame]:
    import tempfile
    from pathlib import Path

    folder = tempfile.mkdtemp()
    sphunc.write_tables(data, folder)
    names = ("features", "groups", "outcomes")
    found = {name: next(Path(folder).glob(f"{name}.*")) for name in names}
    return {name: pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path) for name, path in found.items()}


def test_log_odds_are_finite(weighted: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    ratios = influence_table(weighted, world_data, count=10).frame["odds_ratio"].to_list()
    assert all(math.isfinite(math.log(ratio)) for ratio in ratios)
