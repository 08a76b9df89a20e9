r"""The structural assignment of the paper as one function of one parameter value, and its learning
without links.

Eq. (scm_structural) of the paper is here

.. math:: s_{i,t+1} = \lambda_i (s_{i,t} + p\, m_{i,t}) + c_i + \sum_{j \in Pa(i)} \beta_{ij} s_{j,t} + e,
          \quad e \sim N(0, Q), \quad c_i \sim N(0, \lambda_i^2 V)

m is the group message, :meth:`~sphunc.hypergraph.incidence.Incidence.cohesive_mean`; c the
persistent exogenous U_i. Smoother, simulation and structure learning all use
:func:`next_state_mean` or the chains made here.

Nothing bounds the length of a state here: chains are linear in their own state, which the filter
needs. Only the simulation draws the mean of a transition that would be longer than a typical state
back to that length (:mod:`sphunc.interventions.simulation.rollout`): links drawn from their
posterior and states set by interventions could otherwise add up over many steps to lengths that no
training state had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.optimize import minimize

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Int, Tensor
from sphunc.hypergraph import Incidence
from sphunc.model.kalman import ChainParameters, Filtered, kalman_filter

PADDING = 2
"""Unobserved steps before the first time: the first observed state is itself the result of
influence."""
AXIS_SPREAD = {"noise_ratio": 0.3, "effect_variance": 0.7}
"""Prior deviation of log parameters between axes: axes differ, but not without bound."""
MOST_AGENTS = 600
"""Agents that hyperparameters are learned from."""
LARGEST_INERTIA = 0.98
SMALLEST_COEFFICIENT = 1e-4
"""Expected coefficients below this are left out of forecasts."""


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Parameters of the structural assignment.

    Attributes:
        inertia: lambda of each agent ``[N]``.
        transition_variance: Q, of each axis ``[K]``.
        effect_variance: V, of the persistent effects in units of inertia ``[K]``.
        observation_variance: R, of each axis ``[K]``.
        initial_variance: of the state two steps before the first time ``[K]``.
        group_force: p.
        state_scale: length of a typical state, the unit of cohesion.
    """

    inertia: Float[Tensor, " agent"]
    transition_variance: Float[Tensor, " axis"]
    effect_variance: Float[Tensor, " axis"]
    observation_variance: Float[Tensor, " axis"]
    initial_variance: Float[Tensor, " axis"]
    group_force: float
    state_scale: float

    def chains(self, added_variance: Tensor | None = None) -> ChainParameters:
        """Parameters of the chains that the filter runs on.

        Args:
            added_variance: variance of what acts on the agents from outside their chains ``[T, N,
                K]``.
        """
        noise = self.transition_variance
        if added_variance is not None:
            noise = noise + added_variance
        return ChainParameters(
            inertia=self.inertia.unsqueeze(1),
            transition_variance=noise,
            effect_variance=self.inertia.unsqueeze(1).square() * self.effect_variance,
            initial_variance=self.initial_variance,
        )

    def for_agents(self, place: Int[Tensor, " agent"]) -> Dynamics:
        """Return the same dynamics for other agents.

        Args:
            place: position of each agent among those learned, -1 for unseen agents, who get the
                typical inertia.
        """
        typical = self.inertia.log().mean().exp()
        inertia = torch.where(place >= 0, self.inertia[place.clamp(min=0)], typical)
        return replace(self, inertia=inertia)


