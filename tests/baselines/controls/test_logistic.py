"""Logistic regression on an agent's own inputs."""

import torch

from sphunc.baselines import forecaster


def test_groups_are_not_read(data, split, without_groups) -> None:
    model = forecaster("logistic", epochs=3).fit(data, split)
    assert torch.equal(model.predict(data).probabilities, model.predict(without_groups).probabilities)


def test_forecasts_are_linear_in_the_inputs(data, split, panel) -> None:
    network = forecaster("logistic", epochs=3).fit(data, split).network_
    wanted = torch.log_softmax(panel.inputs @ network.map.weight.mT + network.map.bias, -1)
    log_probabilities, _ = network(panel)
    assert torch.allclose(log_probabilities, wanted, atol=1e-6)
