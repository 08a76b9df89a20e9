"""The belief filter: evidence of one time after another, carried on by the structural step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Links
from sphunc.legacy.run import Filtered
from sphunc.legacy.step import Step

Tell = Callable[[int, Tensor], Tensor]
"""From a time and the natural parameters ``[N, D]`` before its outcomes to what these outcomes add."""


def filter_beliefs(
    step: Step,
    looks: Float[Tensor, "time agent dim"],
    tell: Tell | None,
    seen: Bool[Tensor, "time agent"],
    pull: Any,
    links: Links,
    gates: Float[Tensor, " link"],
    horizon: int,
) -> Filtered:
    """Believe at every time what was seen and told there, on top of what the step made of the time before.

    Args:
        step: the structural step.
        looks: natural parameter of the evidence of features and company; 0 where there is none.
        tell: evidence of outcomes; None if they do not count.
        seen: who shows or tells anything at each time.
        pull: memberships of each time, or None where nobody meets.
        links: source and target of each link.
        gates: coefficient of each link.
        horizon: steps from a belief to the state that a forecast reads.
    """
    evidence, beliefs, ahead, states, priors = [], [], [], [], []
    prior = lasting = torch.zeros_like(looks[0])
    count = (seen.cumsum(0) - seen.long()).to(looks.dtype)
    for time, look in enumerate(looks.unbind()):  # not time by time: each would get a gradient of full size
        now = look if tell is None else look + tell(time, prior + look)
        evidence.append(now)
        beliefs.append(prior + now)
        m = step.mean(beliefs[-1])
        lasting = step.lasting(lasting, m, step.mean(prior), count[time], seen[time])
        priors.append(lasting)
        prior = step.strength * step.drive(m, lasting, pull[time], links, gates)
        ahead.append(prior)
        if horizon > 1:
            states.append(roll(step, prior, lasting, pull[time], links, gates, horizon)[-1])
    one_step = torch.stack(ahead)
    return Filtered(evidence, beliefs, one_step, torch.stack(states) if states else one_step, priors)


def roll(
    step: Step,
    state: Float[Tensor, "agent dim"],
    lasting: Float[Tensor, "agent dim"],
    groups: Any,
    links: Links,
    gates: Float[Tensor, " link"],
    horizon: int,
) -> list[Tensor]:
    """States 1 ... ``horizon`` steps on, of which ``state`` is the first."""
    states = [state]
    for _ in range(horizon - 1):
        states.append(step.strength * step(states[-1], lasting, groups, links, gates))
    return states
