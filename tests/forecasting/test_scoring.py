"""Mean scores by hand."""

import math

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.forecasting.forecast import Forecast
from sphunc.forecasting.scoring import mean_score

NOTHING = torch.zeros(2)


def forecast(**values):
    return Forecast(
        agents=("a", "b"),
        origin=0,
        target=1,
        horizon=1,
        epistemic=NOTHING,
        epistemic_scaled=NOTHING,
        aleatoric=NOTHING,
        total=NOTHING,
        kappa=NOTHING,
        scores=torch.zeros(0),
        held_out="nothing",
        **values,
    )


def test_classes():
    p = torch.tensor([[0.8, 0.2], [0.4, 0.6]], dtype=torch.float64)
    parts = [(forecast(probabilities=p, class_names=("x", "y")), torch.tensor([0, 0]), torch.tensor([True, True]))]
    assert mean_score(parts, "accuracy") == 0.5
    assert mean_score(parts, "log_likelihood") == pytest.approx((math.log(0.8) + math.log(0.4)) / 2)


def test_numbers():
    mean = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    made = forecast(mean=mean, variance=torch.ones_like(mean))
    parts = [(made, torch.tensor([[1.0], [2.0]]), torch.tensor([True, True]))]
    assert mean_score(parts, "r2") == pytest.approx(1 - 1 / 0.5)
    assert mean_score(parts, "log_likelihood") == pytest.approx(-0.5 * (math.log(2 * math.pi) + 0.5))


def test_outcomes_that_nobody_observed_are_refused():
    p = torch.tensor([[0.8, 0.2], [0.4, 0.6]], dtype=torch.float64)
    made = forecast(probabilities=p, class_names=("x", "y"))
    with pytest.raises(ArgumentError, match="no outcome is observed"):
        mean_score([(made, torch.tensor([0, 0]), torch.tensor([False, False]))], "accuracy")


def test_r2_of_equal_outcomes_is_refused():
    mean = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    made = forecast(mean=mean, variance=torch.ones_like(mean))
    with pytest.raises(ArgumentError, match="do not vary"):
        mean_score([(made, torch.ones(2, 1), torch.tensor([True, True]))], "r2")
