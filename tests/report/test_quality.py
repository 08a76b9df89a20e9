import numpy as np
import pytest
import torch

import sphunc
from sphunc.report import held_out_outcomes, quality_table
from sphunc.report.quality import reliability_figure, simple_forecasts


def test_outcomes_later_than_the_training_data_are_used_where_there_are_any(
    world_data: sphunc.TemporalHypergraph,
) -> None:
    past = world_data.until_index(4)
    model = sphunc.SphUnc(quick=True).fit(past, verbose=False)
    held = held_out_outcomes(model, world_data)
    assert held is not None
    assert held.how.startswith("outcomes later than 4")
    assert [forecast.origin for forecast in held.forecasts] == [4, 5]
    assert world_data.y is not None
    expected = torch.cat([world_data.y[t][world_data.y_mask[t]] for t in (5, 6)])
    assert held.outcome.equal(expected)
    frame = quality_table(held).frame
    hits = held.stacked("probabilities").argmax(1) == held.outcome
    row = frame.filter(frame["measure"] == "accuracy").row(0, named=True)
    assert row["model"] == pytest.approx(float(hits.double().mean()))
    assert row["low"] <= row["model"] <= row["high"]


def test_without_later_outcomes_the_settings_are_fitted_again(
    quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph
) -> None:
    held = held_out_outcomes(quick, world_data)
    assert held is not None
    first = held.forecasts[0].origin
    direct = sphunc.SphUnc(quick=True).fit(world_data.until(first), verbose=False).predict(world_data, origin=first)
    assert held.forecasts[0].probabilities.equal(direct.probabilities)
    assert "fitted again on times up to" in quality_table(held).note
    assert all(forecast.origin >= first for forecast in held.forecasts)


def test_floor_and_readings_are_stated(quick: sphunc.SphUnc, world_data: sphunc.TemporalHypergraph) -> None:
    held = held_out_outcomes(quick, world_data)
    assert held is not None
    rows = {row["measure"]: row for row in quality_table(held).frame.rows(named=True)}
    assert "The floor: perfect forecasts" in rows["calibration error (ECE)"]["how_to_read_it"]
    # Frequencies are alike for all agents, and differ a little from one origin to the next.
    assert rows["macro AUC"]["class_frequencies"] == pytest.approx(0.5, abs=0.05)
    figure = reliability_figure(held)
    assert figure is not None
    mean = float(held.stacked("probabilities").max(1).values.mean())
    assert f"probability of {mean:.2f} on average" in figure.description


def test_simple_forecasts_count_the_past_alone(world_data: sphunc.TemporalHypergraph) -> None:
    data = world_data
    assert data.y is not None
    frequencies, last = simple_forecasts(data, 3, 1)
    y = data.y[:4][data.y_mask[:4]]
    count = torch.bincount(y, minlength=3).double() + 1
    assert frequencies[0].tolist() == pytest.approx((count / count.sum()).tolist())
    follow = (count / count.sum()).expand(3, -1).clone()
    for t in (0, 1, 2):
        for i in range(data.num_nodes):
            if data.y_mask[t, i] and data.y_mask[t + 1, i]:
                follow[data.y[t, i], data.y[t + 1, i]] += 1
    agent = int(data.y_mask[3].nonzero()[0])
    expected = follow[data.y[3, agent]] / follow[data.y[3, agent]].sum()
    assert last[agent].tolist() == pytest.approx(expected.tolist())


def test_numbers_have_errors_scores_and_coverage(
    number_model: sphunc.SphUnc, number_data: sphunc.TemporalHypergraph
) -> None:
    held = held_out_outcomes(number_model, number_data)
    assert held is not None
    rows = {row["measure"]: row for row in quality_table(held).frame.rows(named=True)}
    gap = (held.stacked("mean").double() - held.outcome).square().mean().sqrt()
    assert rows["root mean square error"]["model"] == pytest.approx(float(gap))
    assert rows["root mean square error"]["model"] < rows["root mean square error"]["mean_so_far"]
    assert rows["CRPS"]["model"] < rows["CRPS"]["last_outcome"]
    assert np.isfinite(rows["coverage of 90 % intervals"]["model"])
    assert reliability_figure(held) is None


def test_a_single_origin_leaves_nothing_to_hold_out(world_data: sphunc.TemporalHypergraph) -> None:
    short = world_data.until_index(1)
    model = sphunc.SphUnc(quick=True).fit(short, verbose=False)
    assert held_out_outcomes(model, short) is None
