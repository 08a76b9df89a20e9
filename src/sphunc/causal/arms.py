"""Both arms of a simulation, read and compared: laws of outcomes, effects and entropies after one step."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.design import Layout, Moment
from sphunc.causal.monte_carlo import estimated_variance, is_agreement_telling, variance_of_mean, where_told
from sphunc.causal.outcome_entropy import (
    LEAST_VARIANCE,
    Entropies,
    class_entropies,
    number_entropies,
    spread_of_mean,
    told,
)
from sphunc.causal.reading import Anchor, ClassReading, NumberReading, anchored, columns, put_columns, weighted

BLOCK = 800_000
"""Numbers of a block of agents: what is read of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcomes after one step; rows are agents.

    Attributes:
        outcome: law after the intervention: probabilities ``[N, C]``, or means ``[N, K]``.
        factual: the same without it.
        error: Monte Carlo standard error of their difference, over structures and draws; NaN where they are too few.
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
    order: Tensor | None = None,
) -> Comparison:
    """Read both arms and compare them, a block of agents at a time.

    Args:
        moment: both arms after a step.
        reading: how outcomes are read then, for all agents.
        draws: R; samples are ordered by structure, then draw, in the blocks of :class:`Layout`.
        start: comparison of the step before, which saves iterations.
        keep_samples: also return the law of every sample.
        order: structures by stratum, for every agent ``[Q, N]``; None if they were not stratified.
    """
    agents, samples, outputs = moment.factual.shape
    size = max(1, BLOCK // max(1, samples * outputs))
    rooms = torch.empty(2, size * samples * outputs)
    parts = []
    for first in range(0, agents, size):
        block = slice(first, min(first + size, agents))
        rows, arms = _arms(moment, block)
        part = reading.rows(block)
        lined = None if order is None else order[:, block]
        if isinstance(part, ClassReading):
            warm = None if start is None else Anchor(start.log_weights, start.inverse).rows(block)
            parts.append(_classes(arms, rows, part, draws, warm, keep_samples, rooms, lined))
        else:
            parts.append(_numbers(arms, rows, part, draws, keep_samples, lined))
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
    order: Tensor | None,
) -> Comparison:
    factual, reached = (logits.permute(2, 1, 0) for logits in arms)
    q, tie = anchored(reading.odds(factual, rooms[0]), reading.target, start)
    C, samples, agents = q.shape
    layout = Layout.of(samples // draws, draws)
    split = q.view(C, *layout.shape, agents)
    at_draw = split.mean(2)
    target = reading.target.mT.contiguous()
    gap = torch.zeros(C, samples, 0)
    if len(rows):
        after = weighted(reading.rows(rows).odds(reached, rooms[1]), tie.log_weights[rows])
        gap = after - columns(q, rows)
        put_columns(q, rows, after)
    outcome = _law(reading.target.index_add(0, rows, gap.mean(1).mT))
    shifted = (
        _law((q + (target - at_draw.mean((1, 2))).unsqueeze(1)).permute(2, 1, 0)) if keep else torch.empty(agents, 0, C)
    )
    change = split.sub_(at_draw.unsqueeze(2))
    own, spread = change.mean(3).flatten(1, 2), spread_of_mean(change, 3).flatten(1, 2)
    by_structure = _law((target.unsqueeze(1) + own).permute(2, 1, 0))
    # Those who were not reached are the same in both arms: what happens to them has no error, if structures are enough.
    how = layout, None if order is None else order[:, rows]
    found, none = estimated_variance(gap, *how), 0.0 if is_agreement_telling(*how) else torch.nan
    variance = torch.zeros(agents, C).index_copy_(0, rows, found.mT)
    error = torch.full((agents, C), none).index_copy_(0, rows, where_told(found, gap, *how).mT.sqrt())
    unsure = torch.full((agents,), none).index_copy_(0, rows, variance_of_mean(told(gap, outcome[rows]), *how).sqrt())
    entropies = class_entropies(outcome, variance, by_structure, spread.permute(2, 1, 0), unsure)
    return _comparison(outcome, reading.target, error, outcome[:, :0], entropies, shifted, tie)


def _numbers(
    arms: tuple[Tensor, Tensor], rows: Tensor, reading: NumberReading, draws: int, keep: bool, order: Tensor | None
) -> Comparison:
    # Standardised to the end: squares of numbers in their own units may be too small, or too large, for floats.
    before, scale = arms[0].contiguous(), reading.scale
    after = before.index_copy(0, rows, arms[1].contiguous()) if len(rows) else before
    layout = Layout.of(before.shape[1] // draws, draws)
    gap = after - before
    outcome = reading.target + scale * gap.mean(1)
    spread_before, spread_after = before.var(1, correction=0), after.var(1, correction=0)
    noise = torch.maximum(reading.variance - spread_before, LEAST_VARIANCE * reading.variance)
    variance = torch.maximum(reading.variance + (spread_after - spread_before), noise)
    shifted = after - before.mean(1, keepdim=True)
    entropies = number_entropies(shifted, noise, variance, layout, scale, order=order)
    samples_kept = reading.target.unsqueeze(1) + scale * shifted if keep else shifted[:, :0]
    untied = Anchor(outcome[:, :0], outcome[:, :0, None])
    error = scale * variance_of_mean(gap.permute(2, 1, 0), layout, order).mT.sqrt()
    return _comparison(outcome, reading.target, error, reading.variances(variance), entropies, samples_kept, untied)


def _comparison(
    outcome: Tensor,
    factual: Tensor,
    error: Tensor,
    variance: Tensor,
    entropies: Entropies,
    samples: Tensor,
    tie: Anchor,
) -> Comparison:
    parts = entropies.total, entropies.within, entropies.identification, entropies.error
    return Comparison(outcome, factual, error, variance, *parts, samples, tie.log_weights, tie.inverse)


def _law(p: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch class"]:
    """Back onto the simplex, which rounding and the leftover of the anchor may leave by a hair; else untouched."""
    below = p.amin(-1, keepdim=True) < 0
    if not bool(below.any()):
        return p
    positive = p.clamp(min=0.0)
    return torch.where(below, positive / positive.sum(-1, keepdim=True), p)
