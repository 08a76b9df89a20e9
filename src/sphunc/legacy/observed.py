"""What a forecast may see: the tensors of a stretch of times, ready for the network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc._typing import Bool
from sphunc.hypergraph import TemporalHypergraph
from sphunc.hypergraph.buckets import Buckets, group_over_time


@dataclass(frozen=True, eq=False)
class Observed:
    """Features, outcomes and groups of T times.

    Attributes:
        x: features ``[T, N, F]``; 0 where not observed.
        x_mask: True where observed ``[T, N, F]``.
        y: outcomes, ``[T, N]`` long or ``[T, N, K]`` float; zeros when the data have none.
        y_mask: True where observed ``[T, N]``.
        present: True where an agent was seen ``[T, N]``.
        groups: all groups of all times, agent i at time t being node ``t * N + i``.
        pull: for each time the averaging matrices of :func:`group_matrices`.
        standard: features as one network standardises and fills them ``[T, N, F]``, where it has prepared them.
    """

    x: Tensor
    x_mask: Tensor
    y: Tensor
    y_mask: Tensor
    present: Tensor
    groups: Buckets
    pull: tuple[tuple[Tensor, Tensor] | None, ...]
    standard: Tensor | None = None

    @property
    def num_times(self) -> int:
        """T."""
        return self.x.shape[0]

    @property
    def num_agents(self) -> int:
        """N."""
        return self.x.shape[1]

    @property
    def seen_again(self) -> Bool[Tensor, "step agent"]:
        """True for agents that were seen, and showed features at the time after ``[T - 1, N]``."""
        return self.x_mask[1:].any(-1) & self.present[:-1]

    def only_outcomes(self, agents: Bool[Tensor, " agent"]) -> Observed:
        """Return the same features and groups, with the outcomes of some agents only."""
        return replace(self, y_mask=self.y_mask & agents)


def observe(data: TemporalHypergraph, upto: int | None = None, device: torch.device | str | None = None) -> Observed:
    """Take times ``0 ... upto - 1`` of the data (all by default): nothing later can be reached through the result."""
    seen = data if upto is None else data.window(0, upto)
    seen = seen if device is None else seen.to(device)
    y = torch.zeros(seen.y_mask.shape, dtype=torch.long, device=seen.device) if seen.y is None else seen.y
    return Observed(
        x=seen.x,
        x_mask=seen.x_mask,
        y=y,
        y_mask=seen.y_mask,
        present=seen.present,
        groups=group_over_time(seen),
        pull=tuple(group_matrices(seen, time) for time in range(seen.num_times)),
    )


def group_matrices(data: TemporalHypergraph, time: int) -> tuple[Tensor, Tensor] | None:
    """Sparse averages at one time, agents to groups ``[M_t, N]`` and back ``[N, M_t]``; None if no group met.

    Rows sum to one, or are empty for an agent that met nobody.
    """
    chosen = data.hyperedge_time[data.hyperedge_index[1]] == time
    if not bool(chosen.any()):
        return None
    agent, group = data.hyperedge_index[:, chosen]
    group = torch.unique_consecutive(group, return_inverse=True)[1]
    count = int(group[-1]) + 1
    size = torch.bincount(group, minlength=count).to(data.x.dtype)
    degree = torch.bincount(agent, minlength=data.num_nodes).to(data.x.dtype)
    shape = (count, data.num_nodes)
    gather = torch.sparse_coo_tensor(torch.stack([group, agent]), 1.0 / size[group], shape, check_invariants=False)
    spread = torch.sparse_coo_tensor(
        torch.stack([agent, group]), 1.0 / degree[agent], shape[::-1], check_invariants=False
    )
    return gather.coalesce(), spread.coalesce()
