"""Ensembles and Monte Carlo dropout."""

import math

import pytest
import torch

from sphunc.baselines import forecaster, load_forecaster
from sphunc.baselines.sampling import decompose
from sphunc.errors import ArgumentError
from sphunc.forecasting import Categorical

FAST = {"epochs": 4, "width": 8, "hidden": 8}


def test_entropy_splits_by_hand() -> None:
    certain = Categorical(torch.tensor([[1 - 1e-9, 1e-9]]).double().log())
    opposite = Categorical(certain.log_probabilities.flip(-1))
    even = Categorical(torch.full((1, 2), 0.5).double().log())
    disagree = decompose([certain, opposite])
    assert (float(disagree["epistemic"]), float(disagree["aleatoric"])) == pytest.approx((1.0, 0.0), abs=1e-6)
    agree = decompose([even, even])
    assert (float(agree["epistemic"]), float(agree["aleatoric"])) == pytest.approx((0.0, 1.0), abs=1e-6)


@pytest.mark.parametrize(("name", "own"), [("ensemble", {"members": 2}), ("mc_dropout", {"samples": 3})])
def test_parts_add_up_before_the_temperature_and_models_are_saved(name, own, data, split, tmp_path) -> None:
    model = forecaster(name, of="recurrent", **own, **FAST).fit(data, split)
    with torch.no_grad():
        forecast, parts = model.uncalibrated(data)
    total = forecast.entropy / math.log(data.num_classes)
    assert torch.allclose(parts["epistemic"] + parts["aleatoric"], total, atol=1e-6)
    assert float(parts["epistemic"].mean()) > 0
    model.save(tmp_path)
    loaded = load_forecaster(tmp_path)
    assert loaded.get_params() == model.get_params()
    assert torch.equal(loaded.predict(data).probabilities, model.predict(data).probabilities)
    assert torch.equal(loaded.predict(data).epistemic, model.predict(data).epistemic)


def test_an_ensemble_averages_fits_from_its_seeds(data, split) -> None:
    model = forecaster("ensemble", of="recurrent", members=2, seed=3, **FAST).fit(data, split)
    single = forecaster("recurrent", seed=3, **FAST).fit(data, split)
    first, second = (member.uncalibrated(data)[0].probabilities for member in model.members_)
    assert torch.equal(first, single.uncalibrated(data)[0].probabilities)
    assert torch.allclose(model.uncalibrated(data)[0].probabilities, (first + second) / 2, atol=1e-6)
    assert not torch.equal(first, second)


def test_trees_can_be_averaged(data, split) -> None:
    model = forecaster("ensemble", of="boosting", members=2, rounds=5, columns=3).fit(data, split)
    assert float(model.predict(data).epistemic.max()) > 0


def test_what_cannot_be_wrapped_is_refused_with_what_can() -> None:
    with pytest.raises(ArgumentError, match="of is 'boosting', which mc_dropout cannot wrap; choose one of hypergcn"):
        forecaster("mc_dropout", of="boosting")
    with pytest.raises(ArgumentError, match="of is 'majority', which ensemble cannot wrap"):
        forecaster("ensemble", of="majority")
    with pytest.raises(ArgumentError, match="'depth' is not a setting of HGNN"):
        forecaster("ensemble", of="hgnn", depth=3)
