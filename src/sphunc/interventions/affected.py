"""Whom interventions can reach, and groups of several copies of a population."""

from __future__ import annotations

import torch

from sphunc._typing import Bool, Tensor
from sphunc.hypergraph import Incidence
from sphunc.interventions.origin import Origin
from sphunc.interventions.resolve import ResolvedInterventions


def copies(groups: Incidence, count: int) -> Incidence:
    """Groups of several copies of a population, side by side.

    Args:
        groups: of one population.
        count: of copies.
    """
    offset = torch.arange(count).repeat_interleave(len(groups.agent))
    return Incidence(
        agent=groups.agent.repeat(count) + groups.num_agents * offset,
        group=groups.group.repeat(count) + groups.num_groups * offset,
        weight=groups.weight.repeat(count),
        num_agents=count * groups.num_agents,
        num_groups=count * groups.num_groups,
    )


def affected_agents(origin: Origin, interventions: ResolvedInterventions) -> Bool[Tensor, "step agent"]:
    """True for agents whom interventions may have reached by a step, by candidate links and shared groups.

    Args:
        origin: who meets whom, and which links are considered.
        interventions: what acts at each step.
    """
    now = torch.zeros(origin.num_agents, dtype=torch.bool)
    source, target = origin.candidates
    reached = []
    for step, acting in enumerate(interventions.steps):
        if step:
            before = interventions.steps[step - 1]
            groups = origin.groups(step - 1)
            met = torch.zeros(groups.num_groups, dtype=torch.bool)
            met[groups.group[now[groups.agent]]] = True
            met[origin.positions_at(step - 1, before.groups_cut)] = True
            later = now.clone()
            later[groups.agent[met[groups.group]]] = True
            later[target[now[source]]] = True
            later[target[before.link_positions]] = True
            now = later
        now = now.clone()
        if origin.states is not None:
            for changes in (acting.holds, acting.shifts, acting.draws):
                now[changes.agents] = True
            if acting.policies:
                now[:] = True
        now[acting.outcome_agents] = True
        reached.append(now)
    return torch.stack(reached)
