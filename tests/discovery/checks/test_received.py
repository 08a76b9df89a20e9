"""What agents receive is the sum over their links, at the lag of each."""

import torch

from sphunc.discovery import InfluenceGraph
from sphunc.discovery.checks.received import panel_of, received_influence


def graph_of(links, probability, strength, lag, agents):
    return InfluenceGraph(
        links,
        tuple(range(agents)),
        probability,
        strength,
        torch.ones_like(strength),
        lag=lag,
        prior=torch.full_like(probability, 0.1),
    )


def test_sources_are_summed_at_their_lags():
    agents = 6
    target = torch.arange(agents)
    links = torch.cat([torch.stack([(target + 1) % agents, target]), torch.stack([(target + 2) % agents, target])], 1)
    lag = torch.cat([torch.ones(agents, dtype=torch.long), torch.full((agents,), 2)])
    probability = torch.full((12,), 0.8, dtype=torch.double)
    strength = torch.linspace(-1, 1, 12, dtype=torch.double)
    graph = graph_of(links, probability, strength, lag, agents)
    states = torch.randn(7, agents, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    received = received_influence(graph, panel_of(graph, states, None, None, replicates=False))
    assert received is not None
    values = received.panel.values
    total = received.sum_over_sources(values)
    for row, time in enumerate(received.rows.times.tolist()):
        for i in range(agents):
            first = 0.8 * strength[i] * values[(i + 1) % agents, time - 1]
            second = 0.8 * strength[agents + i] * values[(i + 2) % agents, time - 2]
            torch.testing.assert_close(total[i, row], first + second)
    same_time = received.sum_over_sources(values, 2)
    torch.testing.assert_close(
        same_time[0, 0],
        0.8 * strength[0] * values[1, received.rows.times[0]] + 0.8 * strength[6] * values[2, received.rows.times[0]],
    )


def test_too_few_targets_give_nothing():
    links = torch.tensor([[1], [0]])
    one = torch.ones(1, dtype=torch.double)
    graph = graph_of(links, one, one, torch.ones(1, dtype=torch.long), 6)
    states = torch.randn(7, 6, 2, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    assert received_influence(graph, panel_of(graph, states, None, None, replicates=False)) is None
