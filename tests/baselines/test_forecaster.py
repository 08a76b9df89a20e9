import math

import pytest
import torch

import sphunc
from sphunc.baselines import BaselineForecast, Forecaster, InfluenceForecaster, forecaster
from sphunc.baselines.forecaster import predictive_entropy
from sphunc.errors import ArgumentError


def make(**changes):
    fields = {"agents": ("a", "b"), "origin": 3, "target": 4, "horizon": 1, "class_names": ("calm", "tense")}
    return BaselineForecast(**{**fields, "probabilities": torch.tensor([[0.5, 0.5], [0.9, 0.1]]), **changes})


def test_sphunc_and_the_baselines_are_forecasters_and_capability_is_a_type() -> None:
    assert isinstance(sphunc.SphUnc(), InfluenceForecaster)
    assert isinstance(forecaster("hypergcn"), InfluenceForecaster)
    assert isinstance(forecaster("majority"), Forecaster)
    assert not isinstance(forecaster("majority"), InfluenceForecaster)
    assert not isinstance(object(), Forecaster)


def test_entropy_by_hand() -> None:
    H = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1)) / math.log(2)
    assert make().total.tolist() == pytest.approx([1.0, H])
    assert predictive_entropy(torch.tensor([1.0, 0.0])).item() == 0.0


def test_frame_has_the_users_ids_and_classes() -> None:
    frame = make().to_frame()
    assert frame.columns == ["agent", "time", "prediction", "confidence", "p(calm)", "p(tense)", "total"]
    assert frame.row(1)[:3] == ("b", 4, "calm")
    assert repr(make()) == "BaselineForecast(2 agents, 2 classes, 3 -> 4, mean confidence 0.70)"


def test_wrong_shape_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"probabilities has shape \(2, 3\); agents ask for \(2, 2\)"):
        make(probabilities=torch.full((2, 3), 1 / 3))
