from dataclasses import replace

import pytest
import torch

from sphunc.baselines import forecaster, load_forecaster
from sphunc.baselines.controls.frequencies import Majority, Persistence
from sphunc.baselines.regressions.logistic import Logistic
from sphunc.errors import ArgumentError, CheckpointError, DataError, NotFittedError
from sphunc.hypergraph import comembers


def test_an_unfitted_baseline_says_what_to_do(data) -> None:
    with pytest.raises(NotFittedError, match=r"predict needs a fitted model; call fit\(data\), or HyperGCN.load"):
        forecaster("hypergcn").predict(data)
    with pytest.raises(NotFittedError, match="influence needs a fitted model"):
        forecaster("hypergcn").influence()


def test_numbers_are_refused(data) -> None:
    numbers = replace(data, y=torch.zeros(*data.y.shape, 1), class_names=())
    with pytest.raises(DataError, match="HyperGCN forecasts classes, but data has numbers"):
        forecaster("hypergcn").fit(numbers)


def test_candidates_are_those_who_met_up_to_the_end_of_training(data, split) -> None:
    model = forecaster("hypergcn", epochs=1).fit(data, split)
    stop = split.targets("calibration")[-1] + 1
    assert torch.equal(model.influence().links, comembers(data, stop))
    assert model.schema_.last == data.times[stop - 1]


def test_horizon_and_calendar(data) -> None:
    forecast = forecaster("recurrent", epochs=1, horizon=2).fit(data).predict(data)
    assert (forecast.origin, forecast.target) == (data.times[-1], data.times[-1] + 2)


def test_a_forecast_is_named_after_the_data(data, split) -> None:
    model = forecaster("majority").fit(data, split)
    within = model.predict(data, origin_index=1)
    beyond = model.predict(data)
    assert (within.agents, within.class_names) == (data.node_ids, data.class_names)
    assert (within.origin, within.target, within.horizon) == (data.times[1], data.times[2], 1)
    assert beyond.target == data.times[-1] + (data.times[-1] - data.times[-2])


def test_a_repr_shows_what_was_given() -> None:
    assert repr(forecaster("recurrent", hidden=8)) == "Recurrent(horizon=1, seed=0, hidden=8)"


def test_a_device_that_is_not_there_is_refused(data) -> None:
    with pytest.raises(ArgumentError, match=r"device='nonsense' is not there; on this machine choose 'cpu'"):
        forecaster("recurrent", device="nonsense").fit(data)


def test_a_folder_knows_which_baseline_it_holds(tmp_path, data, split) -> None:
    forecaster("majority").fit(data, split).save(tmp_path)
    assert isinstance(load_forecaster(tmp_path), Majority)
    with pytest.raises(CheckpointError, match="holds the baseline 'majority', not 'persistence'"):
        Persistence.load(tmp_path)


def test_a_damaged_document_is_refused(tmp_path, data, split) -> None:
    forecaster("logistic", epochs=1).fit(data, split).save(tmp_path)
    document = tmp_path / "baseline.json"
    document.write_text(document.read_text().replace('"schema"', '"scheme"'))
    with pytest.raises(CheckpointError, match=r"baseline.json does not hold what sphunc wrote"):
        Logistic.load(tmp_path)


def test_nothing_is_pickled(tmp_path, data, split) -> None:
    forecaster("logistic", epochs=1).fit(data, split).save(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]
