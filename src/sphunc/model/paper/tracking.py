"""What is recorded after every epoch: H_causal of an intervention (line 11 of Algorithm 1), calibration, links."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Tensor
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper.config import PaperConfig
from sphunc.model.paper.inputs import PaperInputs
from sphunc.model.paper.network import PaperNetwork
from sphunc.model.paper.objective import PaperTargets
from sphunc.model.paper.simulation import class_entropy, number_entropy, simulate
from sphunc.sphere import weighted_mean_direction

BINS = 15
"""Equal-width bins of the expected calibration error."""
TOP = 10
"""Links that precision is taken of."""


@dataclass(frozen=True)
class TrackedIntervention:
    """The intervention of which H_causal is recorded after every epoch.

    Attributes:
        agent: id of the agent that is held.
        toward: name of the class in whose mean direction it is held; or
        direction: the direction ``D`` numbers.
        targets: ids of the agents whose outcomes count; empty for everybody else.
        steps: time steps from the last time of the data to the outcome.
        samples: Monte Carlo samples; None takes those of the configuration.
    """

    agent: Hashable
    toward: str | None = None
    direction: tuple[float, ...] | None = None
    targets: tuple[Hashable, ...] = ()
    steps: int = 1
    samples: int | None = None


def check_track(track: TrackedIntervention, data: TemporalHypergraph, config: PaperConfig) -> None:
    """Refuse an intervention that names what is not there.

    Args:
        track: the intervention.
        data: gives agents and classes.
        config: gives D.
    """
    for agent in (track.agent, *track.targets):
        if agent not in data.node_ids:
            raise ArgumentError(f"track names agent {agent!r}, who is not in the data")
    if (track.toward is None) == (track.direction is None):
        raise ArgumentError("track gives toward and direction, or neither; give one of them")
    if track.toward is not None and track.toward not in data.class_names:
        allowed = ", ".join(data.class_names) or "none, as outcomes are numbers"
        raise ArgumentError(f"track holds toward {track.toward!r}; allowed: {allowed}")
    if track.direction is not None and len(track.direction) != config.dim:
        raise ArgumentError(f"track gives a direction of {len(track.direction)} numbers; dim is {config.dim}")
    if track.steps < 1:
        raise ArgumentError(f"track has steps={track.steps}; give 1 or more")


@torch.no_grad()
def class_directions(network: PaperNetwork, inputs: PaperInputs, targets: PaperTargets) -> Float[Tensor, "class dim"]:
    """Mean direction of the latent states of agents whose outcome is then each class; empty for numbers.

    It is what ``do()`` toward a class holds an agent in: what a typical agent of the class looks
    like to the others. A class without training outcomes gets the zero vector.

    Args:
        network: trained.
        inputs: all times.
        targets: outcomes and which of them count.
    """
    dim = network.config.dim
    if network.numeric:
        return torch.zeros(0, dim, device=inputs.x.device)
    h = network.encode(inputs)
    directions = torch.zeros(len(network.readout_bias), dim, device=h.device)
    for label in range(len(directions)):
        chosen = h[targets.train & inputs.has_features & (targets.outcome == label)]
        if len(chosen) == 0:
            continue
        if network.config.geometry == "sphere":
            mean, _ = weighted_mean_direction(chosen)
            directions[label] = mean
        else:
            directions[label] = chosen.mean(0)
    return directions


def tracked_entropy(
    network: PaperNetwork,
    data: TemporalHypergraph,
    inputs: PaperInputs,
    targets: PaperTargets,
    track: TrackedIntervention,
    seed: int,
) -> float:
    """H_causal of the tracked intervention (line 11 of Algorithm 1), mean over its targets, in nats.

    Args:
        network: after an epoch.
        data: gives ids.
        inputs: all times; the intervention starts at the last one.
        targets: give the directions of classes.
        track: the intervention.
        seed: of structures and noise, the same after every epoch.
    """
    position = {agent: index for index, agent in enumerate(data.node_ids)}
    agent = position[track.agent]
    if track.direction is not None:
        direction = torch.tensor(track.direction, device=data.device)
    else:
        assert track.toward is not None
        label = data.class_names.index(track.toward)
        direction = class_directions(network, inputs, targets)[label]
    samples, variance = simulate(
        network,
        inputs,
        horizon=track.steps,
        samples=track.samples or network.config.samples,
        seed=seed,
        hold={agent: direction},
    )
    last = samples[:, -1]
    if network.numeric:
        entropy = number_entropy(last, variance, network.outcome_deviation)
    else:
        entropy = class_entropy(last)
    chosen = [position[target] for target in track.targets]
    if not chosen:
        chosen = [index for index in range(data.num_nodes) if index != agent]
    return float(entropy[chosen].mean())


@torch.no_grad()
def held_out_ece(network: PaperNetwork, inputs: PaperInputs, targets: PaperTargets) -> float | None:
    """Expected calibration error of the validation cells over 15 equal-width bins; None for numbers, or without any.

    Args:
        network: after an epoch.
        inputs: all times.
        targets: outcomes and which of them are held out.
    """
    log_probabilities = network(inputs).log_probabilities
    if log_probabilities is None or not bool(targets.validation.any()):
        return None
    top = log_probabilities[targets.validation].exp().max(-1)
    correct = top.indices == targets.outcome[targets.validation]
    place = (top.values * BINS).long().clamp(max=BINS - 1)
    gaps = torch.zeros(BINS, device=place.device).index_add(0, place, correct.to(top.values) - top.values)
    return float(gaps.abs().sum() / len(place))


def precision_at_10(network: PaperNetwork, data: TemporalHypergraph) -> float | None:
    """Share of the ten most probable links that are true; None where ``data.influence`` does not say which are.

    Args:
        network: after an epoch.
        data: with links for scoring only.
    """
    if data.influence is None or network.links.shape[1] == 0:
        return None
    count = data.num_nodes
    candidates = network.links[0] * count + network.links[1]
    best = network.log_odds.topk(min(TOP, len(candidates))).indices
    true = data.influence[0] * count + data.influence[1]
    return float(torch.isin(candidates[best], true.to(candidates.device)).float().mean())
