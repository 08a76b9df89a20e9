"""Scores are those of the forecasts, beside class frequencies and the last outcome."""

import math

import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError, DataError
from sphunc.forecasting import class_forecasts
from sphunc.runs import RunSettings, evaluate


def test_scores_of_classes(quick_run):
    model, data = quick_run.model, quick_run.all_data
    found = evaluate(model, data)
    p = model.predict(data, origin=3).probabilities.double()
    truth = data.y[4]
    chosen = p[torch.arange(len(truth)), truth]
    ours = found.scores.row(0, named=True)
    assert ours["system"] == "SphUnc"
    assert math.isclose(ours["nll"], float(-chosen.log().mean()), rel_tol=1e-6)
    assert math.isclose(ours["accuracy"], float((p.argmax(1) == truth).double().mean()), rel_tol=1e-6)
    last = found.scores.row(2, named=True)
    frequencies, persistence = class_forecasts(data.y[:4], data.y_mask[:4], 1, data.num_classes)
    simple = found.scores.row(1, named=True)
    rows = torch.arange(len(truth))
    assert math.isclose(simple["nll"], float(-frequencies.log_probabilities[rows, truth].mean()), rel_tol=1e-6)
    assert math.isclose(last["nll"], float(-persistence.log_probabilities[rows, truth].mean()), rel_tol=1e-6)
    best = persistence.probabilities.argmax(1)
    assert math.isclose(last["accuracy"], float((best == truth).double().mean()), abs_tol=1e-9)
    assert found.outcomes == 20
    assert found.forecasts["happened"].to_list() == [data.class_names[c] for c in truth.tolist()]


def test_nothing_later_and_no_outcomes(quick_run):
    with pytest.raises(ArgumentError, match=r"no outcome later than 3.*--until TIME"):
        evaluate(quick_run.model, quick_run.data)
    bare = sphunc.from_frames(features={"time": [1], "agent": ["a"], "mood": [1.0]})
    with pytest.raises(DataError, match="no outcomes to compare with"):
        evaluate(quick_run.model, bare)


def test_scores_of_numbers():
    generator = torch.Generator().manual_seed(0)
    rows = [(t, f"a{k}") for t in range(6) for k in range(12)]
    y = torch.randn(len(rows), generator=generator).tolist()
    data = sphunc.from_frames(
        features={"time": [t for t, _ in rows], "agent": [a for _, a in rows], "f": y},
        outcomes={"time": [t for t, _ in rows], "agent": [a for _, a in rows], "outcome": y},
    )
    model = RunSettings(quick=True).model().fit(data.until(4), verbose=False)
    found = evaluate(model, data)
    guess = model.predict(data, origin=4).mean
    ours, mean, last = found.scores["rmse"].to_list()
    assert math.isclose(ours, float((guess - data.y[5]).double().square().mean().sqrt()), rel_tol=1e-5)
    assert math.isclose(mean, float((data.y[:5].mean() - data.y[5]).double().square().mean().sqrt()), rel_tol=1e-5)
    assert math.isclose(last, float((data.y[4] - data.y[5]).double().square().mean().sqrt()), rel_tol=1e-5)