@dataclass(frozen=True, eq=False)
class Links:
    """Candidate links of every target, padded to J, with the posterior moments of their
    coefficients.

    Attributes:
        source: agent that may act on the target ``[N, J]``.
        is_candidate: False for padding ``[N, J]``.
        probability: of the link ``[N, J]``.
        mean: posterior mean of the coefficient beta, 0 where there is no link ``[N, J]``.
        square: posterior mean of its square ``[N, J]``.
    """

    source: Int[Tensor, "agent candidate"]
    is_candidate: Tensor
    probability: Float[Tensor, "agent candidate"]
    mean: Float[Tensor, "agent candidate"]
    square: Float[Tensor, "agent candidate"]

    def matrix(self, values: Float[Tensor, "agent candidate"], sources: int | None = None) -> Tensor:
        """Sparse matrix ``[target, source]`` of some value per link; negligible entries are left
        out.

        Args:
            values: of each candidate.
            sources: how many sources there are, where more than the agents.
        """
        large = values.abs() > SMALLEST_COEFFICIENT**2
        target, slot = (large & self.is_candidate).nonzero(as_tuple=True)
        index = torch.stack([target, self.source[target, slot]])
        agents = len(values)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            return torch.sparse_coo_tensor(index, values[target, slot], (agents, sources or agents)).coalesce()

    def for_agents(self, place: Int[Tensor, " agent"], learned: int) -> Links:
        """Return the links between other agents.

        Args:
            place: position of each agent among those learned, -1 for unseen agents, who have no
                links.
            learned: number of agents learned.
        """
        now = torch.full((learned,), -1, device=place.device)
        known = place >= 0
        now[place[known]] = torch.arange(len(place), device=place.device)[known]
        rows = place.clamp(min=0)
        source = now[self.source[rows]]
        there = self.is_candidate[rows] & known.unsqueeze(1) & (source >= 0)
        return Links(
            source=source.clamp(min=0),
            is_candidate=there,
            probability=self.probability[rows] * there,
            mean=self.mean[rows] * there,
            square=self.square[rows] * there,
        )


def sum_over_sources(matrix: Tensor, states: Float[Tensor, "time source axis"]) -> Float[Tensor, "time agent axis"]:
    """Sum of the sources' states, weighted by a sparse matrix ``[target, source]``.

    Args:
        matrix: of :meth:`Links.matrix`.
        states: of all agents at all times.
    """
    times, sources, axes = states.shape
    flat = states.permute(1, 0, 2).reshape(sources, times * axes)
    summed = torch.sparse.mm(matrix, flat)
    return summed.view(len(summed), times, axes).permute(1, 0, 2)


def group_messages(
    states: Float[Tensor, "time agent axis"], groups: Sequence[Incidence], scale: float
) -> Float[Tensor, "time agent axis"]:
    """Group message at every time, padding included; before the first and after the last time these
    groups meet.

    Args:
        states: of all agents at the padded times.
        groups: memberships at the observed times.
        scale: length of a typical state.
    """
    messages = []
    for t in range(len(states)):
        place = min(max(t - PADDING, 0), len(groups) - 1)
        messages.append(groups[place].cohesive_mean(states[t], scale))
    return torch.stack(messages)


def next_state_mean(
    states: Float[Tensor, "agent *batch axis"],
    dynamics: Dynamics,
    effect: Float[Tensor, "agent *batch axis"],
    groups: Incidence,
    influence: Float[Tensor, "agent *batch axis"],
) -> Float[Tensor, "agent *batch axis"]:
    r"""Mean of the structural assignment F_i, eq. (scm_structural) of the paper.

    .. math:: E[s_{i,t+1}] = \lambda_i (s_{i,t} + p\, m_{i,t}) + c_i + \sum_{j \in Pa(i)} \beta_{ij} s_{j,t}

    Args:
        states: s, agents first, axes last.
        dynamics: inertia and group force.
        effect: persistent effects c.
        groups: who meets whom at t.
        influence: sum over the parents, :math:`\sum_j \beta_{ij} s_{j,t}`.
    """
    inertia = dynamics.inertia.view(-1, *(1,) * (states.ndim - 1))
    message = groups.cohesive_mean(states, dynamics.state_scale)
    return inertia * (states + dynamics.group_force * message) + effect + influence


def initial_dynamics(signal: Float[Tensor, " axis"], noise: Float[Tensor, " axis"], num_agents: int) -> Dynamics:
    """Where learning starts.

    Args:
        signal: lag-one autocovariance of each axis.
        noise: first guess of the observation noise.
        num_agents: N.
    """
    ones = torch.ones_like(signal)
    return Dynamics(
        inertia=torch.full((num_agents,), 0.3).to(signal),
        transition_variance=0.25 * ones,
        effect_variance=4.0 * ones,
        observation_variance=noise,
        initial_variance=signal.clamp(min=0.1),
        group_force=0.0,
        state_scale=float(signal.sum().sqrt()),
    )


