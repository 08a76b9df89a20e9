import pytest
import torch

from sphunc.baselines.network import NoMessages, TemporalNetwork, drop, gru_cell, linear
from sphunc.baselines.panel import learn_scale, make_panel


def network(panel, seed=0, dropout=0.5):
    generator = torch.Generator().manual_seed(seed)
    spatial = NoMessages()
    return TemporalNetwork(spatial, panel.num_inputs, 2, hidden=5, dropout=dropout, generator=generator)


def test_the_wrapper_is_its_equation(tiny) -> None:
    panel = make_panel(tiny, learn_scale(tiny, 2), 2)
    net = network(panel)
    with torch.no_grad():
        net.direct.weight.normal_(generator=torch.Generator().manual_seed(1))
        got = net(panel).log_probabilities
        for agent in range(4):
            memory = torch.zeros(1, 5)
            for time in range(2):
                x = panel.inputs[time, agent].unsqueeze(0)
                if panel.present[time, agent]:
                    memory = net.cell(torch.relu(net.own(x)), memory)
                wanted = torch.log_softmax(net.readout(memory) + net.direct(x), -1)
                assert torch.allclose(got[time, agent], wanted[0], atol=1e-6)


def test_dropout_needs_a_generator_and_keeps_the_mean() -> None:
    x = torch.ones(200, 100)
    assert drop(x, 0.5, None) is x
    dropped = drop(x, 0.25, torch.Generator().manual_seed(0))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1.0 / 0.75])
    # 20,000 entries of deviation sqrt(1/3): six standard errors.
    assert abs(dropped.mean() - 1.0) < 6 * (1 / 3 / x.numel()) ** 0.5


def test_weights_come_from_the_generator_alone(tiny) -> None:
    panel = make_panel(tiny, learn_scale(tiny, 2), 2)
    state = torch.random.get_rng_state()
    first, second = network(panel), network(panel)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_initial_weights_have_the_stated_variance() -> None:
    generator = torch.Generator().manual_seed(0)
    assert abs(linear(400, 100, generator).weight.std() * 400**0.5 - 1.0) < 0.03
    assert abs(gru_cell(400, 50, generator).weight_ih.std() * 400**0.5 - 1.0) < 0.03
