"""The perceptron against its equations."""

import torch

from sphunc.baselines import forecaster
from sphunc.baselines.regressions.columns import covariate_columns


def test_two_hidden_layers_beside_a_linear_map(data, panel) -> None:
    model = forecaster("mlp", width=5)
    network = model.make_network(data.num_features, data.num_classes, torch.Generator().manual_seed(0))
    x = covariate_columns(panel)
    hidden = torch.relu(x @ network.first.weight.mT)
    hidden = torch.relu(hidden @ network.second.weight.mT)
    wanted = torch.log_softmax(x @ network.map.weight.mT + hidden @ network.readout.weight.mT, -1)
    assert torch.allclose(network(panel)[0], wanted, atol=1e-6)


def test_dropout_needs_a_generator(data, panel) -> None:
    network = forecaster("mlp", width=5).make_network(data.num_features, data.num_classes, torch.Generator())
    assert torch.equal(network(panel)[0], network(panel)[0])
    assert not torch.equal(network(panel, torch.Generator())[0], network(panel)[0])
