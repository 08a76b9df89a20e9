"""The network as numbers: the mechanism forces, reads and groups exactly as the network does."""

import pytest
import torch

from sphunc.causal.mechanism import company, drive
from sphunc.errors import ArgumentError
from sphunc.legacy import situation
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.network import Network
from sphunc.legacy.observed import observe
from sphunc.legacy.query import names_of
from sphunc.legacy.scenario import known_links
from sphunc.legacy.situation import groups_at, mechanism_of, memberships, situate
from sphunc.legacy.training import outlook_of

LINKS, GATES = torch.tensor([[0, 1, 5], [2, 3, 0]]), torch.tensor([0.4, -0.3, 0.2])


def make(data, **settings):
    g = torch.Generator().manual_seed(0)
    network = Network(SphUncConfig(dim=16, **settings), data.num_features, data.num_classes, numeric=False, generator=g)
    network.learn_scale(observe(data))
    with torch.no_grad():
        network.readout.weight.normal_(generator=g)
        if network.readout.leans:
            network.readout.lean.normal_(generator=g)
        network.step.change.normal_(generator=g)
        for gain in network.step.gains.values():
            gain.uniform_(0.1, 1.0, generator=g)
    return network.eval()


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_mechanism_is_the_step_and_readout_of_the_network(short_data, geometry) -> None:
    network = make(short_data, geometry=geometry)
    mechanism, past = mechanism_of(network), short_data
    g = torch.Generator().manual_seed(1)
    h, u = torch.randn(2, past.num_nodes, 16, generator=g)
    around = company(LINKS, mechanism.link * GATES, memberships(past), past.num_nodes)
    force, _ = drive(mechanism, h.unsqueeze(1), None, mechanism.prior * u, around)
    with torch.no_grad():
        wanted = network.step.drive(h, u, observe(past).pull[-1], LINKS, GATES)
        assert torch.allclose(force[:, 0], wanted, atol=1e-5)
        eta = 40.0 * h
        length = eta.norm(dim=-1)
        assert torch.allclose(eta * mechanism.mean_length(length).unsqueeze(-1), network.step.mean(eta), atol=1e-5)
        assert torch.allclose(mechanism.read_belief(eta), network.readout(network.step.settled(eta)), atol=1e-3)
        assert mechanism.strength == pytest.approx(float(network.step.strength))


@pytest.mark.parametrize("noise", ["logit", "contamination"])
def test_readings_read_the_rolled_state_as_the_network_does(short_data, noise) -> None:
    network, law = make(short_data, noise=noise), TemperatureLaw(0.3, 0.5, 9)
    names = names_of(short_data, short_data.class_names, 16)
    situation = situate(network, law, short_data, known_links(LINKS, GATES), names, 2)
    mechanism, start = situation.mechanism, situation.start
    around = company(LINKS, mechanism.link * GATES, start.memberships, short_data.num_nodes)
    eta = start.eta
    for step in range(2):
        mean = eta * mechanism.mean_length(eta.norm(dim=-1)).unsqueeze(-1)
        eta = (
            mechanism.strength
            * drive(mechanism, mean.unsqueeze(1), None, mechanism.prior * start.prior, around)[0][:, 0]
        )
        logits = mechanism.read_belief(eta)
        reading = situation.readings[step]
        assert torch.allclose(reading.probabilities(logits.unsqueeze(1))[:, 0], reading.target, atol=2e-4)
    run = network(observe(short_data), LINKS, GATES)
    assert torch.allclose(
        situation.readings[0].target, law.apply(outlook_of(run)).at(-1).log_probabilities.exp(), atol=1e-5
    )


def test_groups_and_directions(short_data) -> None:
    network = make(short_data)
    names = names_of(short_data, short_data.class_names, 16)
    situation = situate(network, TemperatureLaw(), short_data, known_links(LINKS, GATES), names, 1)
    agent, group = memberships(short_data)
    assert len(groups_at(short_data)) == int(group.max()) + 1
    assert len(agent) == len(group)
    for kind, index in (("class", 1), ("agent", 3), ("time", 0)):
        assert float(situation.direct(kind, index, 2).norm()) == pytest.approx(1.0, abs=1e-5)
    situation.beliefs[-1, 3] = 0.0
    with pytest.raises(ArgumentError, match="nothing is known about the state of"):
        situation.direct("agent", 3, 2)


def test_structures_are_ordered_by_the_strata_of_each_agent() -> None:
    strata = torch.tensor([[5, 0], [1, 7], [3, 2]])
    order = situation._order(strata, ("a", "b"), ("b", "new", "a"))
    assert order.T.tolist() == [[0, 2, 1], [0, 1, 2], [1, 2, 0]]
