r"""What was seen after an origin, as a counterfactual needs it: evidence, forecasts and groups, time by time.

The filter runs on through the times that were seen, once. From every one of them it forecasts the next: the factual law
of a step, before anything of that step is seen, is the calibrated forecast from the time before. It is that of
:meth:`~sphunc.SphUnc.predict` up to 1e-6: products round by their shape, and here they are of all times.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.causal.abducted import Sight
from sphunc.causal.action import Action, Names
from sphunc.causal.beside import Beside
from sphunc.causal.interventions import CutGroup, Plan
from sphunc.causal.reading import ClassReading, NumberReading
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.network import Network
from sphunc.legacy.observed import observe
from sphunc.legacy.query import Amounts, Query
from sphunc.legacy.situation import beside_of, groups_at, memberships, readings_of


@dataclass(frozen=True, eq=False)
class Meetings:
    """Groups that meet in the transition from each step to the next.

    Attributes:
        members: agent and group of every membership (groups of a time counted from 0), or None; one per transition.
        first: position of the first group of a transition among all groups that may be named.
        names: ids of the groups, one tuple per transition.
    """

    members: tuple[tuple[Tensor, Tensor] | None, ...]
    first: tuple[int, ...]
    names: tuple[tuple[Hashable, ...], ...]

    def cut(self, action: Action, step: int) -> tuple[int, ...]:
        """Groups that do not meet in the transition that begins at ``step``, counted from 0."""
        places = (place - self.first[step] for place in action.groups_cut(step))
        return tuple(place for place in places if 0 <= place < len(self.names[step]))


@dataclass(frozen=True, eq=False)
class Hindsight:
    r"""Everything after an origin, for steps 1 ... H.

    Attributes:
        looks: natural parameter of what features and company say at each step ``[H, N, D]``; 0 where nothing was seen.
        evidence: the same with outcomes, as the filter took them, for all draws alike ``[H, N, D]``.
        priors: persistent priors u that act in the transition to each step ``[H, N, D]``.
        readings: how outcomes of each step are read, with the forecast from the time before.
        sights: what was seen at each step.
        meetings: groups of each transition.
        beside: what is read beside states, from what was seen ``horizon`` of the model before; None if nothing is.
    """

    looks: Tensor
    evidence: Tensor
    priors: Tensor
    readings: tuple[ClassReading | NumberReading, ...]
    sights: tuple[Sight, ...]
    meetings: Meetings
    beside: Beside | None = None


def look_back(network: Network, temperature: TemperatureLaw, query: Query) -> Hindsight:
    """Filter what was seen after the origin; all results on the CPU."""
    seen, first, horizon = _seen(query), query.amounts.origin, query.amounts.horizon
    links, gates = query.scenario.links.to(seen.device), query.scenario.gates.to(seen.device)
    last = min(seen.num_times - 1, first + horizon - 1)
    steps = {**dict.fromkeys(range(first, seen.num_times), 1), last: horizon - (last - first)}
    *_, whole = origins = network.origins(observe(seen), links, gates, steps)
    origins = origins[: last - first + 1]
    readings = [one for origin in origins for one in readings_of(network, temperature, origin.run)]
    lasting = [origin.lasting.cpu() for origin in origins]
    looks = _padded(_looks(network, seen)[first + 1 :], horizon)
    return Hindsight(
        looks=looks,
        evidence=_padded(whole.evidence[first + 1 :].cpu(), horizon),
        priors=torch.stack(lasting + lasting[-1:] * (horizon - len(lasting))),
        readings=tuple(readings),
        sights=tuple(_sight(query, first + step, looks[step - 1]) for step in range(1, horizon + 1)),
        meetings=meetings_of(seen, first, horizon),
        beside=beside_of(network, seen, first, horizon),
    )


def meetings_of(seen: TemporalHypergraph, first: int, horizon: int) -> Meetings:
    """Groups of the origin and of every later time that was seen; the last ones known go on meeting."""
    times = [min(first + step, seen.num_times - 1) for step in range(horizon)]
    counts = {time: len(groups_at(seen, time)) for time in times}
    begin = {time: sum(count for other, count in counts.items() if other < time) for time in counts}
    return Meetings(
        tuple(memberships(seen, time) for time in times),
        tuple(begin[time] for time in times),
        tuple(groups_at(seen, time) for time in times),
    )


def names_in_hindsight(names: Names, plan: Plan, seen: TemporalHypergraph, amounts: Amounts, grouping: str) -> Names:
    """Add the groups of later times to what may be named; a group cut when it does not meet is refused.

    Args:
        names: what may be named at the origin.
        plan: the interventions.
        seen: data up to the target, as the network takes it.
        amounts: with origin and horizon.
        grouping: of the model; pairs go by the name of the group that they were torn from.
    """
    first, horizon = amounts.origin, amounts.horizon
    steps: list[tuple[Any, ...]] = list(meetings_of(seen, first, horizon).names)
    if grouping == "pairs":
        steps = [tuple(group for group, _ in ids) for ids in steps]
    for one in plan:
        met = [step for step, ids in enumerate(steps) if isinstance(one, CutGroup) and one.group in ids]
        if met and not any(one.acts_at(step) for step in met):
            raise ArgumentError(f"{one} cuts the group when it does not meet; choose times among {met}")
    last = min(first + horizon, seen.num_times) - first
    groups = tuple(group for ids in steps[:last] for group in ids)
    return replace(names, groups=groups, met="at the origin or at a later step before the target")


def is_blank(seen: TemporalHypergraph, first: int) -> bool:
    """Say whether nothing was seen after the time index ``first``: no feature, no outcome, no group."""
    later = slice(first + 1, None)
    seen_any = bool(seen.x_mask[later].any()) or bool(seen.y_mask[later].any())
    return not seen_any and not bool((seen.hyperedge_time > first).any())


def _seen(query: Query) -> TemporalHypergraph:
    assert query.seen is not None
    return query.seen


@torch.no_grad()
def _looks(network: Network, seen: TemporalHypergraph) -> Float[Tensor, "time agent dim"]:
    observed = observe(seen)
    x = network.encoder.standardise(observed.x, observed.x_mask)
    return network.evidence(observed, network.encoder.encode(x, observed.x_mask), None).cpu()


def _padded(evidence: Float[Tensor, "time agent dim"], horizon: int) -> Float[Tensor, "step agent dim"]:
    """Nothing is seen after the last time."""
    missing = horizon - len(evidence)
    return torch.cat([evidence, evidence.new_zeros(missing, *evidence.shape[1:])])


def _sight(query: Query, time: int, look: Tensor) -> Sight:
    seen, classes = _seen(query), bool(query.names.classes)
    shown = look.any(-1)
    if seen.y is None or time >= seen.num_times:
        shape = (seen.num_nodes,) if seen.y is None or classes else seen.y.shape[1:]
        empty = torch.zeros(shape, dtype=torch.long if classes else torch.float32)
        return Sight(empty, torch.zeros(seen.num_nodes, dtype=torch.bool), shown)
    return Sight(seen.y[time].cpu(), seen.y_mask[time].cpu(), shown)
