"""A question about an intervention, checked before any work starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from sphunc.causal.action import Action, Direct, Names, resolve
from sphunc.causal.counts import seed_number, whole_number
from sphunc.causal.design import Layout
from sphunc.causal.interventions import Plan, Policy, Shift, Stochastic, flatten
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.inputs import check_origin
from sphunc.legacy.scenario import Scenario
from sphunc.legacy.situation import groups_at
from sphunc.legacy.structure import WHY_NONE, Structure

STRUCTURES = 20
"""Structures drawn by default, for up to a hundred samples; for more of them as many as leave five draws each."""
FEWEST_STRUCTURES = 2
"""Where there are two samples: a single structure shows nothing of what not knowing it adds."""
FEWEST_DRAWS = 4
"""Draws of the noise that every structure meets, where the samples allow: fewer tell no Monte Carlo error."""
USUAL_DRAWS = 5
MOST_STRENGTHS = 2**24
"""Structures times links, by default: beyond it they take more memory than their states do."""


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """How much is asked for; None takes the model's setting.

    Attributes:
        origin: time index.
        horizon: steps.
        samples: Monte Carlo samples.
        structures: drawn from the posterior.
        seed: of noise and structures.
    """

    origin: Any = None
    horizon: Any = None
    samples: Any = None
    structures: Any = None
    seed: Any = 0

    def settled(
        self, data: TemporalHypergraph, config: SphUncConfig, links: int = 0, *, looks_back: bool = False
    ) -> Amounts:
        """Return amounts without None; values that are no whole numbers, or too small, are refused.

        Args:
            data: to ask about.
            config: with settings for what is None.
            links: that each structure has.
            looks_back: without an origin take the last one that has the horizon after it, not the last time.
        """
        samples = whole_number("samples", config.samples if self.samples is None else self.samples, least=1)
        count = usual_structures(samples, links) if self.structures is None else self.structures
        horizon = whole_number("horizon", config.horizon if self.horizon is None else self.horizon, least=1)
        return Amounts(
            origin=_origin(data, self.origin, horizon if looks_back else 0),
            horizon=horizon,
            samples=samples,
            structures=min(samples, whole_number("structures", count, least=1)),
            seed=seed_number(self.seed),
        )


def usual_structures(samples: int, links: int = 0) -> int:
    """Structures that are drawn for so many samples of so many links, in whole blocks of 20 where there are more."""
    few = max(min(FEWEST_STRUCTURES, samples), min(STRUCTURES, samples // FEWEST_DRAWS))
    most = min(samples // USUAL_DRAWS, MOST_STRENGTHS // max(1, links))
    return max(few, most // STRUCTURES * STRUCTURES)


@dataclass(frozen=True, eq=False)
class Query:
    """A question that can be answered.

    Attributes:
        plan: the interventions.
        data: as the user gave it.
        past: up to the origin, as the network takes it.
        amounts: all of them.
        scenario: structures that act.
        names: what may be named.
        is_learned: True if the structures are those of the model, and its forecast is the factual arm.
        seen: up to the target, as the network takes it; for counterfactuals.
    """

    plan: Plan
    data: TemporalHypergraph
    past: TemporalHypergraph
    amounts: Amounts
    scenario: Scenario
    names: Names
    is_learned: bool
    seen: TemporalHypergraph | None = None

    @property
    def draws(self) -> int:
        """Draws of the noise that every structure meets."""
        return -(-self.amounts.samples // len(self.scenario.strengths))

    @property
    def layout(self) -> Layout:
        """Which structures meet which draws."""
        return Layout.of(len(self.scenario.strengths), self.draws)

    def action(self, direct: Direct) -> Action:
        """Interventions put on this system."""
        return resolve(tuple(self.plan), self.names, self.scenario.links, direct, self.amounts.horizon)

    def check(self) -> None:
        """Refuse names that are not there and interventions that contradict each other."""
        self.action(lambda kind, index, agent: torch.zeros(self.names.dim))


def check_plan(interventions: Iterable[Any], config: SphUncConfig) -> Plan:
    """Return the interventions as one plan; those that need the sphere are refused without it."""
    plan = Plan(flatten(interventions))
    for one in plan:
        if config.geometry != "sphere" and isinstance(one, Shift | Stochastic | Policy):
            kind = type(one).__name__
            raise ArgumentError(f"{kind} needs states on the sphere; this model has geometry='euclidean': use Do")
    return plan


def check_structure(asked: str, config: SphUncConfig, structure: Structure) -> None:
    """Refuse a model that knows no links."""
    if not config.scm:
        raise ArgumentError(
            f"{asked} needs a structural causal model, but this one has scm=False; fit with scm=True, or say which "
            "links act with scenario=sphunc.known_links(...)"
        )
    if structure.graph is None:
        raise ArgumentError(
            f"{asked} needs links, but none could be learned ({WHY_NONE}); "
            "give longer data, or say which links act with scenario=sphunc.known_links(...)"
        )


def names_of(past: TemporalHypergraph, classes: tuple[str, ...], dim: int, grouping: str = "hyperedges") -> Names:
    """What may be named in interventions on these data; pairs go by the name of the group that they were torn from."""
    groups = groups_at(past)
    if grouping == "pairs":
        groups = tuple(group for group, _ in groups)
    return Names(past.node_ids, classes, groups, past.times, dim)


def _origin(data: TemporalHypergraph, origin: object, after: int = 0) -> int:
    if origin is None:
        return max(0, data.num_times - 1 - after)
    index = check_origin(data, origin)
    if not 0 <= index < data.num_times:
        raise ArgumentError(
            f"origin={index} is outside the {data.num_times} times of the data; choose 0 to {data.num_times - 1}"
        )
    return index
