"""Checks before any regression: what is wrong with the latents, and which agents can say nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sphunc.causal.candidates import CandidateLinks
from sphunc.causal.posterior import CAP
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import TemporalHypergraph

SHORTEST = 3


def check_settings(
    latents: Tensor,
    data: TemporalHypergraph | None,
    max_lag: int | None,
    min_effect: float,
    message_map: Tensor | str | None,
    replicates: bool,
    phi: float | None,
) -> None:
    """Refuse arguments outside what `discover` allows."""
    if latents.ndim != 3:
        raise ArgumentError(
            f"latents has shape {tuple(latents.shape)}; give [times, agents, dimensions] "
            "(scalar series: latents.unsqueeze(-1))"
        )
    times, agents, dim = latents.shape
    if times < SHORTEST:
        raise ArgumentError(f"latents has {times} times; influence over time needs at least {SHORTEST}")
    if agents < 2:
        raise ArgumentError(f"latents has {agents} agents; influence needs at least 2")
    if data is not None and (data.num_times, data.num_nodes) != (times, agents):
        raise ArgumentError(
            f"latents has {times} times and {agents} agents, but data has {data.num_times} and {data.num_nodes}; "
            "pass data.window(0, T) for the same times"
        )
    if max_lag is not None and max_lag < 1:
        raise ArgumentError(f"max_lag is {max_lag}; the smallest lag is 1 (effects within one time are not modelled)")
    if not (min_effect >= 0 and math.isfinite(min_effect)):
        raise ArgumentError(f"min_effect is {min_effect}; give a coefficient size of 0 or more, such as 0.02")
    if phi is not None and not phi >= 0:
        raise ArgumentError(f"phi is {phi}; give a variance ratio of 0 or more, or inf for fixed effects")
    _check_message_map(message_map, dim, replicates)


def _check_message_map(message_map: Tensor | str | None, dim: int, replicates: bool) -> None:
    if message_map is None:
        return
    if replicates or dim == 1:
        raise ArgumentError("message_map has no meaning for scalar series; leave it None")
    if isinstance(message_map, str):
        if message_map not in ("learn", "weigh"):
            raise ArgumentError(f"message_map is {message_map!r}; give a [D, D] tensor, 'learn', 'weigh' or None")
    elif tuple(message_map.shape) != (dim, dim):
        raise ArgumentError(
            f"message_map has shape {tuple(message_map.shape)}; latents of dimension {dim} ask for {(dim, dim)}"
        )


def check_latents(latents: Tensor, present: Tensor) -> None:
    """Refuse masks of another shape, NaN or infinity where an agent was seen, and panels without any variation."""
    if tuple(present.shape) != tuple(latents.shape[:2]):
        raise ArgumentError(f"mask has shape {tuple(present.shape)}; give [times, agents] {tuple(latents.shape[:2])}")
    broken = (~latents.isfinite()).any(-1) & present
    if bool(broken.any()):
        time, agent = broken.nonzero()[0].tolist()
        raise DataError(
            f"latents[{time}, {agent}] has NaN or infinity ({int(broken.sum())} such states); "
            "pass mask=False where an agent was not seen, or repair the encoder"
        )


def describe_agents(latents: Tensor, present: Tensor, candidates: CandidateLinks) -> tuple[Tensor, tuple[str, ...]]:
    """Agents that say nothing because they never change, and notes about those, duplicates and the lonely."""
    clean = torch.where(present.unsqueeze(-1), latents, torch.zeros_like(latents))
    silent = _constant(clean, present)
    if bool(silent.all()):
        raise DataError("latents do not change over time for any agent; there is nothing to explain")
    counts = torch.bincount(candidates.links[1][candidates.required], minlength=candidates.num_agents)
    if int(counts.max()) > CAP:
        raise ArgumentError(
            f"agent {int(counts.argmax())} has {int(counts.max())} required parents; at most {CAP} are allowed"
        )
    rows = (present[1:] & present[:-1]).sum(0)
    lonely = candidates.counts == 0
    twins = _duplicates(clean) & ~silent
    notes = [
        _note(silent, "never change: their links keep the prior probability"),
        _note(lonely, "have no candidates: no parents can be found for them, confidence 0"),
        _note(twins & ~lonely, "have the same series as another agent: such sources share their probability"),
        _note((rows < 2) & ~lonely & ~silent, "are seen at too few consecutive times: their links keep the prior"),
    ]
    return silent, tuple(n for n in notes if n)


def _constant(latents: Tensor, present: Tensor) -> Tensor:
    seen = present.unsqueeze(-1)
    low = torch.where(seen, latents, torch.inf).amin(0)
    high = torch.where(seen, latents, -torch.inf).amax(0)
    scale = latents.abs().amax((0, 2)).unsqueeze(-1)
    return (high - low <= 8 * torch.finfo(latents.dtype).eps * scale).all(-1)


def _duplicates(latents: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)  # a fixed projection: equal series get equal numbers
    direction = torch.randn(latents.shape[0], 1, latents.shape[2], generator=generator, dtype=torch.double)
    number = (latents * direction.to(latents)).sum((0, 2))
    _, inverse, counts = torch.unique(number, return_inverse=True, return_counts=True)
    return counts[inverse] > 1


def _note(which: Tensor, what: str) -> str:
    agents = which.nonzero().flatten().tolist()
    if not agents:
        return ""
    shown = ", ".join(map(str, agents[:5])) + (", ..." if len(agents) > 5 else "")
    return f"{len(agents)} agents {what} (indices {shown})"
