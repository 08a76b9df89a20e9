"""H_causal of a tracked intervention after every epoch."""

import math
from dataclasses import replace

import pytest
import torch
from tests.model.paper.conftest import SMALL

from sphunc.errors import ArgumentError
from sphunc.evaluation import ece, precision_at_k
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import FittedPaper, PaperConfig, TrackedIntervention, fit_paper
from sphunc.model.paper.holdout import hold_out
from sphunc.model.paper.simulation import class_entropy
from sphunc.model.paper.tracking import class_directions, held_out_ece, precision_at_10
from sphunc.model.paper.training import inputs_for


def test_every_epoch_has_an_entropy_and_a_confidence(data: TemporalHypergraph, small: PaperConfig) -> None:
    track = TrackedIntervention(data.node_ids[3], toward=data.class_names[0], steps=2)
    model = fit_paper(data, small, seed=0, track=track)
    for record in model.history:
        assert 0.0 < record.h_causal <= math.log(3.0)
        assert 0.0 < record.confidence < 1.0
    # Tracking changes nothing of the training.
    assert torch.equal(model.network.weight, fit_paper(data, small, seed=0).network.weight)


def test_the_entropy_is_that_of_the_rollout(data: TemporalHypergraph) -> None:
    # One epoch that changes nothing: the tracked network is the fitted one, but for its calibration.
    config = PaperConfig(**{**SMALL, "epochs": 1, "learning_rate": 1e-12})
    direction = tuple(torch.nn.functional.normalize(torch.arange(8.0), dim=0).tolist())
    track = TrackedIntervention(data.node_ids[3], direction=direction, targets=(data.node_ids[0],), samples=5)
    model = fit_paper(data, config, seed=4, track=track)
    model.network.calibration.fill_(1.0)
    samples = model.rollout(data, 1, 5, seed=4, hold={3: torch.tensor(direction)})
    expected = float(class_entropy(samples[:, -1])[0])
    assert model.history[0].h_causal == pytest.approx(expected, abs=1e-6)


def test_calibration_and_links_are_those_of_the_metrics(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    network = fitted.network
    inputs = inputs_for(network, data, fitted.agents)
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    p = network(inputs).log_probabilities.detach().exp()
    expected = ece(p.numpy(), targets.outcome.numpy(), mask=targets.validation.numpy())
    assert held_out_ece(network, inputs, targets) == pytest.approx(expected, abs=1e-6)
    assert precision_at_10(network, replace(data, influence=None, influence_kind="")) is None
    marked = replace(data, influence=network.links[:, ::3], influence_kind="test")
    is_true = (torch.arange(network.links.shape[1]) % 3 == 0).numpy()
    assert precision_at_10(network, marked) == pytest.approx(
        precision_at_k(network.log_odds.numpy(), is_true, 10), abs=1e-6
    )


def test_directions_of_classes_are_means_of_their_states(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    inputs = inputs_for(fitted.network, data, fitted.agents)
    targets, _ = hold_out(data, 1, torch.Generator().manual_seed(0))
    directions = class_directions(fitted.network, inputs, targets)
    h = fitted.network.encode(inputs).detach()
    for label in range(3):
        states = [
            h[t, i]
            for t in range(data.num_times)
            for i in range(data.num_nodes)
            if targets.train[t, i] and inputs.has_features[t, i] and targets.outcome[t, i] == label
        ]
        mean = torch.stack(states).mean(0)
        torch.testing.assert_close(directions[label], mean / mean.norm())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": "nobody", "toward": "x"}, "track names agent 'nobody'"),
        ({"toward": "x"}, "track holds toward 'x'; allowed: "),
        ({}, "give one of them"),
        ({"direction": (1.0,)}, "a direction of 1 numbers; dim is 8"),
        ({"direction": (1.0,) * 8, "steps": 0}, "steps=0"),
        ({"direction": (1.0,) * 8, "targets": ("nobody",)}, "track names agent 'nobody'"),
    ],
)
def test_faulty_interventions_are_refused(
    settings: dict, message: str, data: TemporalHypergraph, small: PaperConfig
) -> None:
    track = TrackedIntervention(**{"agent": data.node_ids[0], **settings})
    with pytest.raises(ArgumentError, match=message):
        fit_paper(data, small, seed=0, track=track)
