"""Counterfactuals of a fitted model: noise abducted from what was seen, replayed under an intervention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc.causal.action import Action
from sphunc.causal.arms import Comparison
from sphunc.causal.counterfactual import COUPLING, abduct, act, coupled_outcomes, force, replay
from sphunc.causal.design import Layout
from sphunc.causal.interventions import Plan, Policy, Stochastic
from sphunc.causal.mechanism import company
from sphunc.causal.monte_carlo import estimated_variance, variance_of_mean
from sphunc.causal.noise import draw_noise, perturb
from sphunc.causal.outcome_entropy import (
    Entropies,
    class_entropies,
    latent_bound,
    number_entropies,
    spread_of_mean,
    told,
)
from sphunc.causal.reading import ClassReading, NumberReading
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.config import SphUncConfig
from sphunc.model.query import Query
from sphunc.model.situation import Situation


@dataclass(frozen=True, eq=False)
class Retrospect:
    """What would have been, step by step.

    Attributes:
        comparisons: one per step.
        bounds: of the entropy of states, one ``[N]`` per step.
        observed: True where the factual outcome was seen ``[H, N]``.
        coupling: what was held fixed.
    """

    comparisons: list[Comparison]
    bounds: list[Tensor]
    observed: Tensor
    coupling: str = COUPLING


def check_retrospect(plan: Plan, config: SphUncConfig) -> None:
    """Refuse interventions and geometries for which there is no noise to abduct."""
    for one in plan:
        if isinstance(one, Policy | Stochastic):
            raise ArgumentError(f"a counterfactual under {type(one).__name__} is not defined; use Do, Shift or a cut")
    if config.geometry != "sphere":
        raise ArgumentError("counterfactuals need states on the sphere; this model has geometry='euclidean'")


def retrospect(situation: Situation, action: Action, query: Query, seen: TemporalHypergraph) -> Retrospect:
    """Abduct, act and predict for every structure, all draws of the noise together."""
    paths = [_path(situation, action, query, q) for q in range(len(query.scenario.strengths))]
    comparisons, bounds, observed = [], [], []
    for step in range(query.amounts.horizon):
        before = torch.cat([path[step][0] for path in paths], 1)
        after = torch.cat([path[step][1] for path in paths], 1)
        outcome, mask = _seen_outcome(situation, seen, query.amounts.origin + step + 1)
        comparisons.append(_compare(situation.readings[step], before, after, outcome, mask, query))
        mean = torch.stack([path[step][2] for path in paths]).sum(0)
        S = before.shape[1]
        resultant = (mean.square().sum(-1) - S) / max(1, S * (S - 1))
        bounds.append(latent_bound(resultant.clamp(0.0, 1.0), situation.mechanism.dim))
        observed.append(mask)
    return Retrospect(comparisons, bounds, torch.stack(observed))


def _path(situation: Situation, action: Action, query: Query, q: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Logits of both arms, and the sum of counterfactual states, at every step of one structure."""
    mechanism, start, R = situation.mechanism, situation.start, query.draws
    seed, origin, agents = query.amounts.seed, query.amounts.origin, len(start.eta)

    def drawn(eta: Tensor, step: int) -> Tensor:
        noise = draw_noise(agents, query.layout.draws_of(q), mechanism.dim, mechanism.dim, seed=seed, step=step)
        length = eta.norm(dim=-1)
        return perturb(eta, length, None, length, noise, mechanism.dim)

    factual = drawn(start.eta.unsqueeze(1).expand(-1, R, -1), 0)
    other, path = act(action, 0, factual), []
    gates = mechanism.link * query.scenario.strengths[q]
    plain = company(query.scenario.links, gates, start.memberships, agents)
    for step in range(1, query.amounts.horizon + 1):
        factors = action.gate_factors(step - 1, len(gates))
        changed = gates if factors is None else gates * factors
        cut = action.groups_cut(step - 1)
        around = plain
        if factors is not None or cut:
            around = company(query.scenario.links, changed, start.memberships, agents, cut=cut)
        eta, eta_other = (force(mechanism, h, start.prior, c) for h, c in ((factual, plain), (other, around)))
        told = situation.evidence[origin + step].unsqueeze(1) if origin + step < len(situation.evidence) else 0.0
        factual = drawn(eta + told, step)
        same = (eta == eta_other).all(-1, keepdim=True)
        replayed = torch.where(same, factual, replay(abduct(factual, eta), eta_other))
        other = act(action, step, replayed)
        logits = mechanism.read_belief(eta), mechanism.read_belief(eta_other)
        for change in action.states:
            if change.source.acts_at(step):
                now, was = mechanism.read(other[change.agent]), mechanism.read(replayed[change.agent])
                logits[1][change.agent] = now if change.kind == "do" else logits[1][change.agent] + now - was
        path.append((*logits, other.sum(1)))
    return path


def _seen_outcome(situation: Situation, seen: TemporalHypergraph, time: int) -> tuple[Tensor, Tensor]:
    if seen.y is None or time >= seen.num_times:
        classes = bool(situation.names.classes)
        shape = (seen.num_nodes,) if classes else (seen.num_nodes, len(situation.mechanism.bias))
        empty = torch.zeros(shape, dtype=torch.long if classes else torch.float32)
        return empty, torch.zeros(seen.num_nodes, dtype=torch.bool)
    return seen.y[time].cpu(), seen.y_mask[time].cpu()


def _compare(
    reading: ClassReading | NumberReading, before: Tensor, after: Tensor, outcome: Tensor, mask: Tensor, query: Query
) -> Comparison:
    layout, order = query.layout, query.scenario.order
    scale: float | Tensor = 1.0
    if isinstance(reading, ClassReading):
        laws = reading.probabilities(before), reading.probabilities(after)
        factual, other = coupled_outcomes(*laws, outcome, mask)
        mean, variance = other.mean(1), other[:, 0, :0]
        entropies = _entropies(other, mean, layout, order)
    else:
        scale = reading.scale
        factual, other, spread = _numbers(reading, before, after, outcome, mask)
        noise = torch.where(mask.unsqueeze(-1), 0.05 * reading.variance, reading.variance)
        entropies = number_entropies(reading.standard(other), noise, torch.maximum(spread, noise), layout, scale)
        mean, variance = other.mean(1), reading.variances(spread)
    error = scale * variance_of_mean(((other - factual) / scale).permute(2, 1, 0), layout, order).mT.sqrt()
    parts = entropies.total, entropies.within, entropies.identification, entropies.error
    return Comparison(mean, factual.mean(1), error, variance, *parts, other, mean[:, :0], mean[:, :0, None])


def _entropies(laws: Tensor, mean: Tensor, layout: Layout, order: Tensor | None) -> Entropies:
    by_class = laws.permute(2, 1, 0)
    split = laws.unflatten(1, (-1, layout.draws))
    error = variance_of_mean(told(by_class, mean), layout, order).sqrt()
    variance = estimated_variance(by_class, layout, order).mT
    return class_entropies(mean, variance, split.mean(2), spread_of_mean(split, 2), error)


def _numbers(
    reading: NumberReading, before: Tensor, after: Tensor, outcome: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Additive noise: a number that was seen moves by as much as its mean does. Also the variance, standardised."""
    was, now = reading.means(before), reading.means(after)
    seen, there = outcome.unsqueeze(1).expand_as(was), mask[:, None, None]
    factual = torch.where(there, seen, was)
    other = torch.where(there, seen + (now - was), now)
    unsure = torch.where(mask.unsqueeze(-1), torch.zeros_like(reading.variance), reading.variance)
    return factual, other, unsure + reading.standard(other).var(1, correction=0)
