"""Agents that one arm of a simulation follows, and averages over their groups as sparse matrices.

The factual arm follows everybody. Agents whom no path of links and groups reaches are the same in both arms, so that
the interventional arm follows those that may be reached, and those that act on them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.hypergraph import Incidence
from sphunc.interventions.resolve import ResolvedInterventions
from sphunc.interventions.simulation.origin import Origin


def affected_agents(origin: Origin, interventions: ResolvedInterventions) -> Bool[Tensor, "step agent"]:
    """True for agents whom interventions may have reached by a step, by candidate links and shared groups.

    Args:
        origin: who meets whom, and which links are considered.
        interventions: what acts at each step.
    """
    device = origin.inputs.x.device
    now = torch.zeros(origin.num_agents, dtype=torch.bool, device=device)
    source, target = origin.active_links
    reached = []
    for step, acting in enumerate(interventions.steps):
        if step:
            before = interventions.steps[step - 1]
            groups = origin.groups(step - 1)
            met = torch.zeros(groups.num_groups, dtype=torch.bool, device=device)
            met[groups.group[now[groups.agent]]] = True
            met[origin.positions_at(step - 1, before.groups_cut)] = True
            later = now.clone()
            later[groups.agent[met[groups.group]]] = True
            later[target[now[source]]] = True
            if origin.states is not None:
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


def followed_agents(origin: Origin, affected: Bool[Tensor, "step agent"]) -> Int[Tensor, " followed"]:
    """Agents that the interventional arm follows: those affected at the end, and all that act on them on the way.

    Args:
        origin: who meets whom, and which links are considered.
        affected: of :func:`affected_agents`.
    """
    reached = affected[-1]
    followed = reached.clone()
    source, target = origin.active_links
    followed[source[reached[target]]] = True
    last = min(len(affected) - 1, origin.observed_steps)
    for step in range(last + 1):
        groups = origin.groups(step)
        followed[groups.agent[_meets(groups, reached)[groups.group]]] = True
    return followed.nonzero().flatten()


def restrict(groups: Incidence, rows: Int[Tensor, " followed"], reached: Bool[Tensor, " agent"]) -> Incidence:
    """Groups in which some agents meet somebody, with agents numbered among those followed.

    Args:
        groups: of everybody.
        rows: agents that are followed; every member of these groups is one of them.
        reached: True for the agents whose groups are kept.
    """
    kept = _meets(groups, reached)[groups.group]
    number = torch.full((groups.num_agents,), -1, device=rows.device)
    number[rows] = torch.arange(len(rows), device=rows.device)
    names, group = groups.group[kept].unique(return_inverse=True)
    return Incidence(number[groups.agent[kept]], group, groups.weight[kept], len(rows), len(names))


def _meets(groups: Incidence, agents: Bool[Tensor, " agent"]) -> Bool[Tensor, " group"]:
    met = torch.zeros(groups.num_groups, dtype=torch.bool, device=agents.device)
    met[groups.group[agents[groups.agent]]] = True
    return met


def copies(groups: Incidence, count: int) -> Incidence:
    """Groups of several copies of a population, side by side.

    Args:
        groups: of one population.
        count: of copies.
    """
    offset = torch.arange(count, device=groups.agent.device).repeat_interleave(len(groups.agent))
    return Incidence(
        agent=groups.agent.repeat(count) + groups.num_agents * offset,
        group=groups.group.repeat(count) + groups.num_groups * offset,
        weight=groups.weight.repeat(count),
        num_agents=count * groups.num_agents,
        num_groups=count * groups.num_groups,
    )


@dataclass(frozen=True, eq=False)
class SparseIncidence(Incidence):
    """Memberships whose averages are products with sparse matrices, made once and applied to many samples."""

    @cached_property
    def _mass(self) -> Float[Tensor, " nnz"]:
        mass = self.weight.new_zeros(self.num_groups).index_add_(0, self.group, self.weight)
        return mass.clamp(min=1e-12)[self.group]

    @cached_property
    def _to_groups(self) -> Tensor:
        """Mean over members ``[G, N]``."""
        return sparse_matrix(self.group, self.agent, self.weight / self._mass, (self.num_groups, self.num_agents))

    @cached_property
    def _per_group(self) -> Float[Tensor, " nnz"]:
        """1 / number of the agent's groups, of each membership."""
        count = torch.bincount(self.agent, minlength=self.num_agents).clamp(min=1)
        return 1.0 / count[self.agent].to(self.weight)

    @cached_property
    def _to_agents(self) -> Tensor:
        return sparse_matrix(self.agent, self.group, self._per_group, (self.num_agents, self.num_groups))

    @cached_property
    def _own_share(self) -> Tensor:
        share = self.weight / self._mass * self._per_group
        return sparse_matrix(self.agent, self.group, share, (self.num_agents, self.num_groups))

    def cohesive_mean(
        self, states: Float[Tensor, "agent *batch axis"], scale: Float[Tensor, ""] | float
    ) -> Float[Tensor, "agent *batch axis"]:
        """Group message of :meth:`Incidence.cohesive_mean`, in three sparse products.

        Args:
            states: s, agents first, axes last ``[N, *, K]``.
            scale: length of a typical state.
        """
        mean = (self._to_groups @ states.flatten(1)).view(self.num_groups, *states.shape[1:])
        cohesion = (torch.linalg.vector_norm(mean, dim=-1, keepdim=True) / scale).clamp(max=1.0)
        message = (self._to_agents @ (mean * cohesion).flatten(1)).view(states.shape)
        own = (self._own_share @ cohesion.flatten(1)).view(*states.shape[:-1], 1)
        return message.addcmul_(own, states, value=-1.0)

    @cached_property
    def _others(self) -> tuple[Tensor, Float[Tensor, " agent"], Bool[Tensor, " agent"]]:
        together = self._has_others()
        agent = self.agent[together]
        group = self.group[together]
        mass = self._mass[together]
        weight = self.weight[together]
        count = torch.bincount(agent, minlength=self.num_agents)
        share = 1.0 / ((mass - weight) * count[agent].to(weight))
        own = weight.new_zeros(self.num_agents).index_add_(0, agent, weight * share)
        matrix = sparse_matrix(agent, group, mass * share, (self.num_agents, self.num_groups))
        return matrix, own, count == 0

    @property
    def is_alone(self) -> Bool[Tensor, " agent"]:
        """True for agents who meet nobody else."""
        return self._others[2]

    def mean_of_known_others(self, values: Float[Tensor, "agent column"]) -> Float[Tensor, "agent column"]:
        """:meth:`Incidence.mean_of_others` of values that are known of everybody; 0 for who meets nobody.

        Args:
            values: v, what each agent holds.
        """
        matrix, own, _ = self._others
        received = matrix @ (self._to_groups @ values)
        return received.addcmul_(own.unsqueeze(1), values, value=-1.0)


def sparse_incidence(groups: Incidence, dtype: torch.dtype) -> SparseIncidence:
    """Return the same memberships, for averages over many samples.

    Args:
        groups: memberships.
        dtype: of the weights.
    """
    return SparseIncidence(groups.agent, groups.group, groups.weight.to(dtype), groups.num_agents, groups.num_groups)


def sparse_matrix(
    row: Int[Tensor, " entry"], column: Int[Tensor, " entry"], value: Float[Tensor, " entry"], shape: tuple[int, int]
) -> Tensor:
    """Sparse matrix in compressed rows, whose products take half the time of coordinates.

    Args:
        row: of every entry.
        column: of every entry.
        value: of every entry.
        shape: of the matrix.
    """
    with warnings.catch_warnings(), torch.sparse.check_sparse_tensor_invariants(enable=False):
        # Compressed rows are "in beta state", of which their products with dense matrices are no part.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_coo_tensor(torch.stack([row, column]), value, shape).to_sparse_csr()