def learn_chains(
    dynamics: Dynamics,
    observation: Float[Tensor, "time agent axis"],
    added_noise: Float[Tensor, "time agent axis"],
    observed: Tensor,
    control: Float[Tensor, "time agent axis"],
    added_variance: Float[Tensor, "time agent axis"],
    *,
    with_inertia: bool,
    iterations: int,
) -> Dynamics:
    """Maximise the marginal likelihood of all observations over the variances, and over one common
    inertia.

    Args:
        dynamics: where to start.
        observation: z at the padded times ``[T, N, K]``.
        added_noise: observation variance that missing features add.
        observed: True where there is an observation ``[T, N, 1]``.
        control: what acts on the agents from outside their chains.
        added_variance: its variance.
        with_inertia: also learn the inertia, the same for all, and the observation noise.
        iterations: of L-BFGS.
    """
    some = evenly_spaced(observation.shape[1], MOST_AGENTS, observation.device)
    parts = [value[:, some] for value in (observation, added_noise, observed, control, added_variance)]
    fixed = replace(dynamics, inertia=dynamics.inertia[some])
    start = _to_logs(fixed, with_inertia)

    def loss(logs: Mapping[str, Tensor]) -> Tensor:
        current = _from_logs(fixed, logs)
        z, noise, seen, controls, added = parts
        precision = seen / (current.observation_variance + noise)
        filtered = kalman_filter(current.chains(added), z, precision, controls)
        return -filtered.log_likelihood.sum() + _axis_prior(logs)

    found = minimise(loss, start, iterations)
    learned = _from_logs(fixed, found)
    inertia = dynamics.inertia
    if with_inertia:
        inertia = learned.inertia[:1].expand_as(dynamics.inertia).clone()
    return replace(learned, inertia=inertia)


def _to_logs(dynamics: Dynamics, with_inertia: bool) -> dict[str, Tensor]:
    level = dynamics.transition_variance.log().mean(0, keepdim=True)
    logs = {
        "noise_level": level,
        "noise_ratio": dynamics.transition_variance.log() - level,
        "effect_variance": dynamics.effect_variance.log(),
    }
    if with_inertia:
        logs["inertia"] = torch.logit(dynamics.inertia[:1])
        logs["observation_variance"] = dynamics.observation_variance.log()
    return logs


def _from_logs(dynamics: Dynamics, logs: Mapping[str, Tensor]) -> Dynamics:
    changed = replace(
        dynamics,
        transition_variance=(logs["noise_level"] + logs["noise_ratio"]).exp().clamp(min=1e-4),
        effect_variance=logs["effect_variance"].exp(),
    )
    if "inertia" not in logs:
        return changed
    inertia = LARGEST_INERTIA * torch.sigmoid(logs["inertia"])
    return replace(
        changed,
        inertia=inertia.expand(len(dynamics.inertia)),
        observation_variance=logs["observation_variance"].exp().clamp(min=1e-3),
    )


def _axis_prior(logs: Mapping[str, Tensor]) -> Tensor:
    ratio = logs["noise_ratio"] / AXIS_SPREAD["noise_ratio"]
    effect = logs["effect_variance"]
    between = (effect - effect.mean()) / AXIS_SPREAD["effect_variance"]
    return 0.5 * (ratio.square().sum() + between.square().sum())


def minimise(
    loss: Callable[[Mapping[str, Tensor]], Tensor], start: Mapping[str, Tensor], iterations: int
) -> dict[str, Tensor]:
    """Minimise a smooth function of named tensors by L-BFGS, with gradients by automatic
    differentiation.

    Args:
        loss: the function.
        start: where to begin.
        iterations: at most this many.
    """
    sizes = [value.numel() for value in start.values()]
    like = next(iter(start.values()))
    first = torch.cat([value.flatten() for value in start.values()])

    def unpack(flat: Tensor) -> dict[str, Tensor]:
        parts = flat.split(sizes)
        return {name: part.view(value.shape) for (name, value), part in zip(start.items(), parts, strict=True)}

    scale = max(1.0, abs(float(loss(start))))

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        flat = torch.from_numpy(values).to(like).requires_grad_()
        value = loss(unpack(flat)) / scale
        (gradient,) = torch.autograd.grad(value, flat)
        return float(value.detach()), gradient.cpu().numpy()

    found = minimize(
        objective,
        first.detach().cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "ftol": 1e-8, "gtol": 1e-6},
    )
    return unpack(torch.from_numpy(found.x).to(like))


def reduced_form(
    dynamics: Dynamics,
    observation: Float[Tensor, "time agent axis"],
    precision: Float[Tensor, "time agent axis"],
) -> Filtered:
    """Filter every agent by itself, without groups and links.

    Args:
        dynamics: learned without them.
        observation: z at the padded times.
        precision: of z.
    """
    return kalman_filter(dynamics.chains(), observation, precision, torch.zeros_like(observation))
