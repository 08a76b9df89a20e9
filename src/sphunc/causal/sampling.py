"""Structures drawn from the posterior, for simulation: every draw is one set of parents per agent."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Structures:
    """Influence structures drawn from the posterior.

    Attributes:
        gates: ``[S, K]`` True where the link of the candidate list exists.
        strengths: ``[S, K]`` signed strength, 0 where it does not.
        strata: ``[S, N]`` of which part of each agent's posterior over its parents the structure is, in their order.
    """

    gates: Bool[Tensor, "sample link"]
    strengths: Float[Tensor, "sample link"]
    strata: Int[Tensor, "sample agent"]


def sample_gates(
    targets: Int[Tensor, " link"],
    draws: Int[Tensor, "agent stored"],
    bits: Int[Tensor, "link lag"],
    raw: Float[Tensor, " link"],
    probability: Float[Tensor, " link"],
    count: int,
    generator: torch.Generator,
) -> tuple[Bool[Tensor, "sample link"], Int[Tensor, "sample agent"]]:
    """Draw ``count`` structures whose mean is ``probability``, and tell from which strata they are.

    Each target's stored sets are evenly spaced quantiles of its posterior; a draw takes ``count`` of them evenly, in
    an order of its own per target, so that agents vary independently and few draws have nearly exact marginals.
    Links that were screened out, and the difference between calibrated and raw probabilities, are thinned in
    independently per link.
    """
    if count < 1:
        raise ArgumentError(f"count is {count}; ask for at least one structure")
    position = _strata(draws.shape[0], draws.shape[1], count, generator).to(targets.device)
    agents = torch.arange(draws.shape[0], device=targets.device)
    drawn = torch.stack([_members(draws[agents, row][targets], bits) for row in position])
    uniform = torch.rand(drawn.shape, generator=generator).to(targets.device)
    return _match_marginals(drawn, uniform, bits, raw, probability), position


def _strata(agents: int, stored: int, count: int, generator: torch.Generator) -> Tensor:
    """Position ``[S, N]`` of the stored set to use: one per stratum of the posterior, shuffled per agent."""
    offset = torch.rand(agents, generator=generator)
    rank = torch.argsort(torch.rand(count, agents, generator=generator), 0)
    return ((rank + offset) * stored / count).long().clamp(max=stored - 1)


def _members(sets: Tensor, bits: Tensor) -> Tensor:
    on = (sets.long()[:, None] >> bits.long().clamp(min=0)) & 1
    return ((on > 0) & (bits >= 0)).any(1)


def _match_marginals(drawn: Tensor, uniform: Tensor, bits: Tensor, raw: Tensor, probability: Tensor) -> Tensor:
    base = torch.where((bits >= 0).any(1), raw, torch.zeros_like(raw))
    tiny = torch.finfo(base.dtype).tiny
    keep = (probability / base.clamp(min=tiny)).clamp(max=1)
    add = ((probability - base) / (1 - base).clamp(min=tiny)).clamp(0, 1)
    return torch.where(drawn, uniform < keep, uniform < add)
