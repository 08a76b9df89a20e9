"""Logistic regression on covariates."""

import torch

from sphunc.baselines import forecaster
from sphunc.baselines.regressions.columns import covariate_columns


def test_forecasts_are_linear_in_the_covariates(data, split, panel) -> None:
    network = forecaster("logistic", epochs=3).fit(data, split).network_
    wanted = torch.log_softmax(covariate_columns(panel) @ network.map.weight.mT + network.map.bias, -1)
    log_probabilities, _ = network(panel)
    assert torch.allclose(log_probabilities, wanted, atol=1e-6)


def test_weights_start_at_equal_probabilities(data, split) -> None:
    network = forecaster("logistic").make_network(4, 3, torch.Generator())
    assert not network.map.weight.any()
