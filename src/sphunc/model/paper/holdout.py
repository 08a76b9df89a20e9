"""Which outcomes the literal model learns from, calibrates on and stops on."""

from __future__ import annotations

import torch

from sphunc._typing import Tensor
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper.objective import PaperTargets

FEWEST_ORIGINS = 5
"""Origins from which on the last ones are held out; below, agents are."""
HELD_OUT_SHARE = 0.2
"""Share of the origins, or of the agents, that is held out."""


def hold_out(data: TemporalHypergraph, horizon: int, generator: torch.Generator) -> tuple[PaperTargets, int]:
    """Lay outcomes beside their origins, and hold out later origins, or agents where times are few.

    The agents of what is held out are dealt in two halves: residuals of one calibrate the total
    uncertainty, outcomes of the other stop training and set the temperature.

    Args:
        data: T times.
        horizon: steps from origin to target.
        generator: deals the agents.

    Returns:
        The targets, and the number of times that training may read.
    """
    assert data.y is not None
    N = data.num_nodes
    origins = data.num_times - horizon
    outcome = torch.zeros_like(data.y)
    outcome[:origins] = data.y[horizon:]
    mask = torch.zeros_like(data.y_mask)
    mask[:origins] = data.y_mask[horizon:]
    order = torch.randperm(N, generator=generator, device=data.device)
    place = torch.empty_like(order)
    place[order] = torch.arange(N, device=data.device)
    is_even = place % 2 == 0

    held = torch.zeros_like(mask)
    stop = data.num_times
    if origins >= FEWEST_ORIGINS:
        count = max(1, round(HELD_OUT_SHARE * origins))
        first = origins - count
        held[first:] = True
        # Training ends with the last target that is known at the first held-out origin.
        is_trained = torch.zeros_like(mask)
        is_trained[: max(first - horizon + 1, 1)] = True
        if bool((mask & held).any()) and bool((mask & is_trained).any()):
            stop = max(first - horizon + 1, 1) + horizon
            return _targets(outcome, mask & is_trained, mask & held, is_even), stop
    held = (place < round(HELD_OUT_SHARE * N)).expand_as(mask)
    if not bool((mask & ~held).any()):
        held = torch.zeros_like(mask)
    return _targets(outcome, mask & ~held, mask & held, is_even), data.num_times


def _targets(outcome: Tensor, train: Tensor, held: Tensor, is_even: Tensor) -> PaperTargets:
    calibration = held & is_even
    validation = held & ~is_even
    if not bool(calibration.any()) or not bool(validation.any()):
        calibration = held
        validation = held
    return PaperTargets(outcome, train, calibration, validation)
