"""The network over time without messages."""

import torch

from sphunc.baselines import forecaster


def test_no_state_of_a_spatial_encoder_enters_the_memory(data, split) -> None:
    network = forecaster("recurrent", epochs=1, hidden=8).fit(data, split).network_
    assert network.cell.weight_ih.shape == (3 * 8, 8)


def test_groups_are_not_read(data, split, without_groups) -> None:
    model = forecaster("recurrent", epochs=3).fit(data, split)
    assert torch.equal(model.predict(data).probabilities, model.predict(without_groups).probabilities)
