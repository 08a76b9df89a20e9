r"""Which parts of what is plainly seen count: those that tell outcomes of others better.

Where training begins is the maximum a posteriori point of a few numbers :math:`\theta` (scale, lean, noise) and of the
rows of B that count,

.. math:: \min_{\theta, B} \; -\sum \log p(y \mid \theta, B^\top \phi)
          + \tfrac12 \sum (\theta - \theta_0)^2 / s^2 + \tfrac12 \sum_b \|B_b\|^2 / d_b^2

A part b counts if it tells the outcomes of agents that it was not found from better, by 0.02 nats each and by 2.5
standard errors over agents; what everybody shares at a time has to tell those of other times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from sphunc._typing import Float, Int
from sphunc.legacy.likeliest import minimise

DEVIATIONS = (0.3, 1.5)
"""Of the entries of B around 0, of which outcomes of others choose one for each part."""
LEAST_GAIN, ERRORS = 0.02, 2.5
"""Of a part: in nats per outcome, and in standard errors over agents (or times); two deviations are tried for it."""
FEWEST_UNITS = 4
"""Agents, or times, below which nothing can be said about others."""
MOST_ROWS, FEW_STEPS, ROUGH = 4000, 40, 1e-5
"""Outcomes that decide, steps of the search there, and the fall of the loss that ends it: more decides the same."""

Score = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From the free numbers ``[Q]``, what is added ``[m, C]`` and the rows it is of ``[m]`` to log likelihoods ``[m]``."""


@dataclass(frozen=True)
class Block:
    """Rows ``start ... stop - 1`` of B that count together or not at all.

    Attributes:
        name: of the part; blocks of one name are judged together.
        start, stop: rows.
        is_shared: whether each input acts on its own output alone, all of them alike: one number.
        by_time: whether it is the same for everybody at a time, so that other times have to judge it.
    """

    name: str
    start: int
    stop: int
    is_shared: bool = False
    by_time: bool = False

    def size(self, outputs: int) -> int:
        """How many numbers it takes."""
        return 1 if self.is_shared else (self.stop - self.start) * outputs

    def matrix(self, free: Tensor, outputs: int) -> Float[Tensor, "input output"]:
        """Its rows of B, from its numbers."""
        if self.is_shared:
            return free * torch.eye(outputs, dtype=free.dtype, device=free.device)
        return free.view(-1, outputs)


@dataclass(frozen=True, eq=False)
class Start:
    """The numbers that are free in any case: where they begin, how far they may go, and what they are worth."""

    centre: Float[Tensor, " free"]
    spread: Float[Tensor, " free"]
    score: Score


@dataclass(frozen=True, eq=False)
class Seen:
    r"""Outcomes to begin with: :math:`\phi` ``[M, P]``, whose they are ``[M]``, and from which origin ``[M]``."""

    phi: Float[Tensor, "row input"]
    agent: Int[Tensor, " row"]
    origin: Int[Tensor, " row"]


@dataclass(frozen=True)
class Choice:
    """Blocks that count, and the deviation of each part around 0."""

    blocks: tuple[Block, ...] = ()
    deviations: dict[str, float] = field(default_factory=dict)

    def joined(self, blocks: Sequence[Block], deviation: float) -> Choice:
        """Return the same with one more part."""
        return Choice((*self.blocks, *blocks), {**self.deviations, blocks[0].name: deviation})


def find_start(
    start: Start,
    phi: Float[Tensor, "row input"],
    choice: Choice,
    outputs: int,
    rows: Int[Tensor, " some"],
    *,
    first: Float[Tensor, " free"] | None = None,
    rough: bool = False,
) -> tuple[Float[Tensor, " free"], Float[Tensor, "input output"]]:
    """Return the likeliest free numbers, and B ``[P, C]`` (0 in rows that do not count), for some rows.

    The search begins with the free numbers ``first``, or with their centre; a ``rough`` one ends early.
    """
    count, mine = len(start.centre), phi[rows].double()
    sizes = [count, *(block.size(outputs) for block in choice.blocks)]
    spread = [start.spread, *(_like(start.spread, choice.deviations[b.name], b.size(outputs)) for b in choice.blocks)]
    centre = torch.cat([start.centre, _like(start.centre, 0.0, sum(sizes) - count)])
    scale = torch.cat(spread)
    begin = centre if first is None else torch.cat([first, centre[count:]])

    def loss(free: Tensor) -> Tensor:
        base, *parts = free.split(sizes)
        added = _added(mine, choice.blocks, parts, outputs)
        return ((free - centre) / scale).square().sum() / 2.0 - start.score(base, added, rows).sum()

    effort = {"steps": FEW_STEPS, "fall": ROUGH} if rough else {}
    base, *parts = minimise(loss, begin, **effort).split(sizes)
    B = torch.zeros(phi.shape[1], outputs, dtype=torch.float64, device=phi.device)
    for block, part in zip(choice.blocks, parts, strict=True):
        B[block.start : block.stop] = block.matrix(part, outputs)
    return base, B


