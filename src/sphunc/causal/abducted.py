r"""Both arms of a counterfactual, weighted by what was seen, read and compared.

Before anything of a step is seen its factual law is the calibrated forecast from the time before: class weights, or for
numbers a shift, make it so (:mod:`sphunc.causal.reading`) and read everything else. What agent i shows then, features
and outcome, weighs its draws s (of structure and noise):

.. math:: w_s \propto \ell_s \, p_s(y), \qquad P(Y' \mid y) = \sum_s w_s P_s(Y' \mid y), \qquad
          \sum_y p(y)\, P(Y' \mid y) = \sum_s w^-_s\, p'_s

with :math:`\ell` the likelihood of its features now and of all it showed before, tempered where it would leave too few
draws (:func:`~sphunc.causal.weighting.tempered`). The last equation says that
counterfactuals of an outcome, averaged over what it may have been, are those of an outcome that was not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.arms import Comparison
from sphunc.causal.beside import Offsets
from sphunc.causal.counterfactual import TINY, coupled_outcomes
from sphunc.causal.design import Layout
from sphunc.causal.monte_carlo import estimated_variance, variance_of_mean, weighted_error
from sphunc.causal.outcome_entropy import LEAST_VARIANCE, Entropies, class_entropies, number_entropies, told
from sphunc.causal.reading import ClassReading, NumberReading, anchored, weighted
from sphunc.causal.weighting import (
    FEWEST_EFFECTIVE,
    by_structure,
    effective_size,
    influence,
    normalised,
    resampled,
    tempered,
    weighted_mean,
    weighted_variance,
)

BLOCK = 800_000
"""Numbers of a block of agents."""


@dataclass(frozen=True, eq=False)
class Trace:
    """All samples of one step; rows are agents.

    Attributes:
        plain: logits, or standardised numbers, of the factual arm before anything of this step is seen ``[N, S, C]``.
        before: the same once its features are.
        after: of the other arm, under the same noise.
        past: log-likelihood of what an agent showed before this step ``[N, S]``.
        shown: of the features that it shows now ``[N, S]``.
    """

    plain: Tensor
    before: Tensor
    after: Tensor
    past: Tensor
    shown: Tensor

    def rows(self, part: slice) -> Trace:
        """Return the samples of some agents."""
        return Trace(*(getattr(self, f.name)[part] for f in fields(self)))

    def with_offsets(self, offsets: Offsets) -> Trace:
        """Add what is read beside states: outcomes were made with that of the factual arm."""
        was, now = (one.unsqueeze(1) for one in offsets)
        return replace(self, plain=self.plain + was, before=self.before + was, after=self.after + now)


@dataclass(frozen=True, eq=False)
class Sight:
    """What was seen at one step.

    Attributes:
        outcome: classes ``[N]`` or numbers ``[N, K]``; anything where there is none.
        is_told: True where an outcome was seen ``[N]``.
        is_shown: True where features were ``[N]``.
    """

    outcome: Tensor
    is_told: Tensor
    is_shown: Tensor

    def rows(self, part: slice) -> Sight:
        """Return what was seen of some agents."""
        return Sight(self.outcome[part], self.is_told[part], self.is_shown[part])


def compare_abducted(
    trace: Trace, reading: ClassReading | NumberReading, sight: Sight, layout: Layout, order: Tensor | None
) -> Comparison:
    """Weigh, read and compare both arms, a block of agents at a time.

    Errors are those of weighted means, with structures and draws as in :mod:`sphunc.causal.monte_carlo`; NaN also where
    the weights leave fewer than four effective samples. ``samples`` are stand-ins of equal weight, agent by agent.

    Args:
        trace: both arms at this step.
        reading: how outcomes are read then, and the forecast from the time before.
        sight: what was seen.
        layout: of the samples.
        order: structures by stratum, for every agent; None if they were not stratified.
    """
    agents, samples, outputs = trace.before.shape
    size = max(1, BLOCK // (samples * outputs))
    parts = []
    for first in range(0, agents, size):
        part = slice(first, first + size)
        how = layout, None if order is None else order[:, part]
        one = reading.rows(part)
        compare = _classes if isinstance(one, ClassReading) else _numbers
        parts.append(compare(trace.rows(part), one, sight.rows(part), *how))  # pyright: ignore[reportArgumentType]
    names = [f.name for f in fields(Comparison)]
    return Comparison(**{name: torch.cat([getattr(part, name) for part in parts]) for name in names})


def _classes(trace: Trace, reading: ClassReading, sight: Sight, layout: Layout, order: Tensor | None) -> Comparison:
    before, after = _laws(trace, reading)
    weights = _weights(trace, before.gather(-1, _wide(sight.outcome, before)).squeeze(-1).clamp(min=TINY).log(), sight)
    was, now = coupled_outcomes(before, after, sight.outcome, sight.is_told)
    factual = torch.where((sight.is_told | sight.is_shown).unsqueeze(-1), weighted_mean(was, weights), reading.target)
    factual = torch.where(sight.is_told.unsqueeze(-1), was[:, 0], factual)
    gap = now - was
    outcome = (factual + weighted_mean(gap, weights)).clamp(0.0, 1.0)
    moved, few = influence(now, weights), effective_size(weights) < FEWEST_EFFECTIVE
    unsure = variance_of_mean(told(moved, outcome), layout, order).sqrt().masked_fill(few, torch.nan)
    each, spread, shares = by_structure(now, weights, layout.draws)
    entropies = class_entropies(outcome, estimated_variance(moved, layout, order).mT, each, spread, unsure, shares)
    error = weighted_error(gap, weights, layout, order)
    return _comparison(outcome, factual, error, outcome[:, :0], entropies, resampled(now, weights))


def _laws(trace: Trace, reading: ClassReading) -> tuple[Tensor, Tensor]:
    """Laws of both arms in every sample, those of the forecast's weights; what Newton leaves is added to both."""
    past = normalised(tempered(trace.past))
    q, tie = anchored(reading.odds(trace.plain.permute(2, 1, 0)), reading.target, weights=past.mT)
    left = reading.target - (q * past.mT).sum(1).mT
    read = (weighted(reading.odds(logits.permute(2, 1, 0)), tie.log_weights) for logits in (trace.before, trace.after))
    before, after = (_law(p.permute(2, 1, 0) + left.unsqueeze(1)) for p in read)
    return before, after


