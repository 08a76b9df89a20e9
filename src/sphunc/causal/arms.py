"""Both arms of a simulation, read and compared: laws of outcomes, effects and entropies after one step."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.design import Moment
from sphunc.causal.outcome_entropy import (
    LEAST_VARIANCE,
    Entropies,
    class_entropies,
    number_entropies,
    variance_of_mean,
)
from sphunc.causal.reading import Anchor, ClassReading, NumberReading, anchored, put_columns, weighted

BLOCK = 800_000
"""Numbers of a block of agents: what is read of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcomes after one step; rows are agents.

    Attributes:
        outcome: law after the intervention: probabilities ``[N, C]``, or means ``[N, K]``.
        factual: the same without it.
        error: Monte Carlo standard error of their difference; NaN with a single draw.
        variance: of numbers ``[N, K]``; empty for classes.
        total: entropy ``[N]``, with its parts ``within`` and ``identification``, and its ``entropy_error``.
        samples: law of every sample after the intervention ``[N, S, C or K]``; empty unless asked for.
        log_weights: class weights that anchored the samples ``[N, C]``; empty for numbers.
        inverse: of the curvature that they were found with ``[N, C, C]``; empty for numbers.
    """

    outcome: Tensor
    factual: Tensor
    error: Tensor
    variance: Tensor
    total: Tensor
    within: Tensor
    identification: Tensor
    entropy_error: Tensor
    samples: Tensor
    log_weights: Tensor
    inverse: Tensor


def compare(
    moment: Moment,
    reading: ClassReading | NumberReading,
    draws: int,
    *,
    start: Comparison | None = None,
    keep_samples: bool = False,
) -> Comparison:
    """Read both arms and compare them, a block of agents at a time.

    Args:
        moment: both arms after a step.
        reading: how outcomes are read then, for all agents.
        draws: R; samples are ordered by structure, then draw.
        start: comparison of the step before, which saves iterations.
        keep_samples: also return the law of every sample.
    """
    agents, samples, outputs = moment.factual.shape
    size = max(1, BLOCK // max(1, samples * outputs))
    rooms = torch.empty(2, size * samples * outputs)
    parts = []
    for first in range(0, agents, size):
        block = slice(first, min(first + size, agents))
        rows, arms = _arms(moment, block)
        part = reading.rows(block)
        if isinstance(part, ClassReading):
            warm = None if start is None else Anchor(start.log_weights, start.inverse).rows(block)
            parts.append(_classes(arms, rows, part, draws, warm, keep_samples, rooms))
        else:
            parts.append(_numbers(arms, rows, part, draws, keep_samples))
    names = [f.name for f in fields(Comparison)]
    return Comparison(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


def _arms(moment: Moment, block: slice) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Agents of a block that were reached, counted from its first, and the logits of all and of those."""
    factual = moment.factual[block]
    if moment.rows is None:
        return torch.arange(len(factual)), (factual, moment.reached[block])
    low, high = torch.searchsorted(moment.rows, torch.tensor([block.start, block.stop])).tolist()
    return moment.rows[low:high] - block.start, (factual, moment.reached[low:high])


def _classes(
    arms: tuple[Tensor, Tensor],
    rows: Tensor,
    reading: ClassReading,
    draws: int,
    start: Anchor | None,
    keep: bool,
    rooms: Tensor,
) -> Comparison:
    factual, reached = (logits.permute(2, 1, 0) for logits in arms)
    q, tie = anchored(reading.odds(factual, rooms[0]), reading.target, start)
    C, samples, agents = q.shape
    split = q.view(C, samples // draws, draws, agents)
    at_draw = split.mean(1)
    target = reading.target.mT.contiguous()
    if len(rows):
        after = reading.rows(rows).odds(reached, rooms[1])
        put_columns(q, rows, weighted(after, tie.log_weights[rows]))
    by_draw = (split.mean(1) - at_draw).permute(2, 1, 0) if len(rows) else torch.zeros(agents, draws, C)
    outcome = _law(reading.target + by_draw.mean(1))
    shifted = (
        _law((q + (target - at_draw.mean(1)).unsqueeze(1)).permute(2, 1, 0)) if keep else torch.empty(agents, 0, C)
    )
    change = split.sub_(at_draw.unsqueeze(1))
    own = change.mean(2)
    spread = variance_of_mean(change, 2).permute(2, 1, 0)
    by_structure = _law((target.unsqueeze(1) + own).permute(2, 1, 0))
    entropies = class_entropies(outcome, by_draw, by_structure, spread)
    return _comparison(outcome, reading.target, by_draw, outcome[:, :0], entropies, shifted, tie)


def _numbers(arms: tuple[Tensor, Tensor], rows: Tensor, reading: NumberReading, draws: int, keep: bool) -> Comparison:
    before = reading.means(arms[0].contiguous())
    after = before.index_copy(0, rows, reading.means(arms[1].contiguous())) if len(rows) else before
    agents, samples, K = before.shape
    shape = (agents, samples // draws, draws, K)
    by_draw = (after - before).view(shape).mean(1)
    outcome = reading.target + by_draw.mean(1)
    spread_before, spread_after = before.var(1, correction=0), after.var(1, correction=0)
    noise = torch.maximum(reading.variance - spread_before, LEAST_VARIANCE * reading.variance)
    variance = torch.maximum(reading.variance + (spread_after - spread_before), noise)
    shifted = after + (reading.target - before.mean(1)).unsqueeze(1)
    entropies = number_entropies(shifted.view(shape), noise, variance)
    samples_kept = shifted if keep else shifted[:, :0]
    untied = Anchor(outcome[:, :0], outcome[:, :0, None])
    return _comparison(outcome, reading.target, by_draw, variance, entropies, samples_kept, untied)


def _comparison(
    outcome: Tensor,
    factual: Tensor,
    by_draw: Tensor,
    variance: Tensor,
    entropies: Entropies,
    samples: Tensor,
    tie: Anchor,
) -> Comparison:
    R = by_draw.shape[1]
    error = variance_of_mean(by_draw, 1).sqrt() if R > 1 else torch.full_like(outcome, torch.nan)
    parts = entropies.total, entropies.within, entropies.identification, entropies.error
    return Comparison(outcome, factual, error, variance, *parts, samples, tie.log_weights, tie.inverse)


def _law(p: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch class"]:
    """Back onto the simplex, which rounding and the leftover of the anchor may leave by a hair; else untouched."""
    below = p.amin(-1, keepdim=True) < 0
    if not bool(below.any()):
        return p
    positive = p.clamp(min=0.0)
    return torch.where(below, positive / positive.sum(-1, keepdim=True), p)
