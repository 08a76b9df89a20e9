"""Interventions put on a particular system: names become indices, contradictions are refused, nothing is simulated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from sphunc._typing import Float, Links, Tensor
from sphunc.causal.interventions import (
    CutGroup,
    CutLink,
    Do,
    Intervention,
    Policy,
    ScaleLink,
    Shift,
    Stochastic,
)
from sphunc.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Names:
    """What a user may name.

    Attributes:
        agents: ids, N of them.
        classes: names, empty for numbers.
        groups: ids of the groups that meet at the origin; the same one several times where a group was torn into parts.
            In a counterfactual those of later times follow, time by time, as far as they were seen.
        times: labels of the times up to the origin.
        dim: D.
        met: when these groups meet, as an error says it.
    """

    agents: tuple[Hashable, ...]
    classes: tuple[str, ...]
    groups: tuple[Hashable, ...]
    times: tuple[Any, ...]
    dim: int
    met: str = "at the origin"


@dataclass(frozen=True, eq=False)
class StateChange:
    """One agent's state at some steps: set ("do"), turned ("shift") or drawn ("draw").

    Attributes:
        kind: which of the three.
        agent: index.
        direction: target, mean or value ``[D]``.
        amount: angle or concentration; 0 for "do".
        source: the intervention, which knows its times.
    """

    kind: str
    agent: int
    direction: Tensor
    amount: float
    source: Intervention


@dataclass(frozen=True, eq=False)
class Action:
    """All changes, by what they act on.

    Attributes:
        states: changes of states.
        factors: for each cut or scaled link its position in the list of links, the factor and its intervention.
        cut: for each group that is cut its position among the groups that were named, and its intervention.
        policies: functions that decide on the way.
        agents: ids, for what policies return.
    """

    states: tuple[StateChange, ...] = ()
    factors: tuple[tuple[int, float, Intervention], ...] = ()
    cut: tuple[tuple[int, Intervention], ...] = ()
    policies: tuple[Policy, ...] = ()
    agents: tuple[Hashable, ...] = ()

    @property
    def is_null(self) -> bool:
        """True if nothing is changed."""
        return not (self.states or self.factors or self.cut or self.policies)

    @property
    def touched(self) -> tuple[int, ...]:
        """Agents whose own state is set, turned or drawn."""
        return tuple(sorted({change.agent for change in self.states}))

    def gate_factors(self, step: int, count: int) -> Float[Tensor, " link"] | None:
        """Factors of the links in the transition that begins at ``step``; None if all are 1."""
        active = [(place, factor) for place, factor, source in self.factors if source.acts_at(step)]
        if not active:
            return None
        factors = torch.ones(count)
        for place, factor in active:
            factors[place] *= factor
        return factors

    def groups_cut(self, step: int) -> tuple[int, ...]:
        """Groups that do not meet in the transition that begins at ``step``."""
        return tuple(place for place, source in self.cut if source.acts_at(step))


Direct = Callable[[str, Any, int], Tensor]
"""Gives the direction ``[D]`` of ("class", index), ("agent", index) or ("time", index) for an agent."""


def resolve(interventions: Sequence[Intervention], names: Names, links: Links, direct: Direct, horizon: int) -> Action:
    """Check interventions against a system, and translate them.

    Args:
        interventions: single ones.
        names: what may be named.
        links: candidate links ``[2, K]``.
        direct: directions of classes, agents and times in the latent space.
        horizon: steps that are simulated; later ones are refused.
    """
    _check_times(interventions, horizon)
    _check_contradictions(interventions, horizon)
    place = {agent: index for index, agent in enumerate(names.agents)}
    states, factors, cut, policies = [], [], [], []
    table = _positions(interventions, links)
    for one in interventions:
        if isinstance(one, CutLink | ScaleLink):
            factor = 0.0 if isinstance(one, CutLink) else one.factor
            factors.append((_link(one, place, names, table), factor, one))
        elif isinstance(one, CutGroup):
            cut += [(position, one) for position in _group(one.group, names)]
        elif isinstance(one, Policy):
            policies.append(one)
        else:
            states.append(_state(one, place, names, direct))
    return Action(tuple(states), tuple(factors), tuple(cut), tuple(policies), names.agents)


def _positions(interventions: Sequence[Intervention], links: Links) -> dict[tuple[int, int], int]:
    """Position of every link; only made where a link is named, because there may be millions."""
    if not any(isinstance(one, CutLink | ScaleLink) for one in interventions):
        return {}
    return {(source, target): k for k, (source, target) in enumerate(links.T.tolist())}


def _state(one: Intervention, place: Mapping[Hashable, int], names: Names, direct: Direct) -> StateChange:
    assert isinstance(one, Do | Shift | Stochastic)
    agent = _agent(one.agent, place, names)
    system = agent, place, names, direct
    if one.observed is not None:
        value = _observed(one.observed, *system)
    elif isinstance(one, Do):
        is_class = one.direction is None
        value = (
            direct("class", _class(str(one.toward), names), agent) if is_class else _vector(one.direction, names.dim)
        )
    else:
        value = _aim("toward", one.toward, *system) if isinstance(one, Shift) else _aim("mu", one.mu, *system)
    if isinstance(one, Do):
        return StateChange("do", agent, value, 0.0, one)
    kind, amount = ("shift", one.angle) if isinstance(one, Shift) else ("draw", one.kappa)
    return StateChange(kind, agent, value, amount, one)


def _aim(name: str, value: Any, agent: int, place: Mapping[Hashable, int], names: Names, direct: Direct) -> Tensor:
    if isinstance(value, tuple) and value not in place:
        return _vector(value, names.dim)
    if value in names.classes:
        return direct("class", names.classes.index(value), agent)
    if value in place:
        if (text := class_like(value, names.agents, names.classes)) is not None:
            raise ArgumentError(
                f"{name}={value!r} may be the agent {value!r} or the class {text!r}; write the text {name}={text!r} "
                f"for the class, or observed={value!r} for the agent"
            )
        return direct("agent", place[value], agent)
    if not names.classes:
        raise ArgumentError(
            f"{value!r} is no agent ({some_names(names.agents)}), and there are no classes, because the outcomes are "
            "numbers; give an agent, or a unit vector"
        )
    hint = f": the class is the text {str(value)!r}" if str(value) in names.classes else ""
    raise ArgumentError(
        f"{value!r} is neither a class ({some_names(names.classes)}) nor an agent ({some_names(names.agents)}); "
        f"give one of them, or a unit vector{hint}"
    )


def _observed(value: Any, agent: int, place: Mapping[Hashable, int], names: Names, direct: Direct) -> Tensor:
    if value in place:
        return direct("agent", place[value], agent)
    if value in names.times:
        return direct("time", names.times.index(value), agent)
    raise ArgumentError(
        f"observed={value!r} is neither an agent ({some_names(names.agents)}) nor a time up to the origin "
        f"({some_names(names.times)})"
    )


def class_like(value: Any, known: Sequence[Any], classes: Sequence[str]) -> str | None:
    """Class whose text reads like a ``value`` that is no text and that is among ``known`` names; None without one."""
    if isinstance(value, str) or value not in known:
        return None
    texts = str(value), str(known[known.index(value)])
    return next((text for text in texts if text in classes), None)


def _vector(value: tuple[float, ...], dim: int) -> Tensor:
    if len(value) != dim:
        raise ArgumentError(f"direction has {len(value)} entries, but the model's states have {dim}; give {dim}")
    return torch.nn.functional.normalize(torch.tensor(value, dtype=torch.float64), dim=0).float()


def _agent(agent: Hashable, place: Mapping[Hashable, int], names: Names) -> int:
    if agent not in place:
        raise ArgumentError(
            f"agent {agent!r} is not in the data; its {len(place)} agents are {some_names(names.agents)}"
        )
    return place[agent]


def _class(name: str, names: Names) -> int:
    if not names.classes:
        raise ArgumentError(f"toward={name!r} names a class, but the outcomes are numbers; use direction or observed")
    if name not in names.classes:
        raise ArgumentError(f"class {name!r} is not known; the classes are {some_names(names.classes)}")
    return names.classes.index(name)


def _group(group: Hashable, names: Names) -> list[int]:
    positions = [position for position, name in enumerate(names.groups) if name == group]
    if not positions:
        known = some_names(tuple(dict.fromkeys(names.groups))) if names.groups else "none"
        raise ArgumentError(f"group {group!r} does not meet {names.met}; groups that do: {known}")
    return positions


def _link(
    one: CutLink | ScaleLink, place: Mapping[Hashable, int], names: Names, table: Mapping[tuple[int, int], int]
) -> int:
    pair = (_agent(one.source, place, names), _agent(one.target, place, names))
    if pair not in table:
        raise ArgumentError(
            f"no influence of {one.source!r} on {one.target!r} is considered, so there is nothing to change; "
            "model.influence().to_frame() lists the links"
        )
    return table[pair]


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


def _check_times(interventions: Sequence[Intervention], horizon: int) -> None:
    for one in interventions:
        if one.times is None:
            continue
        last = one.times[-1]
        if last > horizon:
            raise ArgumentError(f"{one} acts at step {last}, after the horizon {horizon}; simulate further")
        if isinstance(one, CutLink | ScaleLink | CutGroup) and last == horizon:
            raise ArgumentError(
                f"{one} acts on the transition that begins at step {last}, but the horizon {horizon} is its end; "
                f"choose times from 0 to {horizon - 1}, or simulate further"
            )


def _check_contradictions(interventions: Sequence[Intervention], horizon: int) -> None:
    for i, one in enumerate(interventions):
        for other in interventions[i + 1 :]:
            reason = _clash(one, other) or _clash(other, one)
            if reason and _arrivals(one, horizon).overlaps(_arrivals(other, horizon)):
                raise contradiction(one, other, reason)


def _arrivals(one: Intervention, horizon: int) -> Intervention:
    """The same intervention, with the steps whose states it changes: those of a link come one step later."""
    if not isinstance(one, CutLink | ScaleLink):
        return one
    begins = range(horizon) if one.times is None else one.times
    return replace(one, times=[step + 1 for step in begins])


def contradiction(one: Intervention, other: Intervention, reason: str) -> ArgumentError:
    """Error that names two interventions which cannot both be meant."""
    return ArgumentError(f"{one} and {other} contradict each other: {reason}; drop one, or part their times")


def decided_twice(agent: Hashable) -> str:
    """Why two interventions on the state of one agent contradict each other."""
    return f"the state of {agent!r} is decided twice"


def _clash(one: Intervention, other: Intervention) -> str:
    if isinstance(one, Do | Stochastic) and isinstance(other, CutLink | ScaleLink) and one.agent == other.target:
        return f"nothing acts on {one.agent!r} while its state is set"
    if isinstance(one, Do | Shift | Stochastic) and isinstance(other, Do | Shift | Stochastic):
        return decided_twice(one.agent) if one.agent == other.agent else ""
    if isinstance(one, CutLink | ScaleLink) and isinstance(other, CutLink | ScaleLink):
        same = (one.source, one.target) == (other.source, other.target)
        return "they change the same link" if same else ""
    is_same_group = isinstance(one, CutGroup) and isinstance(other, CutGroup) and one.group == other.group
    return "the group is cut twice" if is_same_group else ""


def some_names(names: Sequence[Any]) -> str:
    """Show names, the first and the last of many."""
    shown = [str(name) for name in names]
    return ", ".join(shown) if len(shown) <= 6 else f"{shown[0]}, {shown[1]}, ... {shown[-1]}"
