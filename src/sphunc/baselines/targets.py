"""Outcomes laid beside the origins of their forecasts, and which of them count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Int, Tensor
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
        count = self.mask.sum(1)
        later = count.flip(0).cumsum(0).flip(0) - count
        return self.only((later < fewest).unsqueeze(1))

    def until(self, stop: int) -> Targets:
        """Return the rows of the origins ``0 ... stop - 1``."""
        return Targets(self.outcome[:stop], self.mask[:stop])

    @property
    def count(self) -> int:
        """How many outcomes count."""
        return int(self.mask.sum())


def targets_of(data: TemporalHypergraph, horizon: int, origins: Iterable[int] | None = None) -> Targets:
    """Lay the outcomes of ``data`` beside their origins.

    An outcome of an agent who was neither observed nor in a group by the origin says how frequent classes are among
    unseen agents, not how agents change. Such outcomes count only where there are no others.

    Args:
        data: T times.
        horizon: steps from origin to target.
        origins: time indices that count; None takes all whose target is in the data.

    Returns:
        T rows; origins whose target lies beyond the data do not count.
    """
    if data.y is None:
        raise ArgumentError("data has no outcomes; give an outcomes table to learn from, or call predict only")
    outcome = torch.zeros_like(data.y)
    mask = torch.zeros_like(data.y_mask)
    known = max(data.num_times - horizon, 0)
    outcome[:known] = data.y[horizon:]
    mask[:known] = data.y_mask[horizon:]
    if origins is not None:
        chosen = torch.zeros(data.num_times, dtype=torch.bool, device=mask.device)
        chosen[list(origins)] = True
        mask &= chosen.unsqueeze(1)
    of_known_agents = mask & ((data.present | group_members(data)).cumsum(0) > 0)
    if bool(of_known_agents.any()):
        mask = of_known_agents
    return Targets(outcome, mask)


def group_members(data: TemporalHypergraph) -> Bool[Tensor, "time agent"]:
    """Tell who is in a group at each time, whether or not more is known about them."""
    members = torch.zeros_like(data.present)
    agent, group = data.hyperedge_index
    members[data.hyperedge_time[group], agent] = True
    return members


def deal_folds(num_agents: int, folds: int, generator: torch.Generator) -> Int[Tensor, " agent"]:
    """Deal the agents at random into folds of equal size (to one agent).

    Args:
        num_agents: N.
        folds: parts.
        generator: source of randomness.
    """
    order = torch.randperm(num_agents, generator=generator, device=generator.device)
    fold = torch.empty_like(order)
    fold[order] = torch.arange(num_agents, device=order.device) % folds
    return fold
