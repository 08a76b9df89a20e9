"""Interventions on simulated states: set, moved along the geodesic, drawn around a direction, or decided by a policy.

Directions are unit vectors. A state that is set or drawn has the length of a typical one, 1 in the metric of
:attr:`~sphunc.interventions.simulation.origin.Origin.state_metric`; a state that is moved keeps its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.interventions.resolve import StepInterventions
from sphunc.interventions.simulation.policies import policy_states
from sphunc.sphere import draw


def change_states(
    states: Float[Tensor, "structure followed draw axis"],
    interventions: StepInterventions,
    step: int,
    metric: Float[Tensor, "axis axis"],
    agents: Mapping[Hashable, int],
    generators: Sequence[torch.Generator],
    order: Int[Tensor, " agent"],
    number: Int[Tensor, " agent"] | None = None,
) -> set[int]:
    """Change states in place by what acts at a step.

    Args:
        states: of the interventional arm.
        interventions: what acts.
        step: steps after the origin.
        metric: in which a typical state has length 1.
        agents: index of every agent id.
        generators: one for each structure, used for states that are drawn.
        order: position in the data of each agent of ``states``; policies see agents in the order of the data.
        number: index in ``states`` of each agent; None where they are the same. Policies need all agents.

    Returns:
        Indices of the agents that policies set.
    """
    if not interventions.changes_states or not states.shape[-1]:
        return set()
    # Policies see the states of this step before any of them is changed.
    decided: set[int] = set()
    if interventions.policies:
        structures, count, draws, axes = states.shape
        samples = states.transpose(1, 2).reshape(structures * draws, count, axes)
        shown = torch.nn.functional.normalize(samples[:, torch.argsort(order)], dim=-1)
        index, chosen = policy_states(interventions, step, shown, agents)
        if len(index):
            unfolded = chosen.view(structures, draws, len(index), axes).transpose(1, 2)
            states[:, index] = typical(unfolded.to(states), metric)
            decided = set(index.tolist())
    if number is None:
        number = torch.arange(states.shape[1], device=states.device)
    holds = interventions.holds
    if len(holds):
        states[:, number[holds.agents]] = typical(holds.directions.to(states), metric)[None, :, None]
    shifts = interventions.shifts
    if len(shifts):
        angle = shifts.amounts.to(states)[:, None]
        toward = shifts.directions.to(states)[:, None]
        agents_moved = number[shifts.agents]
        states[:, agents_moved] = moved(states[:, agents_moved], toward, angle, metric)
    draws_around = interventions.draws
    if len(draws_around):
        for structure, generator in enumerate(generators):
            drawn = draw_directions(draws_around.directions, draws_around.amounts, states.shape[2], generator)
            states[structure, number[draws_around.agents]] = typical(drawn.transpose(0, 1).to(states), metric)
    return decided


def state_length(
    states: Float[Tensor, "*batch axis"], metric: Float[Tensor, "axis axis"]
) -> Float[Tensor, "*batch one"]:
    """Length of states in a metric, 1 for a typical one.

    Args:
        states: s.
        metric: M, of the length :math:`\\sqrt{s^\\top M s}`.
    """
    return ((states @ metric) * states).sum(-1, keepdim=True).clamp(min=0.0).sqrt()


def typical(
    directions: Float[Tensor, "*batch axis"], metric: Float[Tensor, "axis axis"]
) -> Float[Tensor, "*batch axis"]:
    """States of typical length in given directions; a zero vector stays one.

    Args:
        directions: of any length.
        metric: in which a typical state has length 1.
    """
    length = state_length(directions, metric)
    return directions / torch.where(length > 0, length, 1.0)


def moved(
    states: Float[Tensor, "*batch axis"],
    toward: Float[Tensor, "*batch2 axis"],
    angle: Float[Tensor, "*batch3"],
    metric: Float[Tensor, "axis axis"],
) -> Float[Tensor, "*batch axis"]:
    r"""Turn states along the geodesic toward a direction, by an angle at most, and not beyond its end.

    With :math:`\theta` the angle between them and :math:`\phi = \min(\text{angle}, \theta)`, the direction becomes
    :math:`\cos\phi\, h + \sin\phi\, e`, e the unit vector of the plane of both that is orthogonal to h. A state
    opposite to the direction has no such plane, and takes the direction only if the angle reaches :math:`\pi`.

    Args:
        states: of any length, which they keep.
        toward: unit vectors.
        angle: radians.
        metric: of lengths.
    """
    own = torch.nn.functional.normalize(states, dim=-1)
    toward = toward.expand_as(own)
    across = toward - (toward * own).sum(-1, keepdim=True) * own
    apart = torch.atan2(across.norm(dim=-1), (toward * own).sum(-1)).unsqueeze(-1)
    turned = torch.minimum(angle.unsqueeze(-1).expand_as(apart), apart)
    orthogonal = torch.nn.functional.normalize(across, dim=-1)
    direction = turned.cos() * own + turned.sin() * orthogonal
    direction = torch.where(turned >= apart, toward, direction)
    return state_length(states, metric) * typical(direction, metric)


def draw_directions(
    mu: Float[Tensor, "changed axis"],
    kappa: Float[Tensor, " changed"],
    count: int,
    generator: torch.Generator,
) -> Float[Tensor, "draw changed axis"]:
    """Draw directions from von Mises-Fisher distributions; on a line, one of its two.

    Args:
        mu: mean directions.
        kappa: concentrations.
        count: draws of each.
        generator: of the draws.
    """
    mu = mu.double()
    kappa = kappa.double()
    if mu.shape[-1] > 1:
        return draw(mu, kappa, count, generator)[0]
    uniform = torch.rand((count, len(mu)), generator=generator, dtype=torch.float64)
    same = uniform < torch.sigmoid(2.0 * kappa)
    return torch.where(same.unsqueeze(-1), mu, -mu)
