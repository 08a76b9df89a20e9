r"""Two arms of one simulation, with and without an intervention, under the same noise and the same structures.

A sample is one structure with one draw of all noise. Draws are shared by arms, and by the structures of a block: what
differs between them is effect and not chance. States of R draws move together, one sparse product per structure and
step; the cost is linear in samples x horizon x links. The changed arm is carried only where it departs from the factual
one: agents whom no intervention has reached yet are the same in both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from sphunc._typing import Tensor
from sphunc.causal.action import Action, StateChange, contradiction, decided_twice, turn
from sphunc.causal.basis import Basis
from sphunc.causal.design import Design, Moment, Start
from sphunc.causal.interventions import UNIT_TOLERANCE, Intervention, Policy
from sphunc.causal.mechanism import Company, Mechanism, company, drive, meet
from sphunc.causal.noise import Noise, draw_noise, mixture, perturb, row_sums
from sphunc.causal.reading import columns, put_columns
from sphunc.errors import ArgumentError

BLOCK = 2**19
"""Numbers of a block of agents: what is made of them stays in the cache."""
FAINT = 1e-4
"""Departures of a unit state that are not followed further: they move no probability by as much as its error."""


@dataclass(frozen=True, eq=False)
class _States:
    """States of one structure ``[N, R, r]``, and their squared length outside the basis ``[N, R]``."""

    inside: Tensor
    outside: Tensor | None


@dataclass(frozen=True, eq=False)
class _Departure:
    """States of the agents that differ in the changed arm: who ``[n]``, coordinates ``[n, R, r]``, rest ``[n, R]``."""

    rows: Tensor
    inside: Tensor
    outside: Tensor | None


def simulate(
    mechanism: Mechanism,
    start: Start,
    action: Action,
    design: Design,
    basis: Basis | None = None,
    *,
    fleeting: bool = False,
) -> Iterator[Moment]:
    """Simulate both arms, and give what outcomes are read from after every step.

    With an action that changes nothing there is one arm, and both results are the same tensor.

    Args:
        mechanism: structural step and readout.
        start: beliefs at the origin.
        action: what is changed.
        design: how much is simulated.
        basis: directions that states are carried on, of :func:`~sphunc.causal.basis.basis_for`; all D by default.
        fleeting: a step takes the memory of the one before, which is to be read by then.
    """
    world = _World(mechanism, start, action, design, basis)
    world.room = torch.empty(len(mechanism.bias), design.samples, world.agents) if fleeting else None
    states: list[_States] = []
    departures: list[_Departure] = []
    for _ in range(design.layout.blocks):
        first = world.noise(0, len(states))
        begun = world.begin(first)
        states += [begun] * design.layout.structures
        departures += [world.depart(begun, first)] * design.layout.structures
    for step in range(1, design.horizon + 1):
        yield world.advance(step, states, departures)


class _World:
    """Everything that stays the same during a simulation, in coordinates on the basis."""

    def __init__(self, mechanism: Mechanism, start: Start, action: Action, design: Design, basis: Basis | None) -> None:
        self.design, self.agents, self.start, self.action = design, len(start.eta), start, action
        self.layout = design.layout
        self.dim = mechanism.dim
        mechanism = mechanism.driven()
        self.basis = None if basis is None else basis.vectors
        self.mechanism = mechanism if self.basis is None else mechanism.on(self.basis)
        self.eta, self.eta_outside = self._project(start.eta)
        self.prior, prior_outside = self._project(mechanism.prior * start.prior)
        self.prior_outside = prior_outside
        self.rank = self.eta.shape[-1]
        self.shared = self.rank if basis is None else basis.shared
        self.room: Tensor | None = None
        self.decided: set[int] = set()
        self.felt = self.nobody()
        self.spare: _States | None = None
        self.blocks: dict[int, list[Company]] = {}
        self.companies: dict[tuple[int, tuple[int, ...], tuple[tuple[int, float], ...]], Company] = {}

    def _project(self, vectors: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.basis is None:
            return vectors, None
        inside = vectors @ self.basis
        return inside, (vectors.square().sum(-1) - inside.square().sum(-1)).clamp(min=0)

    def noise(self, step: int, q: int) -> Noise:
        """Noise of the block that structure q belongs to."""
        draws = self.layout.draws_of(q)
        extra, seed = self.rank - self.shared, self.design.seed
        return draw_noise(self.agents, draws, self.rank, self.dim, seed=seed, step=step, extra=extra)

    def begin(self, noise: Noise) -> _States:
        """Draw states from the belief at the origin."""
        R, hidden = self.design.draws, self.eta_outside
        eta = self.eta.unsqueeze(1).expand(-1, R, -1)
        length = self.start.eta.norm(dim=-1).unsqueeze(1).expand(-1, R)
        states = self.settle(eta, length, None if hidden is None else hidden.unsqueeze(1).expand(-1, R), noise)
        return _States(states, None if self.basis is None else self.beyond(states))

    def depart(self, states: _States, noise: Noise) -> _Departure:
        """Put the interventions of the origin in place."""
        return self.intervened(0, self.reached(0, self.nobody()), states, states, noise, None)[0]

    def nobody(self) -> Tensor:
        return torch.zeros(self.agents, dtype=torch.bool)

    def settle(self, eta: Tensor, length: Tensor, hidden: Tensor | None, noise: Noise) -> Tensor:
        """Draw states from their law, or take its mean."""
        if not self.design.sampled:
            return eta * self.mechanism.mean_length(length).unsqueeze(-1)
        if not self.mechanism.spherical:
            return eta * self.mechanism.flat + noise.across * self.mechanism.flat**0.5
        return perturb(eta, length, hidden, length, noise, self.dim)

    def advance(self, step: int, states: list[_States], departures: list[_Departure]) -> Moment:
        """Move all samples one step; returns what is read."""
        S, noise = self.design.samples, self.noise(step, 0)
        self.felt = self.nobody()
        acted = [self.acted_on(q, step, gone.rows) for q, gone in enumerate(departures)]
        reached = [self.reached(step, one.clone()) for one in acted]
        rows = torch.unique(torch.cat(reached))
        shape = len(self.mechanism.bias), S
        read = torch.empty(*shape, self.agents) if self.room is None else self.room
        other = torch.empty(*shape, len(rows))
        total, squares = torch.zeros_like(states[0].inside), torch.zeros(self.agents, self.design.draws)
        mean, square = torch.zeros(self.agents, self.rank), torch.zeros(self.agents)
        for q, whom in enumerate(reached):
            part = slice(q * self.design.draws, (q + 1) * self.design.draws)
            before, gone = states[q], departures[q]
            noise = noise if q == 0 or not self.layout.is_last(q - 1) else self.noise(step, q)
            states[q] = self.move(before, q, step, noise, read[:, part])
            total += states[q].inside
            squares += self.squares(states[q])
            if len(rows):
                other[:, part] = columns(read[:, part], rows)
                view = other[:, part], torch.searchsorted(rows, whom), acted[q]
                departures[q] = self.diverge(step, q, (before, gone, states[q]), whom, noise, view)
                self.collect(states[q], departures[q], mean, square)
            # The states of the origin are those of every structure of a block.
            self.spare = before if step > 1 or self.layout.is_last(q) else None
        mean += total.sum(1)
        square += squares.sum(1)
        resultant = (row_sums(mean.square()) - square) / max(1, S * (S - 1))
        kept = self.felt[rows]
        arms = read.permute(2, 1, 0), (other if bool(kept.all()) else other[:, :, kept]).permute(2, 1, 0)
        return Moment(*arms, resultant.clamp(0.0, 1.0), rows[kept], tuple(sorted(self.decided)))

    def acted_on(self, q: int, step: int, rows: Tensor) -> Tensor:
        """Agents whose next state may differ: whom those that differ act on, and whom cuts set free."""
        if self.action.is_null:
            return self.nobody()
        acted = self.around(Action(), q, step - 1).reach(rows, self.agents)
        for place, _, source in self.action.factors:
            acted[self.design.links[1, place]] |= source.acts_at(step - 1)
        cut = self.action.groups_cut(step - 1)
        if cut and self.start.memberships is not None:
            agent, group = self.start.memberships
            acted[agent[torch.isin(group, torch.tensor(cut))]] = True
        return acted

    def reached(self, step: int, acted: Tensor) -> Tensor:
        """Indices of agents that may differ at a step: those acted on, and those intervened on; all under a policy."""
        for change in self.action.states:
            acted[change.agent] |= change.source.acts_at(step)
        if self.action.policies:
            acted |= True
        return acted.nonzero().flatten()

    def collect(self, states: _States, gone: _Departure, mean: Tensor, square: Tensor) -> None:
        """Add what states and squared lengths of the changed arm differ by, over draws."""
        old = _States(states.inside[gone.rows], None if states.outside is None else states.outside[gone.rows])
        new = _States(gone.inside, gone.outside)
        mean.index_add_(0, gone.rows, (new.inside - old.inside).sum(1))
        square.index_add_(0, gone.rows, (self.squares(new) - self.squares(old)).sum(1))

    def squares(self, states: _States) -> Tensor:
        """Squared length inside the basis."""
        if states.outside is not None and self.design.sampled:
            return 1.0 - states.outside
        return row_sums(states.inside.square())

    def move(self, states: _States, q: int, step: int, noise: Noise, logits: Tensor) -> _States:
        """One structure, one step of the factual arm: returns new states, and fills in the logits read on the way."""
        around = self.around(Action(), q, step - 1)
        size = max(1, BLOCK // states.inside[0].numel())
        if q not in self.blocks:
            self.blocks[q] = around.blocks(self.agents, size)
        meeting = meet(self.mechanism, states.inside, states.outside, around)
        new = self.spare or _States(torch.empty_like(states.inside), self.empty_outside())
        for place, local in enumerate(self.blocks[q]):
            part = slice(place * size, min((place + 1) * size, self.agents))
            held = states.inside, states.outside, self.prior[part], local, part
            eta, beyond = drive(self.mechanism, *held, meeting=meeting, out=new.inside[part])
            if beyond is not None and self.prior_outside is not None and new.outside is not None:
                beyond = torch.add(beyond, self.prior_outside[part].unsqueeze(1), out=new.outside[part])
            self.finish(eta, beyond, noise.rows(part), logits[:, :, part])
        return new

    def empty_outside(self) -> Tensor | None:
        return None if self.basis is None else torch.empty(self.agents, self.design.draws)

    def diverge(
        self,
        step: int,
        q: int,
        states: tuple[_States, _Departure, _States],
        rows: Tensor,
        noise: Noise,
        read: tuple[Tensor, Tensor, Tensor],
    ) -> _Departure:
        """The changed arm of one structure, one step on, for the agents in ``rows``."""
        before, gone, factual = states
        kept = before.inside[gone.rows], None if before.outside is None else before.outside[gone.rows]
        self.place(before, gone.rows, gone.inside, gone.outside)
        around = self.around(self.action, q, step - 1).only(rows)
        eta, beyond = drive(self.mechanism, before.inside, before.outside, self.prior[rows], around, rows)
        self.place(before, gone.rows, *kept)
        if beyond is not None and self.prior_outside is not None:
            beyond += self.prior_outside[rows].unsqueeze(1)
        logits = torch.empty(len(self.mechanism.bias), *eta.shape[1::-1])
        self.finish(eta, beyond, noise.rows(rows), logits)
        result, whose = self.intervened(step, rows, _States(eta, beyond), factual, noise, logits.permute(2, 1, 0))
        target, places, felt = read
        # A policy is shown everybody; who is neither set nor acted on stays as it was, to the bit.
        kept = felt[rows]
        kept[whose] = True
        self.felt[rows[kept]] = True
        put_columns(target, places[kept], logits[:, :, kept])
        return result

    def place(self, states: _States, rows: Tensor, inside: Tensor, outside: Tensor | None) -> None:
        states.inside[rows] = inside
        if states.outside is not None and outside is not None:
            states.outside[rows] = outside

    def finish(self, eta: Tensor, beyond: Tensor | None, noise: Noise, logits: Tensor) -> None:
        """Read natural parameters, and put states drawn from them in their place."""
        square = row_sums(eta.square())
        length = (square if beyond is None else square + beyond).sqrt()
        firm = self.mechanism.firm(length).mT.contiguous()
        # Class by class, as logits lie in memory: a product that makes short rows takes several times as long.
        product = torch.matmul(self.mechanism.weight, eta.permute(1, 2, 0))
        torch.addcmul(self.mechanism.bias[:, None, None], product.transpose(0, 1), firm, out=logits)
        if self.mechanism.lean is not None:
            logits.addcmul_(self.mechanism.lean[:, None, None], firm.mul_(length.mT))
        if beyond is None or not self.design.sampled or not self.mechanism.spherical:
            eta.copy_(self.settle(eta, length, beyond, noise))
            if beyond is not None:
                beyond.copy_(self.beyond(eta))
            return
        along, across, dot = mixture(eta, length, beyond, length, noise, self.dim)
        eta.mul_(along.unsqueeze(-1)).addcmul_(noise.across, across.unsqueeze(-1))
        inside = along.square() * square + 2.0 * along * across * dot + across.square() * noise.inside
        torch.sub(1.0, inside, out=beyond).clamp_(min=0.0)

    def beyond(self, states: Tensor) -> Tensor:
        """Squared length that the basis does not show: unit states have the rest of 1 there, means next to none."""
        if not self.design.sampled:
            return torch.zeros(states.shape[:-1])
        return (1.0 - row_sums(states.square())).clamp_(min=0.0)

    def around(self, action: Action, q: int, step: int) -> Company:
        """Who acts on whom in structure q; kept, because it changes only where links or groups are cut."""
        factors, cut = action.gate_factors(step, self.design.links.shape[1]), action.groups_cut(step)
        active = tuple((place, factor) for place, factor, source in action.factors if source.acts_at(step))
        key = (q, cut, active)
        if key not in self.companies:
            gates = self.mechanism.link * self.design.strengths[q]
            gates = gates if factors is None else gates * factors
            self.companies[key] = company(self.design.links, gates, self.start.memberships, self.agents, cut=cut)
        return self.companies[key]

    def intervened(
        self, step: int, rows: Tensor, states: _States, factual: _States, noise: Noise, logits: Tensor | None
    ) -> tuple[_Departure, list[int]]:
        """Put interventions in place of what the mechanism gave; returns who departs, and places of those set."""
        at_origin = logits is None
        inside = states.inside[rows] if at_origin else states.inside
        outside = states.outside[rows] if at_origin and states.outside is not None else states.outside
        whose = self.intervene(step, rows, inside, noise, logits)
        if outside is not None and whose:
            outside[whose] = self.beyond(inside[whose])
        gap = (inside - factual.inside[rows]).abs().amax((1, 2)) if len(rows) else torch.zeros(0)
        if outside is not None and factual.outside is not None and len(rows):
            gap = torch.maximum(gap, (outside - factual.outside[rows]).abs().amax(1))
        far = gap > FAINT
        return _Departure(rows[far], inside[far], None if outside is None else outside[far]), whose

    def intervene(self, step: int, rows: Tensor, states: Tensor, noise: Noise, logits: Tensor | None) -> list[int]:
        """Change states and readings of ``rows`` in place; returns the places of those whose state was set."""
        places, taken = [], dict[int, Intervention]()
        for change in self.action.states:
            if not change.source.acts_at(step):
                continue
            taken[change.agent] = change.source
            place = int(torch.searchsorted(rows, change.agent))
            places.append(place)
            before = states[place].clone()
            states[place] = self.changed(change, before, noise)
            if logits is not None:
                self.reread(change, before, states[place], logits[place])
        for policy in self.action.policies:
            if policy.acts_at(step):
                places += self.ask(policy, step, states, logits, taken)
        return places

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
        logits.copy_(logits + known - self.mechanism.read(before) if change.kind == "shift" else known)

    def ask(
        self, policy: Policy, step: int, states: Tensor, logits: Tensor | None, taken: dict[int, Intervention]
    ) -> list[int]:
        """Let a policy decide; only then is it known on whom, and ``taken`` says who is decided on already."""
        whom = []
        decided = policy.function(step, states.transpose(0, 1).clone())
        if not isinstance(decided, Mapping):
            raise ArgumentError(f"the policy returned {decided!r}; return a mapping from agents to states, or {{}}")
        for agent, value in decided.items():
            if agent not in self.action.agents:
                raise ArgumentError(f"the policy set agent {agent!r}, which is not in the data")
            i = self.action.agents.index(agent)
            if i in taken:
                raise contradiction(taken[i], policy, decided_twice(agent))
            taken[i] = policy
            whom.append(i)
            states[i] = _decided(agent, value, states[i])
            if logits is not None:
                logits[i] = self.mechanism.read(states[i])
        self.decided |= set(whom)
        return whom


def _decided(agent: Hashable, value: Any, before: Tensor) -> Tensor:
    try:
        # A policy may have learned what it decides: gradients end here.
        state = torch.as_tensor(value, dtype=before.dtype).detach()
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"the policy set {agent!r} to {value!r}; give a state, a vector of numbers") from None
    if state.shape not in (before.shape, before.shape[-1:]):
        allowed = f"numbers of shape {tuple(before.shape)} or {tuple(before.shape[-1:])}"
        raise ArgumentError(f"the policy set {agent!r} to a state of shape {tuple(state.shape)}; give {allowed}")
    if not bool(state.isfinite().all()):
        raise ArgumentError(f"the policy set {agent!r} to a state with an entry that is not finite; give a unit vector")
    length = state.norm(dim=-1).flatten()
    worst = float(length[(length - 1.0).abs().argmax()])
    if abs(worst - 1.0) > UNIT_TOLERANCE:
        raise ArgumentError(
            f"the policy set {agent!r} to a state of length {worst:.6g}, not 1; divide it by its length"
        )
    return torch.nn.functional.normalize(state, dim=-1)
