r"""Checks of the links of a fitted model: shocks of sources, both halves of the times, simulation from the fit.

What an agent receives over its links acts as a control input of its chain. Control inputs are split into parts, each
part gets one coefficient that all agents share, estimated from the innovations of the targets' Kalman filters:

.. math:: y_{i} = \sum_k b_k\, \Phi_{i} u_{ik} + e_{i}, \qquad e_i \sim N(0, I)

with :math:`u_{ik}` the parts and :math:`\Phi_i` the whitened response of the target. Coefficients are 1 if the model
is right. Errors are clustered by agent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from sphunc._typing import Float, Tensor
from sphunc.discovery import (
    InfluenceStability,
    ShockResponse,
    SimulatedCalibration,
    calibration_of,
    clustered_least_squares,
    response_of,
    stability_of,
)
from sphunc.hypergraph import Incidence
from sphunc.model.dynamics import (
    PADDING,
    Dynamics,
    Links,
    group_messages,
    next_state_mean,
    reduced_form,
    sum_over_sources,
)
from sphunc.model.kalman import kalman_filter, kalman_smoother, whitened_responses
from sphunc.model.link_calibration import DecoyComparison
from sphunc.model.structure import (
    ChainData,
    StructurePosterior,
    learn_structure,
    source_variance,
    without_common_shocks,
)

MARGIN = 0.05
"""How far above the share of links a probability has to be for the link to be checked."""
FEWEST_TARGETS = 5
FEWEST_TIMES = 5
SWEEPS = 30
LARGEST = 100.0
"""Lengths of a typical state beyond which a simulated path does not settle."""


def check_links(
    structure: StructurePosterior,
    comparison: DecoyComparison,
    dynamics: Dynamics,
    plain: Dynamics,
    data: ChainData,
    groups: Sequence[Incidence],
    seed: int,
) -> StructurePosterior:
    """Add the checks to a structure, by the names of ``InfluenceGraph.diagnostics``.

    Args:
        structure: posterior of the links, calibrated.
        comparison: with decoys, which calibrated it.
        dynamics: with which it was learned.
        plain: dynamics of the reduced form.
        data: observations and beliefs.
        groups: memberships at the observed times.
        seed: of the simulation.
    """
    shown = shown_links(structure)
    halves = check_halves(shown, dynamics, data)
    response = check_shocks(shown, dynamics, data)
    simulated = simulate_calibration(structure, comparison, dynamics, plain, data, groups, seed)
    figures = {
        **halves.figures(),
        **response.figures(),
        "simulated_links": float(simulated.shown),
        "simulated_precision": simulated.precision,
        "detectable": structure.detectable,
    }
    return replace(structure, diagnostics=(*structure.diagnostics, *figures.items()))


def shown_links(structure: StructurePosterior) -> Links:
    """Links whose probability is above the share of links; the others have no coefficient.

    Args:
        structure: posterior of the links.
    """
    links = structure.links
    is_shown = (links.probability > structure.prior.share + MARGIN) & links.is_candidate
    return replace(links, mean=links.mean * is_shown, square=links.square * is_shown, is_candidate=is_shown)


def check_halves(links: Links, dynamics: Dynamics, data: ChainData) -> InfluenceStability:
    """Test whether influence is the same in both halves of the times.

    Args:
        links: that are checked.
        dynamics: of the chains.
        data: observations and beliefs.
    """
    agents = _count_targets(links)
    times = len(data.observation) - PADDING
    if agents < FEWEST_TARGETS or times < FEWEST_TIMES:
        return InfluenceStability(math.nan, math.nan, math.nan, math.nan, agents)
    received = sum_over_sources(links.matrix(links.mean), data.states)
    is_late = (torch.arange(len(received), device=received.device) >= PADDING + times / 2).to(received)[:, None, None]
    parts = [received * (1 - is_late), received * is_late, data.messages]
    theta, covariance = _shared_coefficients(parts, links, dynamics, data)
    return stability_of(theta[:2], covariance[:2, :2], agents)


def check_shocks(links: Links, dynamics: Dynamics, data: ChainData) -> ShockResponse:
    """Split what agents receive into shocks of their sources and the rest.

    Args:
        links: that are checked.
        dynamics: of the chains.
        data: observations and beliefs.
    """
    agents = _count_targets(links)
    if agents < FEWEST_TARGETS or len(data.observation) - PADDING < FEWEST_TIMES:
        return ShockResponse(math.nan, math.nan, math.nan, math.nan, agents)
    matrix = links.matrix(links.mean)
    inertia = dynamics.inertia.unsqueeze(1)
    step = data.states[1:] - inertia * (data.states[:-1] + dynamics.group_force * data.messages[:-1])
    shocks = torch.cat([torch.zeros_like(step[:1]), step - step.mean(0, keepdim=True)])
    followed = sum_over_sources(matrix, shocks)
    same_time = torch.cat([followed[1:], torch.zeros_like(followed[:1])])
    rest = sum_over_sources(matrix, data.states) - followed
    theta, covariance = _shared_coefficients([followed, same_time, rest, data.messages], links, dynamics, data)
    return response_of(theta, covariance, agents)


def _count_targets(links: Links) -> int:
    return int(links.is_candidate.any(1).sum())


def _shared_coefficients(
    parts: Sequence[Float[Tensor, "time agent axis"]], links: Links, dynamics: Dynamics, data: ChainData
) -> tuple[Tensor, Tensor]:
    """Coefficients of control inputs that all targets share, and their covariance."""
    targets = links.is_candidate.any(1).nonzero().flatten()
    extra = source_variance(links, data.variance)[:, targets]
    chain = replace(dynamics, inertia=dynamics.inertia[targets]).chains(extra)
    observation = data.observation[:, targets]
    filtered = kalman_filter(chain, observation, data.precision[:, targets], torch.zeros_like(observation))
    controls = torch.stack([part[:, targets] for part in parts], -1)
    phi = whitened_responses(chain.inertia, filtered, controls).permute(1, 0, 2, 3).flatten(1, 2)
    residual = (filtered.innovation * filtered.precision.sqrt()).permute(1, 0, 2).flatten(1)
    moment = (phi.mT @ residual.unsqueeze(-1)).squeeze(-1)
    return clustered_least_squares(phi.mT @ phi, moment)


def simulate_calibration(
    structure: StructurePosterior,
    comparison: DecoyComparison,
    dynamics: Dynamics,
    plain: Dynamics,
    data: ChainData,
    groups: Sequence[Incidence],
    seed: int,
) -> SimulatedCalibration:
    """Parametric bootstrap: draw observations from the fit with a sampled structure, and find its links again.

    Args:
        structure: posterior of the links, with sampled structures.
        comparison: with decoys, which calibrates what is found.
        dynamics: with which the structure was learned.
        plain: dynamics of the reduced form.
        data: gives the precision of the observations.
        groups: memberships at the observed times.
        seed: of the simulation.
    """
    links = structure.links
    if not len(structure.draws):
        return SimulatedCalibration(0, 0, 0.0, 0)
    drawn = structure.draws[-1].to(links.mean)
    coefficients = torch.zeros_like(links.mean).scatter(1, structure.slots, drawn)
    exists = (coefficients != 0) & links.is_candidate
    generator = torch.Generator(device=links.mean.device).manual_seed(seed)
    states = simulate_states(dynamics, links.matrix(coefficients), len(data.observation), groups, generator)
    if not float(states.abs().max()) < LARGEST * dynamics.state_scale:
        return SimulatedCalibration(0, 0, 0.0, int(exists.sum()))
    is_observed = data.precision > 0
    deviation = torch.where(is_observed, data.precision, 1.0).rsqrt()
    observation = torch.where(is_observed, states + deviation * _normal(states, generator), 0.0)
    filtered = reduced_form(plain, observation, data.precision)
    mean, variance = kalman_smoother(plain.inertia.unsqueeze(1), filtered)
    messages = group_messages(mean, groups, plain.state_scale)
    replica = without_common_shocks(ChainData(observation, data.precision, mean, variance, messages))
    nothing = torch.zeros_like(links.mean)
    fresh = replace(links, probability=nothing, mean=nothing)
    found = learn_structure(
        dynamics,
        fresh,
        replica,
        structure.prior,
        sweeps=SWEEPS,
        burn_in=SWEEPS // 3,
        chains=1,
        seed=seed,
        adapts=False,
    )
    probability = comparison.calibrated(found.links.probability)
    return calibration_of(probability[links.is_candidate], exists[links.is_candidate])


def simulate_states(
    dynamics: Dynamics, matrix: Tensor, times: int, groups: Sequence[Incidence], generator: torch.Generator
) -> Float[Tensor, "time agent axis"]:
    """Draw states forward from before the first time.

    Args:
        dynamics: of the chains.
        matrix: sparse coefficients of the links, of :meth:`Links.matrix`.
        times: padded times.
        groups: memberships at the observed times.
        generator: source of randomness.
    """
    inertia = dynamics.inertia.unsqueeze(1)
    like = inertia * dynamics.initial_variance
    state = dynamics.initial_variance.sqrt() * _normal(like, generator)
    effect = inertia * dynamics.effect_variance.sqrt() * _normal(like, generator)
    path = [state]
    for t in range(times - 1):
        meeting = groups[min(max(t - PADDING, 0), len(groups) - 1)]
        influence = torch.sparse.mm(matrix, state)
        mean = next_state_mean(state, dynamics, effect, meeting, influence)
        state = mean + dynamics.transition_variance.sqrt() * _normal(like, generator)
        path.append(state)
    return torch.stack(path)


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=generator, dtype=like.dtype, device=generator.device)
