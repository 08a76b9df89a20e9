r"""Two arms of one simulation, with and without an intervention, under the same noise and the same structures.

A sample is one structure with one draw of all noise. Draws are shared by structures and by arms: what differs between
them is effect and not chance. States of R draws move together, one sparse product per structure, step and arm; the
cost is linear in samples x horizon x links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Links, Tensor
from sphunc.causal.action import Action, StateChange
from sphunc.causal.interventions import Policy
from sphunc.causal.mechanism import Company, Mechanism, company, drive, signal_basis
from sphunc.causal.noise import Noise, draw_noise, perturb, row_sums
from sphunc.errors import ArgumentError

BLOCK = 2**18
"""Numbers of a block of agents: what is made of them stays in the cache."""


@dataclass(frozen=True, eq=False)
class Start:
    r"""What is believed at the origin.

    Attributes:
        eta: natural parameter of the belief about every state ``[N, D]``.
        prior: persistent priors u ``[N, D]``.
        memberships: agent and group of every membership (groups counted from 0), or None if no group meets.
    """

    eta: Tensor
    prior: Tensor
    memberships: tuple[Tensor, Tensor] | None


@dataclass(frozen=True, eq=False)
class Design:
    """How much is simulated.

    Attributes:
        links: ``[2, K]`` candidate links.
        strengths: of each structure ``[Q, K]``; 0 where a link is not there.
        draws: R, of the noise; samples are Q x R.
        horizon: steps.
        seed: of the noise.
        sampled: draw states; else carry their means (noise is integrated out step by step, draws are equal).
        reduced: carry only the directions that hold the signal, where they are few; else all D.
    """

    links: Links
    strengths: Float[Tensor, "structure link"]
    draws: int
    horizon: int
    seed: int
    sampled: bool = True
    reduced: bool = True

    @property
    def samples(self) -> int:
        """S."""
        return len(self.strengths) * self.draws


@dataclass(frozen=True, eq=False)
class Moment:
    """Both arms after one step; samples are ordered by structure, then draw.

    Attributes:
        factual: logits (or standardised numbers) without the intervention ``[N, S, C]``.
        changed: the same with it; the same tensor when nothing is changed.
        resultant: squared length of the mean state in the changed arm, without the bias of a finite S ``[N]``.
    """

    factual: Tensor
    changed: Tensor
    resultant: Tensor


@dataclass(frozen=True, eq=False)
class _States:
    """States of one structure in one arm ``[N, R, r]``, and their squared length outside the basis ``[N, R]``."""

    inside: Tensor
    outside: Tensor | None


def simulate(mechanism: Mechanism, start: Start, action: Action, design: Design) -> Iterator[Moment]:
    """Simulate both arms, and give what outcomes are read from after every step.

    With an action that changes nothing there is one arm, and both results are the same tensor.
    """
    world = _World(mechanism, start, action, design)
    arms = [Action()] if action.is_null else [Action(), action]
    first = world.noise(0)
    states = [[world.begin(arm, first)] * len(design.strengths) for arm in arms]
    for step in range(1, design.horizon + 1):
        yield world.advance(step, arms, states)


class _World:
    """Everything that stays the same during a simulation, in coordinates on the basis."""

    def __init__(self, mechanism: Mechanism, start: Start, action: Action, design: Design) -> None:
        self.design, self.agents, self.start = design, len(start.eta), start
        self.dim = mechanism.dim
        mechanism = mechanism.driven()
        self.basis = _basis(mechanism, start, action, design)
        self.mechanism = mechanism if self.basis is None else mechanism.on(self.basis)
        self.eta, self.eta_outside = self._project(start.eta)
        self.prior, prior_outside = self._project(mechanism.prior * start.prior)
        self.prior_outside = prior_outside
        self.rank = self.eta.shape[-1]
        self.companies: dict[tuple[int, tuple[int, ...], bool], Company] = {}

    def _project(self, vectors: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.basis is None:
            return vectors, None
        inside = vectors @ self.basis
        return inside, (vectors.square().sum(-1) - inside.square().sum(-1)).clamp(min=0)

    def noise(self, step: int) -> Noise:
        return draw_noise(self.agents, range(self.design.draws), self.rank, self.dim, seed=self.design.seed, step=step)

    def begin(self, action: Action, noise: Noise) -> _States:
        """Draw states from the belief at the origin."""
        R, hidden = self.design.draws, self.eta_outside
        eta = self.eta.unsqueeze(1).expand(-1, R, -1)
        length = self.start.eta.norm(dim=-1).unsqueeze(1).expand(-1, R)
        states = self.settle(eta, length, None if hidden is None else hidden.unsqueeze(1).expand(-1, R), noise)
        self.intervene(action, 0, states, noise, None)
        return _States(states, None if self.basis is None else self.beyond(states))

    def settle(self, eta: Tensor, length: Tensor, hidden: Tensor | None, noise: Noise) -> Tensor:
        """Draw states from their law, or take its mean."""
        if not self.design.sampled:
            return eta * self.mechanism.mean_length(length).unsqueeze(-1)
        if not self.mechanism.spherical:
            return eta * self.mechanism.flat + noise.across * self.mechanism.flat**0.5
        return perturb(eta, length, hidden, length, noise, self.dim)

    def advance(self, step: int, arms: list[Action], states: list[list[_States]]) -> Moment:
        """Move all samples one step; returns what is read."""
        R, S, noise = self.design.draws, self.design.samples, self.noise(step)
        shape = (self.agents, S, len(self.mechanism.bias))
        read = [torch.empty(shape) for _ in arms]
        mean, square = torch.zeros(self.agents, self.rank), torch.zeros(self.agents)
        for q in range(len(self.design.strengths)):
            for a, action in enumerate(arms):
                view = read[a][:, q * R : (q + 1) * R]
                states[a][q] = self.move(action, q, step, states[a][q], noise, view)
            last = states[-1][q]
            mean += last.inside.sum(1)
            square += self.squares(last)
        resultant = (row_sums(mean.square()) - square) / max(1, S * (S - 1))
        return Moment(read[0], read[-1], resultant.clamp(0.0, 1.0))

    def squares(self, states: _States) -> Tensor:
        """Sum over draws of the squared length inside the basis ``[N]``."""
        if states.outside is not None and self.design.sampled:
            return self.design.draws - states.outside.sum(1)
        return states.inside.square().sum((1, 2))

    def move(self, action: Action, q: int, step: int, states: _States, noise: Noise, logits: Tensor) -> _States:
        """One structure, one arm, one step: returns the new states, and fills in the logits read on the way."""
        around = self.around(action, q, step - 1)
        eta, beyond = drive(self.mechanism, states.inside, states.outside, self.prior, around)
        if beyond is not None and self.prior_outside is not None:
            beyond += self.prior_outside.unsqueeze(1)
        size = max(1, BLOCK // eta[0].numel())
        for first in range(0, self.agents, size):
            rows = slice(first, first + size)
            self.finish(eta[rows], None if beyond is None else beyond[rows], noise.rows(rows), logits[rows])
        moved = _States(eta, beyond)
        changed = self.intervene(action, step, eta, noise, logits)
        if changed and beyond is not None:
            beyond[changed] = self.beyond(eta[changed])
        return moved

    def finish(self, eta: Tensor, beyond: Tensor | None, noise: Noise, logits: Tensor) -> None:
        """Read natural parameters, and put states drawn from them in their place."""
        square = row_sums(eta.square())
        length = (square if beyond is None else square + beyond).sqrt_()
        firm = self.mechanism.firm(length).unsqueeze(-1)
        torch.addcmul(self.mechanism.bias, eta @ self.mechanism.weight.mT, firm, out=logits)
        eta.copy_(self.settle(eta, length, beyond, noise))
        if beyond is not None:
            beyond.copy_(self.beyond(eta))

    def beyond(self, states: Tensor) -> Tensor:
        """Squared length that the basis does not show: unit states have the rest of 1 there, means next to none."""
        if not self.design.sampled:
            return torch.zeros(states.shape[:-1])
        return (1.0 - row_sums(states.square())).clamp_(min=0.0)

    def around(self, action: Action, q: int, step: int) -> Company:
        """Who acts on whom in structure q; kept, because it changes only where links or groups are cut."""
        factors, cut = action.gate_factors(step, self.design.links.shape[1]), action.groups_cut(step)
        key = (q, cut, factors is not None)
        if key not in self.companies or factors is not None:
            gates = self.mechanism.link * self.design.strengths[q]
            gates = gates if factors is None else gates * factors
            self.companies[key] = company(self.design.links, gates, self.start.memberships, self.agents, cut=cut)
        return self.companies[key]

    def intervene(self, action: Action, step: int, states: Tensor, noise: Noise, logits: Tensor | None) -> list[int]:
        """Put interventions in place of what the mechanism gave, in the states and in what is read; returns whose."""
        whose = []
        for change in action.states:
            if not change.source.acts_at(step):
                continue
            whose.append(change.agent)
            before = states[change.agent].clone()
            states[change.agent] = self.changed(change, before, noise)
            if logits is not None:
                self.reread(change, before, states[change.agent], logits)
        for policy in action.policies:
            if policy.acts_at(step):
                self.ask(policy, action, step, states, logits)
        return whose

    def changed(self, change: StateChange, before: Tensor, noise: Noise) -> Tensor:
        target = change.direction if self.basis is None else change.direction @ self.basis
        if change.kind == "do":
            return target.expand_as(before)
        if change.kind == "shift":
            return turn(before, target, change.amount)
        eta = (change.amount * target).expand(1, *before.shape)
        return self.settle(
            eta, torch.full(eta.shape[:-1], change.amount), None, noise.rows(slice(change.agent, change.agent + 1))
        )[0]

    def reread(self, change: StateChange, before: Tensor, after: Tensor, logits: Tensor) -> None:
        """A set state is known, and read as such; a drawn or turned one moves what was read with it."""
        known = self.mechanism.read(after)
        if change.kind == "shift":
            known = logits[change.agent] + known - self.mechanism.read(before)
        logits[change.agent] = known

    def ask(self, policy: Policy, action: Action, step: int, states: Tensor, logits: Tensor | None) -> None:
        decided = policy.function(step, states.transpose(0, 1).clone())
        for agent, value in decided.items():
            if agent not in action.agents:
                raise ArgumentError(f"the policy set agent {agent!r}, which is not in the data")
            i = action.agents.index(agent)
            states[i] = torch.nn.functional.normalize(torch.as_tensor(value, dtype=states.dtype), dim=-1)
            if logits is not None:
                logits[i] = self.mechanism.read(states[i])


def turn(
    states: Float[Tensor, "draw rank"], target: Float[Tensor, " rank"], angle: float
) -> Float[Tensor, "draw rank"]:
    """Unit states (by their coordinates on a basis that holds ``target``), turned towards it by ``angle`` at most."""
    cosine = (states @ target).clamp(-1.0, 1.0).unsqueeze(-1)
    sine = (1.0 - cosine.square()).sqrt()
    way = torch.atan2(sine, cosine)
    by = torch.minimum(way, torch.full_like(way, angle))
    # At the target itself, and opposite to it, there is no one direction to turn in: the state stays.
    tangent = torch.where(sine > 1e-6, (target - cosine * states) / sine.clamp(min=1e-6), 0.0)
    return torch.cos(by) * states + torch.sin(by) * tangent


def _basis(mechanism: Mechanism, start: Start, action: Action, design: Design) -> Tensor | None:
    if not design.reduced or action.policies or not mechanism.spherical:
        return None
    directions = [change.direction for change in action.states]
    exact = torch.cat([mechanism.weight, torch.stack(directions)]) if directions else mechanism.weight
    length = start.eta.norm(dim=-1, keepdim=True)
    mean = start.eta * mechanism.mean_length(length)
    sent = mean @ mechanism.mapping.mT
    return signal_basis(mechanism.dim, exact, [mean, start.prior, sent])
