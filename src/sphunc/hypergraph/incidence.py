"""Averages over groups: who meets whom at one time, and what the others in an agent's groups hold."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.hypergraph.temporal import TemporalHypergraph


@dataclass(frozen=True, eq=False)
class Incidence:
    """Memberships of the groups that meet at one time.

    Attributes:
        agent: agent of each membership ``[nnz]``.
        group: group of each membership ``[nnz]``, numbered 0 ... G - 1.
        weight: how much the membership counts ``[nnz]``, 1 unless the data weigh it.
        num_agents: N.
        num_groups: G.
    """

    agent: Int[Tensor, " nnz"]
    group: Int[Tensor, " nnz"]
    weight: Float[Tensor, " nnz"]
    num_agents: int
    num_groups: int

    def group_count(self) -> Float[Tensor, " agent"]:
        """Number of groups in which an agent meets somebody else ``[N]``."""
        together = self._has_others()
        zeros = self.weight.new_zeros(self.num_agents)
        return zeros.index_add_(0, self.agent[together], torch.ones_like(self.weight[together]))

    def mean_of_others(
        self, values: Float[Tensor, "agent column"], known: Float[Tensor, "agent column"]
    ) -> tuple[Float[Tensor, "agent column"], Float[Tensor, "agent column"]]:
        r"""Mean over the other members of a group, then over an agent's groups; every group counts
        once.

        .. math:: \bar v_i = \frac{\sum_{e \ni i} \sum_{j \in e, j \ne i} w_{je} k_j v_j / W_{e,-i}}
                                  {\sum_{e \ni i} \sum_{j \in e, j \ne i} w_{je} k_j / W_{e,-i}}, \qquad
                  W_{e,-i} = \sum_{j \in e, j \ne i} w_{je}

        Args:
            values: v, what each agent holds.
            known: k, 1 where it is known, 0 where it is not.

        Returns:
            The means, 0 where nothing is known of the others, and the denominators (0 there).
        """
        stacked = torch.cat([values * known, known], 1)
        received = self._sum_over_groups(stacked)
        columns = values.shape[1]
        weight = received[:, columns:]
        mean = torch.where(weight > 0, received[:, :columns] / weight.clamp(min=1e-12), 0.0)
        return mean, weight

    def cohesive_mean(
        self, states: Float[Tensor, "agent *batch axis"], scale: Float[Tensor, ""] | float
    ) -> Float[Tensor, "agent *batch axis"]:
        r"""Group message: mean over an agent's groups of cohesion times what the others give to the
        group's mean state.

        .. math:: m_i = \frac1{|E_i|} \sum_{e \ni i} R_e \frac{1}{W_e} \sum_{j \in e, j \ne i} w_{je} s_j,
                  \qquad
                  R_e = \min\Big(1, \Big| \frac{1}{W_e} \sum_{j \in e} w_{je} s_j \Big| \Big/ \text{scale}\Big)

        :math:`W_e` is the mass of the whole group, the agent included. The bound makes the message linear
        in large states; without it, states that act on each other can grow without end.

        Args:
            states: s, agents first, axes last ``[N, *, K]``.
            scale: length of a typical state, so that a group of one mind has cohesion 1.
        """
        ones = (1,) * (states.ndim - 1)
        weight = self.weight.view(-1, *ones)
        total = states.new_zeros(self.num_groups, *states.shape[1:])
        total.index_add_(0, self.group, weight * states[self.agent])
        mass = self.weight.new_zeros(self.num_groups).index_add_(0, self.group, self.weight)
        mean = total / mass.clamp(min=1e-12).view(-1, *ones)
        cohesion = (mean.norm(dim=-1, keepdim=True) / scale).clamp(max=1.0)
        share = weight / mass.clamp(min=1e-12)[self.group].view(-1, *ones)
        others = (mean[self.group] - share * states[self.agent]) * cohesion[self.group]
        count = self.weight.new_zeros(self.num_agents)
        count.index_add_(0, self.agent, torch.ones_like(self.weight))
        summed = torch.zeros_like(states).index_add_(0, self.agent, others)
        return summed / count.clamp(min=1.0).view(-1, *ones)

    def without(self, groups: Int[Tensor, " cut"]) -> Incidence:
        """Return the same time without some of its groups."""
        kept = ~torch.isin(self.group, groups)
        return Incidence(self.agent[kept], self.group[kept], self.weight[kept], self.num_agents, self.num_groups)

    def _group_sum(self, values: Tensor) -> Tensor:
        zeros = values.new_zeros(self.num_groups, values.shape[1])
        return zeros.index_add_(0, self.group, self.weight.unsqueeze(1) * values[self.agent])

    def _has_others(self) -> Bool[Tensor, " nnz"]:
        mass = self.weight.new_zeros(self.num_groups).index_add_(0, self.group, self.weight)
        others = mass[self.group] - self.weight
        size = torch.bincount(self.group, minlength=self.num_groups)[self.group]
        return (size > 1) & (others > 1e-12)

    def _sum_over_groups(self, values: Tensor) -> Tensor:
        together = self._has_others()
        agent = self.agent[together]
        group = self.group[together]
        weight = self.weight[together].unsqueeze(1)
        total = self._group_sum(values)
        mass = self._group_sum(torch.ones_like(values[:, :1]))
        others = (total[group] - weight * values[agent]) / (mass[group] - weight)
        return torch.zeros_like(values).index_add_(0, agent, others)


def incidence_at(data: TemporalHypergraph, time: int, dtype: torch.dtype = torch.float64) -> Incidence:
    """Return the memberships of the groups that meet at one time.

    Args:
        data: groups with their times.
        time: time index.
        dtype: of the weights.
    """
    node, edge = data.hyperedge_index
    here = data.hyperedge_time[edge] == time
    groups = (data.hyperedge_time == time).nonzero().flatten()
    number = torch.full((data.num_hyperedges,), -1, device=data.device)
    number[groups] = torch.arange(len(groups), device=data.device)
    if data.incidence_weight is None:
        weight = torch.ones(int(here.sum()), dtype=dtype, device=data.device)
    else:
        weight = data.incidence_weight[here].to(dtype)
    return Incidence(node[here], number[edge[here]], weight, data.num_nodes, len(groups))
