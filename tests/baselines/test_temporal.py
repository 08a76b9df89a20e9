import pytest
import torch
from torch import nn

from sphunc.baselines.panel import make_panel, statistics_of
from sphunc.baselines.settings import NetworkSettings
from sphunc.baselines.temporal import NoMessages, TemporalNetwork, drop, gru_cell, linear, load_weights
from sphunc.errors import CheckpointError


def network(panel, seed=0, dropout=0.5):
    generator = torch.Generator().manual_seed(seed)
    settings = NetworkSettings(hidden=5, dropout=dropout)
    spatial = NoMessages(panel.num_inputs, 1, settings, generator)
    return TemporalNetwork(spatial, panel.num_inputs, 2, settings, generator)


def test_the_network_over_time_is_its_equation(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    net = network(panel)
    with torch.no_grad():
        net.skip_readout.weight.normal_(generator=torch.Generator().manual_seed(1))
        got, _ = net(panel)
        for agent in range(4):
            memory = torch.zeros(1, 5)
            for time in range(2):
                x = panel.inputs[time, agent].unsqueeze(0)
                if panel.present[time, agent]:
                    memory = net.cell(torch.relu(net.own(x)), memory)
                wanted = torch.log_softmax(net.readout(memory) + net.skip_readout(x), -1)
                assert torch.allclose(got[time, agent], wanted[0], atol=1e-6)


def test_dropout_needs_a_generator_and_keeps_the_mean() -> None:
    x = torch.ones(200, 100)
    assert drop(x, 0.5, None) is x
    dropped = drop(x, 0.25, torch.Generator().manual_seed(0))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1.0 / 0.75])
    # 20,000 entries of deviation sqrt(1/3): six standard errors.
    assert abs(dropped.mean() - 1.0) < 6 * (1 / 3 / x.numel()) ** 0.5


def test_weights_come_from_the_generator_alone(tiny) -> None:
    panel = make_panel(tiny, statistics_of(tiny, 2), 2)
    state = torch.random.get_rng_state()
    first, second = network(panel), network(panel)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_initial_weights_have_the_stated_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    assert abs(linear(400, 100, generator).weight.std() * 400**0.5 - 1.0) < 0.03
    assert abs(gru_cell(400, 50, generator).weight_ih.std() * 400**0.5 - 1.0) < 0.03


class Small(nn.Module):
    """One parameter, and a buffer whose length is learned."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.full((2,), value))
        self.register_buffer("support", torch.zeros(0, 3))


def test_weights_become_those_given_and_buffers_take_their_saved_length() -> None:
    network = Small(0.0)
    support = torch.ones(5, 3)
    load_weights(network, {"gain": Small(3.0).gain, "support": support})
    assert network.gain.tolist() == [3.0, 3.0]
    assert torch.equal(network.support, support)
    network.support.zero_()
    assert support.sum() == 15  # a copy


@pytest.mark.parametrize(
    ("weights", "words"),
    [({"gain": torch.zeros(1)}, "do not fit the saved settings: .*gain"), ({}, 'Missing key.* "gain"')],
)
def test_parameters_that_do_not_fit_are_refused(weights, words) -> None:
    with pytest.raises(CheckpointError, match=words):
        load_weights(Small(0.0), {"support": torch.zeros(0, 3), **weights})
