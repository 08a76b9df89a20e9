"""Interventions put on a system: names become indices, contradictions are refused by name.

Nothing is simulated here. The result says step by step what a simulation has to do, as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import torch

from sphunc._checks import did_you_mean, some_names
from sphunc._typing import Float, Int, Links, Tensor
from sphunc.errors import ArgumentError
from sphunc.interventions.values import (
    CutGroup,
    CutLink,
    Do,
    Intervention,
    Policy,
    ScaleLink,
    Shift,
    Stochastic,
)

ReferenceKind = Literal["class", "agent", "time"]
DirectionOf = Callable[[ReferenceKind, int, int], Tensor]
"""Direction ``[K]`` of a class, an agent or a time (an index each), as seen for an agent (index)."""


@dataclass(frozen=True)
class EntityIndex:
    """What a user may name in an intervention.

    Attributes:
        agents: ids, N of them.
        classes: names, empty where outcomes are numbers.
        groups: ids of the groups that meet at the origin; one id several times where a group was
            split into parts.
        times: labels of the times up to the origin.
        dim: K, length of a direction; 0 for a model without states.
        numbers: of numeric outcomes per agent; 0 where outcomes are classes.
        met: when these groups meet, as an error says it.
    """

    agents: tuple[Hashable, ...]
    classes: tuple[str, ...]
    groups: tuple[Hashable, ...]
    times: tuple[object, ...]
    dim: int
    numbers: int = 0
    met: str = "at the origin"


@dataclass(frozen=True, eq=False)
class StateChanges:
    """States that are set, moved or drawn at one step, one row per agent.

    Attributes:
        agents: indices ``[A]``.
        directions: to which, toward which or around which ``[A, K]``.
        amounts: angle of a shift in radians, concentration of a draw; 0 where states are set ``[A]``.
    """

    agents: Int[Tensor, " changed"]
    directions: Float[Tensor, "changed dim"]
    amounts: Float[Tensor, " changed"]

    def __len__(self) -> int:
        """Return how many agents are changed."""
        return len(self.agents)


@dataclass(frozen=True, eq=False)
class StepInterventions:
    """What acts at one step after the origin.

    Attributes:
        holds: states that are set.
        shifts: states that are moved along the geodesic.
        draws: states that are drawn from a von Mises-Fisher distribution.
        outcome_agents: indices of agents whose outcome is held ``[A]``.
        outcomes: at which: indices of classes ``[A]``, or numbers ``[A, M]``.
        link_positions: links that are changed in the transition that begins here ``[L]``.
        link_factors: by which they are multiplied, 0 for a cut ``[L]``.
        groups_cut: positions of the groups that do not meet in that transition ``[G]``.
        policies: functions that decide at this step.
        sources: the intervention that decides the state of an agent (index), for errors.
    """

    holds: StateChanges
    shifts: StateChanges
    draws: StateChanges
    outcome_agents: Int[Tensor, " held"]
    outcomes: Tensor
    link_positions: Int[Tensor, " changed_link"]
    link_factors: Float[Tensor, " changed_link"]
    groups_cut: Int[Tensor, " cut"]
    policies: tuple[Policy, ...]
    sources: Mapping[int, Intervention]

    @property
    def changes_states(self) -> bool:
        """Whether some state is set, moved or drawn."""
        return bool(self.sources) or bool(self.policies)


@dataclass(frozen=True, eq=False)
class ResolvedInterventions:
    """Interventions on a particular system, step by step.

    Attributes:
        steps: what acts at the steps 0 (the origin) to the horizon, H + 1 of them.
        intervened: indices of agents whose state or outcome is set, moved or drawn at any step;
            those that policies set are not known yet.
    """

    steps: tuple[StepInterventions, ...]
    intervened: tuple[int, ...]


def resolve(
    interventions: Sequence[Intervention],
    entities: EntityIndex,
    links: Links,
    direction: DirectionOf,
    horizon: int,
) -> ResolvedInterventions:
    """Check interventions against a system, and translate them.

    Args:
        interventions: single ones.
        entities: what may be named.
        links: candidate links, sources and targets ``[2, J]``.
        direction: gives directions of classes, agents and times in the state space.
        horizon: steps that are simulated, H; interventions at later ones are refused.
    """
    _check_times(interventions, horizon)
    _check_contradictions(interventions, horizon)
    agents: dict[object, int] = {agent: index for index, agent in enumerate(entities.agents)}
    resolver = _Resolver(entities, agents, direction, _link_positions(interventions, links))
    resolved = [resolver.resolve(one) for one in interventions]
    intervened = {one.agent for one in resolved if one.agent is not None}

    # Most plans act alike at every step: what acts alike is made once.
    made: dict[tuple[int, ...], StepInterventions] = {}
    steps: list[StepInterventions] = []
    for step in range(horizon + 1):
        active = tuple(k for k, one in enumerate(resolved) if one.acts_at(step))
        if active not in made:
            made[active] = _assemble([resolved[k] for k in active], entities)
        steps.append(made[active])
    return ResolvedInterventions(tuple(steps), tuple(sorted(intervened)))


@dataclass(frozen=True, eq=False)
class _Resolved:
    """One intervention with indices in place of names; what does not apply is None or empty."""

    source: Intervention
    agent: int | None = None
    direction: Tensor | None = None
    amount: float = 0.0
    outcome: int | tuple[float, ...] | None = None
    link: tuple[int, float] | None = None
    groups: tuple[int, ...] = ()

    def acts_at(self, step: int) -> bool:
        """Say whether it acts; an outcome was observed at the origin, and is not set there."""
        if self.outcome is not None and step == 0:
            return False
        return self.source.acts_at(step)


@dataclass(frozen=True, eq=False)
class _Resolver:
    """Translates interventions one by one."""

    entities: EntityIndex
    agents: Mapping[object, int]
    direction: DirectionOf
    links: Mapping[tuple[int, int], int]

    def resolve(self, one: Intervention) -> _Resolved:
        if isinstance(one, CutLink):
            return _Resolved(one, link=(self.link(one), 0.0))
        if isinstance(one, ScaleLink):
            return _Resolved(one, link=(self.link(one), one.factor))
        if isinstance(one, CutGroup):
            return _Resolved(one, groups=self.group(one.group))
        if isinstance(one, Do):
            agent = self.agent(one.agent)
            if one.sets_outcome:
                return _Resolved(one, agent, outcome=self.outcome(one.outcome))
            return _Resolved(one, agent, self.do_target(one, agent))
        if isinstance(one, Shift):
            agent = self.agent(one.agent)
            return _Resolved(one, agent, self.target("toward", one, agent), one.angle)
        if isinstance(one, Stochastic):
            agent = self.agent(one.agent)
            return _Resolved(one, agent, self.target("mu", one, agent), one.kappa)
        return _Resolved(one)

    def agent(self, agent: object) -> int:
        if agent not in self.agents:
            known = self.entities.agents
            raise ArgumentError(
                f"agent {agent!r} is not in the data; its {len(known)} agents are "
                f"{some_names(known)}{did_you_mean(agent, known)}"
            )
        return self.agents[agent]

    def do_target(self, one: Do, agent: int) -> Tensor:
        if one.observed is not None:
            return self.observed(one.observed, agent)
        if one.direction is not None:
            return self.vector(one.direction)
        return self.named("class", self.class_index("toward", str(one.toward)), agent)

    def target(self, name: str, one: Shift | Stochastic, agent: int) -> Tensor:
        if one.observed is not None:
            return self.observed(one.observed, agent)
        value = getattr(one, name)
        classes = self.entities.classes
        if isinstance(value, tuple) and value not in self.agents:
            return self.vector(value)
        if value in classes:
            return self.named("class", classes.index(value), agent)
        if value in self.agents:
            text = class_that_reads_like(value, self.entities.agents, classes)
            if text is not None:
                raise ArgumentError(
                    f"{name}={value!r} may be the agent {value!r} or the class {text!r}; write the "
                    f"text {name}={text!r} for the class, or observed={value!r} for the agent"
                )
            return self.named("agent", self.agents[value], agent)
        raise self.unknown_target(value)

    def unknown_target(self, value: object) -> ArgumentError:
        agents = some_names(self.entities.agents)
        classes = self.entities.classes
        if not classes:
            return ArgumentError(
                f"{value!r} is no agent ({agents}), and there are no classes, because the outcomes "
                "are numbers; give an agent, or a unit vector"
            )
        hint = did_you_mean(value, [*classes, *self.entities.agents])
        if str(value) in classes:
            hint = f": the class is the text {str(value)!r}"
        return ArgumentError(
            f"{value!r} is neither a class ({some_names(classes)}) nor an agent ({agents}); give "
            f"one of them, or a unit vector{hint}"
        )

    def observed(self, value: object, agent: int) -> Tensor:
        if value in self.agents:
            return self.named("agent", self.agents[value], agent)
        if value in self.entities.times:
            return self.named("time", self.entities.times.index(value), agent)
        raise ArgumentError(
            f"observed={value!r} is neither an agent ({some_names(self.entities.agents)}) nor a "
            f"time up to the origin ({some_names(self.entities.times)})"
        )

    def named(self, kind: ReferenceKind, index: int, agent: int) -> Tensor:
        return self.direction(kind, index, agent)

    def vector(self, value: tuple[float, ...]) -> Tensor:
        dim = self.entities.dim
        if dim == 0:
            raise ArgumentError("this model has no states to set; hold an outcome with Do(agent, outcome=...)")
        if len(value) != dim:
            raise ArgumentError(f"direction has {len(value)} entries, but the model's states have {dim}; give {dim}")
        exact = torch.tensor(value, dtype=torch.float64)
        unit = torch.nn.functional.normalize(exact, dim=0)
        return unit.to(torch.get_default_dtype())

    def class_index(self, argument: str, name: str) -> int:
        classes = self.entities.classes
        if not classes:
            remedy = "use direction or observed"
            if argument == "outcome":
                remedy = "give a number"
            raise ArgumentError(f"{argument}={name!r} names a class, but the outcomes are numbers; {remedy}")
        if name not in classes:
            raise ArgumentError(
                f"class {name!r} is not known; the classes are {some_names(classes)}{did_you_mean(name, classes)}"
            )
        return classes.index(name)

    def outcome(self, value: str | float | tuple[float, ...]) -> int | tuple[float, ...]:
        if isinstance(value, str):
            return self.class_index("outcome", value)
        classes = self.entities.classes
        if classes:
            shown = str(value)
            if not isinstance(value, tuple):
                shown = f"{value:g}"
            hint = ""
            if shown in classes:
                hint = f": the class is the text {shown!r}"
            raise ArgumentError(
                f"outcome={shown} is a number, but the outcomes are classes "
                f"({some_names(classes)}); name one of them{hint}"
            )
        numbers = value
        if not isinstance(numbers, tuple):
            numbers = (numbers,)
        if len(numbers) != self.entities.numbers:
            raise ArgumentError(
                f"outcome has {len(numbers)} numbers, but every agent has {self.entities.numbers}; give as many"
            )
        return numbers

    def group(self, group: object) -> tuple[int, ...]:
        groups = self.entities.groups
        positions = tuple(position for position, name in enumerate(groups) if name == group)
        if not positions:
            distinct = tuple(dict.fromkeys(groups))
            known = some_names(distinct) or "none"
            raise ArgumentError(f"group {group!r} does not meet {self.entities.met}; groups that do: {known}")
        return positions

    def link(self, one: CutLink | ScaleLink) -> int:
        pair = (self.agent(one.source), self.agent(one.target))
        if pair not in self.links:
            raise ArgumentError(
                f"no influence of {one.source!r} on {one.target!r} is considered, so there is "
                "nothing to change; model.influence().to_frame() lists the links"
            )
        return self.links[pair]


def class_that_reads_like(value: object, known: Sequence[object], classes: Sequence[str]) -> str | None:
    """Class whose text reads like a known name that is no text, as 1 and "1"; None without one.

    Args:
        value: what was given.
        known: names of agents or times.
        classes: names of classes.
    """
    if isinstance(value, str) or value not in known:
        return None
    for text in (str(value), str(known[known.index(value)])):
        if text in classes:
            return text
    return None


def _link_positions(interventions: Sequence[Intervention], links: Links) -> dict[tuple[int, int], int]:
    """Position of every link; only made where a link is named, because there may be millions."""
    if not any(isinstance(one, CutLink | ScaleLink) for one in interventions):
        return {}
    return {(source, target): k for k, (source, target) in enumerate(links.T.tolist())}


def _assemble(active: Sequence[_Resolved], entities: EntityIndex) -> StepInterventions:
    """Stack what acts at one step."""
    states = [one for one in active if one.direction is not None]
    outcomes = [one for one in active if one.outcome is not None]
    values = torch.tensor([one.outcome for one in outcomes])
    if entities.classes:
        values = values.long()
    else:
        values = values.reshape(len(outcomes), entities.numbers)
    links = [one.link for one in active if one.link is not None]
    return StepInterventions(
        holds=_state_changes([one for one in states if isinstance(one.source, Do)], entities),
        shifts=_state_changes([one for one in states if isinstance(one.source, Shift)], entities),
        draws=_state_changes([one for one in states if isinstance(one.source, Stochastic)], entities),
        outcome_agents=torch.tensor([one.agent for one in outcomes], dtype=torch.long),
        outcomes=values,
        link_positions=torch.tensor([position for position, _ in links], dtype=torch.long),
        link_factors=torch.tensor([factor for _, factor in links]),
        groups_cut=torch.tensor([group for one in active for group in one.groups], dtype=torch.long),
        policies=tuple(one.source for one in active if isinstance(one.source, Policy)),
        sources={one.agent: one.source for one in states if one.agent is not None},
    )


def _state_changes(changes: Sequence[_Resolved], entities: EntityIndex) -> StateChanges:
    directions = [one.direction for one in changes if one.direction is not None]
    stacked = torch.zeros(0, entities.dim)
    if directions:
        stacked = torch.stack(directions)
    return StateChanges(
        agents=torch.tensor([one.agent for one in changes], dtype=torch.long),
        directions=stacked,
        amounts=torch.tensor([one.amount for one in changes], dtype=stacked.dtype),
    )


def _check_times(interventions: Sequence[Intervention], horizon: int) -> None:
    for one in interventions:
        if one.times is None:
            continue
        last = one.times[-1]
        if last > horizon:
            raise ArgumentError(f"{one} acts at step {last}, after the horizon {horizon}; simulate further")
        if isinstance(one, CutLink | ScaleLink | CutGroup) and last == horizon:
            raise ArgumentError(
                f"{one} acts on the transition that begins at step {last}, but the horizon "
                f"{horizon} is its end; choose times from 0 to {horizon - 1}, or simulate further"
            )


def _check_contradictions(interventions: Sequence[Intervention], horizon: int) -> None:
    """Refuse two interventions that decide the same at the same step."""
    claims: dict[tuple[str, object], list[Intervention]] = {}
    for one in interventions:
        claims.setdefault(_claim(one), []).append(one)
    for (kind, name), claimants in claims.items():
        for one, other in combinations(claimants, 2):
            if kind != "policy" and one.overlaps(other):
                raise contradiction(one, other, _decided_twice(kind, name))
    for link, state in _links_into_set_states(claims):
        arrivals = _arrivals(link, horizon)
        if any(state.acts_at(step) for step in arrivals):
            raise contradiction(state, link, f"nothing acts on {state.agent!r} while its state is set")


def _claim(one: Intervention) -> tuple[str, object]:
    """What an intervention decides: no two may decide the same at one step."""
    if isinstance(one, Do) and one.sets_outcome:
        return "outcome", one.agent
    if isinstance(one, Do | Shift | Stochastic):
        return "state", one.agent
    if isinstance(one, CutLink | ScaleLink):
        return "link", (one.source, one.target)
    if isinstance(one, CutGroup):
        return "group", one.group
    return "policy", None


def _links_into_set_states(
    claims: Mapping[tuple[str, object], list[Intervention]],
) -> Iterator[tuple[CutLink | ScaleLink, Do | Stochastic]]:
    """Pairs of a changed link and an intervention that replaces the mechanism of its target."""
    for claimants in claims.values():
        for link in claimants:
            if not isinstance(link, CutLink | ScaleLink):
                continue
            for state in claims.get(("state", link.target), []):
                if isinstance(state, Do | Stochastic):
                    yield link, state


def _arrivals(link: CutLink | ScaleLink, horizon: int) -> list[int]:
    """Steps whose states a changed link acts on: one after those at which transitions begin."""
    if link.times is None:
        return list(range(1, horizon + 1))
    return [step + 1 for step in link.times]


def contradiction(one: Intervention, other: Intervention, reason: str) -> ArgumentError:
    """Error that names two interventions which cannot both be meant.

    Args:
        one: the first.
        other: the second.
        reason: why they cannot.
    """
    return ArgumentError(f"{one} and {other} contradict each other: {reason}; drop one, or part their times")


def _decided_twice(kind: str, name: object) -> str:
    if kind == "link":
        return "they change the same link"
    if kind == "group":
        return "the group is cut twice"
    return f"the {kind} of {name!r} is decided twice"