def _law(p: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch class"]:
    positive = p.clamp(min=0.0)
    return positive / positive.sum(-1, keepdim=True)


def _wide(outcome: Tensor, laws: Tensor) -> Tensor:
    return outcome[:, None, None].expand(-1, laws.shape[1], 1)


def _weights(trace: Trace, log_likelihood: Float[Tensor, "agent sample"], sight: Sight) -> Tensor:
    """Weights of the samples by all that was seen of an agent, its outcome now included."""
    told_now = torch.where(sight.is_told.unsqueeze(1), log_likelihood, 0.0)
    return normalised(tempered(trace.past + trace.shown) + told_now)


def _numbers(trace: Trace, reading: NumberReading, sight: Sight, layout: Layout, order: Tensor | None) -> Comparison:
    """Additive noise: a number that was seen moves by as much as its mean does. Standardised to the end."""
    past, there = normalised(tempered(trace.past)), sight.is_told.unsqueeze(-1)
    shift = (reading.target - reading.centre) / reading.scale - weighted_mean(trace.plain, past)
    spread = weighted_variance(trace.plain, past)
    noise = torch.maximum(reading.variance - spread, LEAST_VARIANCE * reading.variance)
    was, now = trace.before + shift.unsqueeze(1), trace.after + shift.unsqueeze(1)
    seen = (sight.outcome - reading.centre) / reading.scale
    distance = (seen.unsqueeze(1) - was).square() / noise.unsqueeze(1)
    weights = _weights(trace, -0.5 * distance.sum(-1), sight)
    gap = trace.after - trace.before
    factual = torch.where(sight.is_shown.unsqueeze(-1), _unit(weighted_mean(was, weights), reading), reading.target)
    factual = torch.where(there, sight.outcome, factual)
    outcome = factual + reading.scale * weighted_mean(gap, weights)
    now = torch.where(there.unsqueeze(1), seen.unsqueeze(1) + gap, now)
    around = weighted_variance(torch.where(there.unsqueeze(1), gap, now), weights)
    variance = torch.where(there, around, torch.maximum(reading.variance + (around - spread), noise))
    noise = torch.where(there, LEAST_VARIANCE * reading.variance, noise)
    entropies = number_entropies(now, noise, torch.maximum(variance, noise), layout, reading.scale, weights, order)
    error = reading.scale * weighted_error(gap, weights, layout, order)
    samples = _unit(resampled(now, weights), reading)
    return _comparison(outcome, factual, error, reading.variances(variance), entropies, samples)


def _unit(standard: Tensor, reading: NumberReading) -> Tensor:
    return reading.centre + reading.scale * standard


def _comparison(
    outcome: Tensor, factual: Tensor, error: Tensor, variance: Tensor, entropies: Entropies, samples: Tensor
) -> Comparison:
    parts = entropies.total, entropies.within, entropies.identification, entropies.error
    return Comparison(outcome, factual, error, variance, *parts, samples, outcome[:, :0], outcome[:, :0, None])
