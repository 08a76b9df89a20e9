"""What a forecast is judged on: outcomes laid beside their origins, and which of them count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph


@dataclass(frozen=True, eq=False)
class Targets:
    """Outcomes at ``t + horizon``, in the row of their origin t.

    Attributes:
        outcome: ``[T, N]`` classes or ``[T, N, K]`` numbers; 0 where none is known.
        mask: ``[T, N]`` True where a forecast from this origin counts.
    """

    outcome: Tensor
    mask: Bool[Tensor, "time agent"]

    def only(self, cells: Bool[Tensor, "*time agent"]) -> Targets:
        """Return the same outcomes, of which only those in ``cells`` (``[T, N]`` or ``[N]``) count."""
        return Targets(self.outcome, self.mask & cells)

    def latest(self, fewest: int) -> Targets:
        """Return those of the last origins: of as few as have ``fewest`` outcomes together, or of all."""
        later = self.mask.sum(1).flip(0).cumsum(0).flip(0) - self.mask.sum(1)
        return self.only((later < fewest).unsqueeze(1))

    def until(self, stop: int) -> Targets:
        """Return the rows of the origins ``0 ... stop - 1``."""
        return Targets(self.outcome[:stop], self.mask[:stop])

    @property
    def count(self) -> int:
        """How many outcomes count."""
        return int(self.mask.sum())


def targets_of(
    data: TemporalHypergraph, horizon: int, origins: Iterable[int] | None = None, *, newcomers: bool = False
) -> Targets:
    """Lay the outcomes of ``data`` beside their origins.

    What becomes of somebody of whom nothing was known teaches how frequent classes are among newcomers, not how agents
    change; and where most agents are newcomers, it would decide everything. It counts where there is nothing else.

    Args:
        data: T times.
        horizon: steps from origin to target.
        origins: time indices that count; None takes all whose target is in the data.
        newcomers: whether outcomes count of agents who were neither seen nor met anybody by the origin.

    Returns:
        T rows; origins whose target lies beyond the data do not count.
    """
    if data.y is None:
        raise ArgumentError("data has no outcomes; give an outcomes table to learn from, or call predict only")
    outcome, mask = torch.zeros_like(data.y), torch.zeros_like(data.y_mask)
    known = max(data.num_times - horizon, 0)
    outcome[:known] = data.y[horizon:]
    mask[:known] = data.y_mask[horizon:]
    if origins is not None:
        chosen = torch.zeros(data.num_times, dtype=torch.bool, device=mask.device)
        chosen[list(origins)] = True
        mask &= chosen.unsqueeze(1)
    of_known = mask & ((data.present | in_company(data)).cumsum(0) > 0)
    return Targets(outcome, mask if newcomers or not bool(of_known.any()) else of_known)


def in_company(data: TemporalHypergraph) -> Bool[Tensor, "time agent"]:
    """Tell who meets somebody in a group at each time, whether or not more is known about them."""
    company = torch.zeros_like(data.present)
    agent, group = data.hyperedge_index
    company[data.hyperedge_time[group], agent] = True
    return company


def of_seen(
    y_mask: Bool[Tensor, "time agent"], present: Bool[Tensor, "time agent"], horizon: int
) -> Bool[Tensor, "time agent"]:
    """Keep the outcomes of agents who were seen ``horizon`` steps before, or earlier; all, if nobody was."""
    kept = torch.zeros_like(y_mask)
    kept[horizon:] = y_mask[horizon:] & (present.cumsum(0) > 0)[: max(len(present) - horizon, 0)]
    return kept if bool(kept.any()) else y_mask


def folds_of(num_agents: int, folds: int, generator: torch.Generator) -> Int[Tensor, " agent"]:
    """Deal the agents at random into ``folds`` parts of equal size (to one agent)."""
    order = torch.randperm(num_agents, generator=generator, device=generator.device)
    part = torch.empty_like(order)
    part[order] = torch.arange(num_agents, device=order.device) % folds
    return part


def last_seen(
    values: Float[Tensor, "time agent outcome"], mask: Bool[Tensor, "time agent"]
) -> Float[Tensor, "time agent outcome"]:
    """Last observed values of every agent at each time; 0 before there are any."""
    carried = [torch.where(mask[0].unsqueeze(-1), values[0], 0.0)]
    for now, known in zip(values[1:], mask[1:], strict=True):
        carried.append(torch.where(known.unsqueeze(-1), now, carried[-1]))
    return torch.stack(carried)
