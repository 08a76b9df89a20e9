r"""Where training begins: how sure states and readout are, how frequent classes and how noisy, before any pass.

Logits z that point the right way may still be far too faint, or far too sure, for the outcomes at hand. With

.. math:: \min_{s, l, v} \; -\sum \log p(y \mid e^s z + r\, l, v) + \tfrac12 \Big(s^2 + \|l - l_0\|^2
          + \tfrac14 (v - v_0)^2\Big)

where r is the length of the state, a network begins at the likeliest scale, lean and noise, which a hundred passes
would hardly reach where outcomes are nearly certain. What a state is worth as a concentration is found likewise, from
the next sight of each agent, and stays: left to training it would still be on its way when training ends, and tell how
many passes there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from scipy.optimize import minimize_scalar
from torch import nn

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.legacy.direct import Direct
from sphunc.legacy.direct_choice import Block, Seen, Start, choose_parts, find_start
from sphunc.nn.concentration import HIGHEST, cap
from sphunc.nn.outcome import Readout
from sphunc.nn.projection import normalise
from sphunc.sphere import log_normalizer

# What was expected decides what outcomes say about states: an opening is found again for the states that it gives.
OPENINGS = 2
# Outcomes of newcomers at which half of their own frequencies is granted, in place of those of everybody.
NEWCOMERS = 10.0
NOISE_DEVIATION = 2.0
# A state of mean length is worth from e^-5 to e times the largest concentration.
LEAST_WORTH, MOST_WORTH = -5.0, 1.0

Law = Callable[[Tensor, Tensor], Tensor]
"""From logits ``[M, C]`` and the raw noise to log probabilities ``[M, C]``."""


@dataclass(frozen=True, eq=False)
class Opening:
    """Factor of the logits, the lean ``[C]`` of known states, and the raw output of the noise head."""

    scale: float
    lean: Tensor
    noise: float


def class_frequencies(
    y: Int[Tensor, "time agent"], later: Bool[Tensor, "time agent"], first: Bool[Tensor, "time agent"], classes: int
) -> tuple[Float[Tensor, " class"], Float[Tensor, " class"]]:
    """How frequent classes are: among ``later`` outcomes, and among the ``first`` of newcomers.

    Of newcomers nothing is known but this.
    """
    count, begun = (
        torch.bincount(y[known], minlength=classes).to(torch.get_default_dtype()) for known in (later, first)
    )
    frequency = (count + 1.0) / (count + 1.0).sum()
    return frequency, (begun + NEWCOMERS * frequency) / (begun.sum() + NEWCOMERS)


@dataclass(frozen=True, eq=False)
class Reading:
    """What is read at the origins of M outcomes, and how.

    Attributes:
        settled: gives the states ``[M, D]`` to read, which hang on what is found here where outcomes are evidence.
        truth: classes that came ``[M]``.
        law: how logits and noise become log probabilities.
        seen: what was plainly seen, by whom and when.
        blocks: what of it may count.
    """

    settled: Callable[[], Tensor]
    truth: Int[Tensor, " row"]
    law: Law
    seen: Seen
    blocks: Sequence[Block]


@torch.no_grad()
def open_readout(readout: Readout, noise: nn.Parameter, direct: Direct, reading: Reading) -> None:
    """Begin with scale, lean and noise, and with what is read beside states, under which outcomes are likeliest.

    Args:
        readout: whose weights point the right way.
        noise: raw output of the noise head.
        direct: what is read beside states.
        reading: outcomes, and what is known at their origins.
    """
    # Without a lean, the offset of the readout is what known states have in common.
    common = readout.lean if readout.leans else readout.bias
    offset = readout.bias.clone() if readout.leans else torch.zeros_like(readout.bias)
    weight, begun = readout.weight.clone(), Opening(1.0, common.clone(), float(noise))
    everything, choice = torch.arange(len(reading.truth), device=weight.device), None
    for _ in range(OPENINGS):
        states = reading.settled()
        length = states.norm(dim=-1) if readout.leans else torch.ones_like(states[:, 0])
        start = opening_of_classes(states @ weight.mT * readout.scale, length, offset, reading, begun)
        choice = choose_parts(start, reading.seen, reading.blocks, len(common)) if choice is None else choice
        found, B = find_start(start, reading.seen.phi, choice, len(common), everything)
        readout.weight.copy_(found[0].exp() * weight)
        common.copy_(found[1:-1])
        noise.copy_(found[-1])
        direct.take(choice, B)


@torch.no_grad()
def open_numbers(
    gap: Float[Tensor, "row output"], direct: Direct, seen: Seen, blocks: Sequence[Block]
) -> Float[Tensor, " output"] | None:
    """Begin with what is read beside states of numbers; return the variances that it leaves, None if nothing counts.

    Args:
        gap: standardised outcomes less what persists of the last ones.
        direct: what is read beside states.
        seen: what was plainly seen, by whom and when.
        blocks: what of it may count.
    """
    if not len(gap):
        return None
    start, outputs = opening_of_numbers(gap), gap.shape[1]
    choice = choose_parts(start, seen, blocks, outputs)
    if not choice.blocks:
        return None
    found, B = find_start(start, seen.phi, choice, outputs, torch.arange(len(gap), device=gap.device))
    direct.take(choice, B)
    return found.exp().to(gap.dtype)


def opening_of_numbers(gap: Float[Tensor, "row output"]) -> Start:
    """Log variances as numbers to find, around what is there before anything is read."""
    wide, least = gap.double(), torch.finfo(gap.dtype).eps
    centre = wide.square().mean(0).clamp(min=least).log()

    def score(free: Tensor, added: Tensor, rows: Tensor) -> Tensor:
        return -0.5 * ((wide[rows] - added).square() * (-free).exp() + free).sum(1)

    return Start(centre, torch.full_like(centre, NOISE_DEVIATION), score)


def opening_of_classes(
    logits: Float[Tensor, "row class"],
    length: Float[Tensor, " row"],
    offset: Float[Tensor, " class"],
    reading: Reading,
    begun: Opening,
) -> Start:
    """Scale, lean and noise as numbers to find; few outcomes leave them near those they begin with.

    Args:
        logits: z, without lean and offset.
        length: r, of the states they were read from.
        offset: of the readout.
        reading: outcomes that came.
        begun: scale, lean and noise to begin with.
    """
    z, r, b, wanted = logits.double(), length.double().unsqueeze(1), offset.double(), reading.truth.unsqueeze(1)
    ends = (
        torch.tensor([value], dtype=torch.float64, device=z.device) for value in (math.log(begun.scale), begun.noise)
    )
    first, last = ends
    centre = torch.cat([first, begun.lean.double(), last])
    spread = torch.ones_like(centre)
    spread[-1] = NOISE_DEVIATION

    def score(free: Tensor, added: Tensor, rows: Tensor) -> Tensor:
        read = free[0].exp() * z[rows] + r[rows] * free[1:-1] + b + added
        return reading.law(read, free[-1]).gather(1, wanted[rows]).squeeze(1)

    return Start(centre, spread, score)


def likeliest_sureness(states: Float[Tensor, "row dim"], sights: Float[Tensor, "row dim"], begun: float) -> float:
    r"""Find the factor from lengths of states to concentrations under which the next sights are likeliest.

    .. math:: \max_s \sum \log C_D(\kappa) + \kappa\, \mu^\top h, \qquad \kappa = s \|\eta\| \text{ inside } [1, 200]

    Args:
        states: :math:`\eta = \|\eta\|\mu`, before the next sight.
        sights: h, the next sight of the same agent.
        begun: what to begin with, returned where no state points anywhere.
    """
    length = states.double().norm(dim=-1)
    if not bool(length.any()):
        return begun
    cosine = (normalise(states.double()) * sights).sum(-1)

    def loss(log_factor: float) -> float:
        kappa = cap(math.exp(log_factor) * length)
        return -float((log_normalizer(kappa, states.shape[-1], validate=False) + kappa * cosine).mean())

    largest = math.log(HIGHEST / float(length.mean()))
    found: Any = minimize_scalar(loss, bounds=(largest + LEAST_WORTH, largest + MOST_WORTH), method="bounded")
    return math.exp(float(found.x))
