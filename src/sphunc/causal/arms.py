"""Both arms of a simulation, read and compared: laws of outcomes, effects and entropies after one step."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.outcome_entropy import (
    LEAST_VARIANCE,
    Entropies,
    class_entropies,
    number_entropies,
)
from sphunc.causal.reading import ClassReading, NumberReading, class_weights, weighted
from sphunc.causal.simulate import Moment

BLOCK = 400_000
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


def compare(
    moment: Moment,
    reading: ClassReading | NumberReading,
    draws: int,
    *,
    start: Tensor | None = None,
    keep_samples: bool = False,
) -> Comparison:
    """Read both arms and compare them, a block of agents at a time.

    Args:
        moment: both arms after a step.
        reading: how outcomes are read then, for all agents.
        draws: R; samples are ordered by structure, then draw.
        start: log weights of the step before, which save iterations.
        keep_samples: also return the law of every sample.
    """
    rows, agents = moment.rows, len(moment.factual)
    if rows is None or len(rows) in (0, agents):
        changed = None if rows is not None and not len(rows) else moment.reached
        return _compare(moment.factual, changed, reading, start, draws, keep_samples)
    still = torch.ones(agents, dtype=torch.bool)
    still[rows] = False
    unreached, reached = (
        _compare(
            moment.factual[whom],
            changed,
            reading.rows(whom),
            None if start is None else start[whom],
            draws,
            keep_samples,
        )
        for whom, changed in ((still.nonzero().flatten(), None), (rows, moment.reached))
    )
    return _merged(unreached, reached, still)


def _merged(unreached: Comparison, reached: Comparison, still: Tensor) -> Comparison:
    values = {}
    for f in fields(Comparison):
        one, two = getattr(unreached, f.name), getattr(reached, f.name)
        whole = torch.empty(len(still), *one.shape[1:])
        whole[still], whole[~still] = one, two
        values[f.name] = whole
    return Comparison(**values)


def _compare(
    factual: Tensor,
    changed: Tensor | None,
    reading: ClassReading | NumberReading,
    start: Tensor | None,
    draws: int,
    keep_samples: bool,
) -> Comparison:
    """Compare both arms; None if the changed arm is the factual one."""
    agents, samples, outputs = factual.shape
    size = max(1, BLOCK // max(1, samples * outputs))
    parts = []
    for first in range(0, agents, size):
        rows = slice(first, first + size)
        arms = factual[rows], None if changed is None else changed[rows]
        warm = None if start is None else start[rows]
        if isinstance(reading, ClassReading):
            parts.append(_classes(*arms, reading.rows(rows), draws, warm, keep_samples))
        else:
            parts.append(_numbers(*arms, reading.rows(rows), draws, keep_samples))
    names = [f.name for f in fields(Comparison)]
    return Comparison(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


def _classes(
    factual: Tensor, changed: Tensor | None, reading: ClassReading, draws: int, start: Tensor | None, keep: bool
) -> Comparison:
    p = reading.probabilities(factual)
    log_weights = class_weights(p, reading.target, start)
    before = weighted(p, log_weights)
    after = before if changed is None else weighted(reading.probabilities(changed), log_weights)
    agents, samples, C = p.shape
    shape = (agents, samples // draws, draws, C)
    at_draw = before.view(shape).mean(1)
    change = after.view(shape) - at_draw.unsqueeze(1)
    by_draw = torch.zeros_like(at_draw) if changed is None else change.mean(1)
    outcome = _law(reading.target + by_draw.mean(1))
    own = change.mean(2)
    by_structure = _law(reading.target.unsqueeze(1) + own)
    spread = _variance_of_mean(change, own)
    entropies = class_entropies(outcome, by_draw, by_structure, spread)
    shifted = _law(after + (reading.target - before.mean(1)).unsqueeze(1)) if keep else after[:, :0]
    return _comparison(outcome, reading.target, by_draw, outcome[:, :0], entropies, shifted, log_weights)


def _variance_of_mean(values: Tensor, mean: Tensor) -> Tensor:
    """Over the third axis, which is short: slice by slice, several times faster than torch's ``var``."""
    R = values.shape[2]
    total = torch.zeros_like(mean)
    for d in range(R if R > 1 else 0):
        total += (values[:, :, d] - mean).square()
    return total / max(1, R * (R - 1))


def _numbers(factual: Tensor, changed: Tensor | None, reading: NumberReading, draws: int, keep: bool) -> Comparison:
    before = reading.means(factual)
    after = before if changed is None else reading.means(changed)
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
    return _comparison(outcome, reading.target, by_draw, variance, entropies, samples_kept, outcome[:, :0])


def _comparison(
    outcome: Tensor,
    factual: Tensor,
    by_draw: Tensor,
    variance: Tensor,
    entropies: Entropies,
    samples: Tensor,
    log_weights: Tensor,
) -> Comparison:
    R = by_draw.shape[1]
    error = by_draw.std(1) / R**0.5 if R > 1 else torch.full_like(outcome, torch.nan)
    parts = entropies.total, entropies.within, entropies.identification, entropies.error
    return Comparison(outcome, factual, error, variance, *parts, samples, log_weights)


def _law(p: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch class"]:
    """Back onto the simplex, which rounding and the leftover of the anchor may leave by a hair; else untouched."""
    below = (p < 0).any(-1, keepdim=True)
    positive = p.clamp(min=0.0)
    return torch.where(below, positive / positive.sum(-1, keepdim=True), p)
