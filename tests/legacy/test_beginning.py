"""Before the first pass a network is where its training times put it."""

import pytest
import torch

import sphunc
from sphunc.legacy.beginning import can_lean
from sphunc.legacy.network import Network
from sphunc.legacy.observed import observe
from sphunc.legacy.targets import targets_of


@pytest.mark.parametrize(
    ("settings", "numeric", "leans"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"geometry": "euclidean"}, False, False),
        ({"initial_projection": "gaussian"}, False, False),
    ],
)
def test_classes_lean_on_the_sphere_where_the_readout_begins_at_the_signal(settings, numeric, leans) -> None:
    assert can_lean(sphunc.SphUncConfig(**settings), numeric) is leans


def opened(**settings) -> tuple[Network, float, float]:
    """A network, and the mean surprise of its training outcomes before and after it was opened."""
    data = sphunc.simulate("snare", agents=80, times=6, seed=3).data
    config = sphunc.SphUncConfig(dim=16, **settings)
    network = Network(config, data.num_features, data.num_classes, numeric=False, generator=torch.Generator())
    observed, targets = observe(data), targets_of(data, 1)
    network.learn_scale(observed)
    network.eval()
    links, gates = torch.zeros(2, 0, dtype=torch.long), torch.zeros(0)

    def surprise() -> float:
        log_p = network(observed, links, gates).log_probabilities[targets.mask]
        return -float(log_p.gather(1, targets.outcome[targets.mask].unsqueeze(1)).detach().mean())

    before = surprise()
    network.open_reading(observed, links, gates, targets)
    return network, before, surprise()


def test_an_opening_makes_the_training_outcomes_likelier() -> None:
    network, before, after = opened()
    assert after < before
    assert network.readout.weight.any()


def test_without_a_signal_there_is_nothing_to_open() -> None:
    network, before, after = opened(initial_projection="gaussian")
    assert after == pytest.approx(before, abs=1e-4)  # how sure states are is found in any case
    assert not network.direct.is_used
    assert not network.readout.weight.any()