def choose_parts(start: Start, seen: Seen, blocks: Sequence[Block], outputs: int) -> Choice:
    """Take in one part after the other, each if it tells the outcomes of others better than those before it alone."""
    choice, some = Choice(), _evenly(len(seen.phi), seen.phi.device)
    judge = partial(_judged_by_others, start, seen.phi, outputs, some)
    before: dict[bool, tuple[Tensor, list[Tensor]]] = {}
    for name in dict.fromkeys(block.name for block in blocks):
        mine = [block for block in blocks if block.name == name]
        by_time = mine[0].by_time
        unit = _ranks((seen.origin if by_time else seen.agent)[some])
        is_seen = bool(seen.phi[:, mine[0].start : mine[-1].stop].any())
        if not is_seen or int(unit.max()) + 1 < FEWEST_UNITS:
            continue
        if by_time not in before:
            before[by_time] = judge(choice, unit)
        known, begun = before[by_time]
        best, gain = None, torch.zeros_like(known)
        for deviation in DEVIATIONS:
            tried = choice.joined(mine, deviation)
            more = judge(tried, unit, begun)[0] - known
            if not float(more.mean()) > float(gain.mean()):
                break  # more freedom would only fit more of what others do not show
            best, gain = tried, more
        if best is not None and is_certain(gain, unit):
            choice, before = best, {}
    return choice


def is_certain(gain: Float[Tensor, " row"], unit: Int[Tensor, " row"]) -> bool:
    """Whether the mean gain is large, and at least 2.5 times its standard error over units (agents, or times)."""
    return float(gain.mean()) > max(LEAST_GAIN, ERRORS * error_over_units(gain, unit))


def error_over_units(gain: Float[Tensor, " row"], unit: Int[Tensor, " row"]) -> float:
    """Return the standard error of the mean gain, rows of one unit counting as one draw."""
    apart = torch.zeros(int(unit.max()) + 1, dtype=gain.dtype, device=gain.device)
    return float(apart.index_add(0, unit, gain - gain.mean()).square().sum().sqrt()) / len(gain)


def _judged_by_others(
    start: Start,
    phi: Tensor,
    outputs: int,
    some: Tensor,
    choice: Choice,
    unit: Tensor,
    begun: Sequence[Tensor | None] = (None, None),
) -> tuple[Float[Tensor, " row"], list[Tensor]]:
    """Log likelihood of outcomes, each under what the other half of the units found; and what the halves found."""
    scores, found = torch.zeros(len(some), dtype=torch.float64, device=some.device), []
    for half, first in zip((unit % 2 == 0, unit % 2 == 1), begun, strict=True):
        base, B = find_start(start, phi, choice, outputs, some[~half], first=first, rough=True)
        scores[half] = start.score(base, phi[some[half]].double() @ B, some[half])
        found.append(base)
    return scores, found


def _ranks(unit: Int[Tensor, " row"]) -> Int[Tensor, " row"]:
    """Number the units that are there: halves by their own number would be empty where only every other one is."""
    return unit.unique(return_inverse=True)[1]


def _added(phi: Tensor, blocks: Sequence[Block], parts: Sequence[Tensor], outputs: int) -> Tensor:
    added = torch.zeros(len(phi), outputs, dtype=phi.dtype, device=phi.device)
    for block, part in zip(blocks, parts, strict=True):
        inputs = phi[:, block.start : block.stop]
        added = added + (inputs * part if block.is_shared else inputs @ block.matrix(part, outputs))
    return added


def _evenly(rows: int, device: torch.device) -> Int[Tensor, " some"]:
    return torch.linspace(0, rows - 1, min(rows, MOST_ROWS), dtype=torch.float64, device=device).long()


def _like(values: Tensor, value: float, count: int) -> Tensor:
    return torch.full((count,), value, dtype=values.dtype, device=values.device)
