"""What a network takes from the training times before its first pass: statistics, projection, readout, sureness."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Links
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.direct_choice import Block, Seen
from sphunc.legacy.evidence import inverse_softplus
from sphunc.legacy.numbers import Numbers, units
from sphunc.legacy.observed import Observed
from sphunc.legacy.opening import Reading, class_frequencies, likeliest_sureness, open_numbers, open_readout
from sphunc.legacy.signal import outcome_directions, signal_projection
from sphunc.legacy.targets import Targets, of_seen
from sphunc.nn.outcome import MIDDLE

INITIAL_READOUT = 4.0
LEAST_MOVE = 1e-6


def learn_scale(network: Any, observed: Observed) -> None:
    """Take statistics, and the initial projection, from the training times."""
    by_signal = network.config.initial_projection == "signal" and observed.num_times > 1
    network.encoder.learn_statistics(observed.x, observed.x_mask, factors=by_signal)
    if network.numbers is not None and bool(observed.y_mask.any()):
        _count_numbers(network, network.numbers, observed)
    if network.numbers is None:
        _count_classes(network, observed)
    if by_signal:
        observed = network.prepare(observed)
        x = network.standard(observed)
        moves = x[observed.present].square().mean(0) > LEAST_MOVE  # one that never changes is no origin
        origin = torch.where(moves, network.encoder.mean / network.encoder.deviation, 0.0)
        network.direct.learn_keeping(x, observed.present)
        weight, bias = signal_projection(x, observed.present, origin, network.config.dim, network.generator)
        network.encoder.weight.copy_(weight)
        network.encoder.bias.copy_(bias)
        _aim_at_outcomes(network, observed)
    if network.config.geometry != "sphere":
        length = network.encoder.encode(network.standard(observed), observed.x_mask).length
        network.reach.copy_(torch.where(length.any(), length.mean(), 1.0))


def _count_numbers(network: Any, numbers: Numbers, observed: Observed) -> None:
    centre, scale = units(observed.y[observed.y_mask])
    network.centre.copy_(centre)
    network.scale.copy_(scale)
    z, past = network.standard_outcome(observed), network.past(observed)
    assert past is not None
    left = numbers.learn(z, past, observed.y_mask, network.config.horizon)
    if left is not None:
        network.aleatoric.out_bias.fill_(inverse_softplus(left))


def can_lean(config: SphUncConfig, numeric: bool) -> bool:
    """Whether the readout leans by the length of states: of classes, on the sphere, where it begins at the signal."""
    return not numeric and config.geometry == "sphere" and config.initial_projection == "signal"


def _count_classes(network: Any, observed: Observed) -> None:
    """Begin with classes as frequent as they are: hundreds of passes would be needed to learn what is rare."""
    later = of_seen(observed.y_mask, observed.present, network.config.horizon)
    frequency, among_first = class_frequencies(observed.y, later, observed.y_mask & ~later, len(network.frequency))
    network.frequency.copy_(frequency)
    network.readout.bias.copy_((among_first if network.readout.leans else frequency).log())
    if network.readout.leans:
        network.readout.lean.copy_(frequency.log() - among_first.log())


def _aim_at_outcomes(network: Any, observed: Observed) -> None:
    # Outcomes begin as evidence for the directions that agents with this outcome share, and are read there too.
    y, centre = network.standard_outcome(observed), torch.zeros_like(network.centre)
    direction = outcome_directions(network.latents(observed), y, observed.y_mask, centre)
    network.evidence.outcome_directions.copy_(direction)
    if not network.numeric:  # numbers begin at what persists of them
        network.readout.weight.copy_(INITIAL_READOUT * direction / network.readout.scale)


def open_reading(
    network: Any, observed: Observed, links: Links, gates: Float[Tensor, " link"], targets: Targets
) -> None:
    """Begin with sureness, scale, lean, noise and what is read beside states as outcomes are likeliest."""
    _open_sureness(network, observed, links, gates)
    origin, agent = targets.mask.nonzero().unbind(1)
    blocks = network.direct.blocks() if network.config.direct else []
    seen = Seen(network.plain(observed).inputs()[targets.mask], agent, origin)
    if network.numbers is not None:
        _open_numbers(network, network.numbers, observed, targets, seen, blocks)
    begins_there = network.config.initial_projection == "signal" and bool(network.readout.weight.any())
    if network.numeric or not begins_there:
        return
    x = network.standard(observed)

    def settled() -> Tensor:
        variance = network.noise(x, observed.present)
        filtered = network.believe(observed, x, variance, links, gates, None)[1]
        return network.step.settled(filtered.states[targets.mask])

    def law(logits: Tensor, noise: Tensor) -> Tensor:
        variance = network.counted(nn.functional.softplus(noise).expand(len(logits)))
        return network.class_law(logits, variance, torch.full_like(variance, MIDDLE))  # begins at 1 there

    reading = Reading(settled, targets.outcome[targets.mask], law, seen, blocks)
    open_readout(network.readout, network.aleatoric.out_bias, network.direct, reading)


def _open_numbers(
    network: Any, numbers: Numbers, observed: Observed, targets: Targets, seen: Seen, blocks: list[Block]
) -> None:
    past, z = network.past(observed), (targets.outcome - network.centre) / network.scale
    assert past is not None
    gap = (z - numbers.expected(numbers.remembered(past)))[targets.mask]
    noise = open_numbers(gap, network.direct, seen, blocks)
    if noise is not None:
        network.aleatoric.out_bias.fill_(inverse_softplus(numbers.share_noise(noise)))


def _open_sureness(network: Any, observed: Observed, links: Links, gates: Float[Tensor, " link"]) -> None:
    again = observed.seen_again
    if network.head is None and bool(again.any()):
        x = network.standard(observed)
        encoded, filtered, _ = network.believe(observed, x, network.noise(x, observed.present), links, gates, None)
        states, sights = filtered.ahead[:-1][again], encoded.direction[1:][again]
        network.step.sureness.fill_(likeliest_sureness(states, sights, float(network.step.sureness)))
