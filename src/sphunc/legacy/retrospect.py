"""Counterfactuals of a fitted model: noise abducted from what was seen, replayed under an intervention."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.causal.abducted import Trace, compare_abducted
from sphunc.causal.action import Action
from sphunc.causal.arms import Comparison
from sphunc.causal.counterfactual import COUPLING, abduct, act, carry, force, log_evidence, replay
from sphunc.causal.interventions import Plan, Policy, Stochastic
from sphunc.causal.mechanism import Company, Mechanism, company
from sphunc.causal.noise import draw_noise, perturb
from sphunc.causal.outcome_entropy import latent_bound
from sphunc.causal.weighting import RunningMean
from sphunc.errors import ArgumentError
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.hindsight import Hindsight
from sphunc.legacy.query import Query
from sphunc.legacy.situation import Situation


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


def retrospect(situation: Situation, action: Action, query: Query, hindsight: Hindsight) -> Retrospect:
    """Abduct, act and predict, one structure after another; then weigh and compare all samples of a step."""
    mechanism, layout, H = situation.mechanism, query.layout, query.amounts.horizon
    agents, S = len(situation.start.eta), layout.samples
    traces = [_empty(agents, S, len(mechanism.bias)) for _ in range(H)]
    means = [RunningMean(agents, mechanism.dim) for _ in range(H)]
    for q in range(len(query.scenario.strengths)):
        _Path(situation, action, query, hindsight, q).follow(traces, means)
    comparisons: list[Comparison] = []
    beside, cut = hindsight.beside, partial(hindsight.meetings.cut, action)
    for trace, reading, sight in zip(traces, hindsight.readings, hindsight.sights, strict=True):
        offsets = None if beside is None else beside.offsets(comparisons, cut)
        trace = trace if offsets is None else trace.with_offsets(offsets)
        comparisons.append(compare_abducted(trace, reading, sight, layout, query.scenario.order))
    bounds = [latent_bound(mean.resultant, mechanism.dim) for mean in means]
    return Retrospect(comparisons, bounds, torch.stack([sight.is_told for sight in hindsight.sights]))


def _empty(agents: int, samples: int, outputs: int) -> Trace:
    plain, before, after = torch.empty(3, agents, samples, outputs)
    past, shown = torch.empty(2, agents, samples)
    return Trace(plain, before, after, past, shown)


class _Path:
    """One structure with all its draws of the noise, from the origin to the target."""

    def __init__(self, situation: Situation, action: Action, query: Query, hindsight: Hindsight, q: int) -> None:
        self.mechanism: Mechanism = situation.mechanism
        self.start, self.action, self.hindsight = situation.start, action, hindsight
        self.links, self.gates = query.scenario.links, situation.mechanism.link * query.scenario.strengths[q]
        self.agents, self.draws, self.seed = len(situation.start.eta), query.layout.draws_of(q), query.amounts.seed
        self.part = slice(q * query.draws, (q + 1) * query.draws)

    def follow(self, traces: list[Trace], means: list[RunningMean]) -> None:
        """Fill in this structure's samples of every step, and count its states of the other arm."""
        factual = self.draw(self.start.eta.unsqueeze(1).expand(-1, len(self.draws), -1), 0)
        other, past = act(self.action, 0, factual), torch.zeros(factual.shape[:2])
        for step, (trace, mean) in enumerate(zip(traces, means, strict=True), start=1):
            plain, around = self.company(Action(), step - 1), self.company(self.action, step - 1)
            prior = self.hindsight.priors[step - 1]
            eta = force(self.mechanism, factual, prior, plain)
            eta_other = force(self.mechanism, other, prior, around)
            told = eta + self.hindsight.evidence[step - 1].unsqueeze(1)
            factual = self.draw(told, step)
            same = (eta == eta_other).all(-1, keepdim=True)
            replayed = torch.where(same, factual, replay(abduct(factual, eta), eta_other))
            other = act(self.action, step, replayed)
            self.read(trace, step, (eta, eta_other), (replayed, other))
            trace.past[:, self.part] = past
            past = past + log_evidence(eta, told, self.mechanism.dim)
            mean.add(other, past)

    def draw(self, eta: Tensor, step: int) -> Float[Tensor, "agent draw dim"]:
        """States from vMF(eta)."""
        dim, length = self.mechanism.dim, eta.norm(dim=-1)
        noise = draw_noise(self.agents, self.draws, dim, dim, seed=self.seed, step=step)
        return perturb(eta, length, None, length, noise, dim)

    def company(self, action: Action, step: int) -> Company:
        """Who acts on whom in the transition that begins at ``step``, with the groups that met then."""
        factors = action.gate_factors(step, len(self.gates))
        gates, meetings = self.gates if factors is None else self.gates * factors, self.hindsight.meetings
        return company(self.links, gates, meetings.members[step], self.agents, cut=meetings.cut(action, step))

    def read(self, trace: Trace, step: int, etas: tuple[Tensor, Tensor], states: tuple[Tensor, Tensor]) -> None:
        """Read both arms, without and with what features of this step say, and how likely they were."""
        mechanism, (eta, eta_other) = self.mechanism, etas
        shown = eta + self.hindsight.looks[step - 1].unsqueeze(1)
        after = mechanism.read_belief(carry(mechanism, eta, shown, eta_other))
        for change in self.action.states:
            if change.source.acts_at(step):
                was, now = (mechanism.read(state[change.agent]) for state in states)
                after[change.agent] = now if change.kind == "do" else after[change.agent] + (now - was)
        trace.plain[:, self.part] = mechanism.read_belief(eta)
        trace.before[:, self.part] = mechanism.read_belief(shown)
        trace.after[:, self.part] = after
        trace.shown[:, self.part] = log_evidence(eta, shown, mechanism.dim)
