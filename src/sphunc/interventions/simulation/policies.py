"""Policies are called with simulated states, and what they decide is checked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import torch

from sphunc._checks import did_you_mean, is_name
from sphunc._typing import Float, Int, Tensor
from sphunc.errors import ArgumentError
from sphunc.interventions.resolve import StepInterventions, contradiction
from sphunc.interventions.values import UNIT_TOLERANCE, Intervention


def policy_states(
    interventions: StepInterventions,
    step: int,
    directions: Float[Tensor, "sample agent dim"],
    agents: Mapping[Hashable, int],
) -> tuple[Int[Tensor, " decided"], Float[Tensor, "sample decided dim"]]:
    """Directions that the policies of a step decide, and of which agents.

    Args:
        interventions: what acts at this step.
        step: steps after the origin.
        directions: h, simulated states as unit vectors; policies get a copy.
        agents: index of every agent id.
    """
    taken: dict[int, Intervention] = dict(interventions.sources)
    indices: list[int] = []
    decided: list[Tensor] = []
    for policy in interventions.policies:
        answer = policy.function(step, directions.clone())
        if not isinstance(answer, Mapping):
            raise ArgumentError(f"the policy returned {answer!r}; return a mapping from agents to states, or {{}}")
        for agent, value in answer.items():
            if not is_name(agent) or agent not in agents:
                hint = did_you_mean(agent, list(agents))
                raise ArgumentError(f"the policy set agent {agent!r}, which is not in the data{hint}")
            index = agents[agent]
            if index in taken:
                reason = f"the state of {agent!r} is decided twice"
                raise contradiction(taken[index], policy, reason)
            taken[index] = policy
            indices.append(index)
            decided.append(_decided_direction(agent, value, directions[:, index]))
    if not indices:
        return torch.zeros(0, dtype=torch.long), directions[:, :0]
    return torch.tensor(indices), torch.stack(decided, dim=1)


def _decided_direction(
    agent: Hashable, value: object, before: Float[Tensor, "sample dim"]
) -> Float[Tensor, "sample dim"]:
    try:
        # A policy may have learned what it decides: gradients end here.
        state = torch.as_tensor(value, dtype=before.dtype, device=before.device).detach()
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"the policy set {agent!r} to {value!r}; give a state, a vector of numbers") from None
    if state.shape not in (before.shape, before.shape[-1:]):
        allowed = f"numbers of shape {tuple(before.shape)} or {tuple(before.shape[-1:])}"
        raise ArgumentError(f"the policy set {agent!r} to a state of shape {tuple(state.shape)}; give {allowed}")
    if not bool(state.isfinite().all()):
        raise ArgumentError(f"the policy set {agent!r} to a state with an entry that is not finite; give a unit vector")
    lengths = state.norm(dim=-1).flatten()
    worst = float(lengths[(lengths - 1.0).abs().argmax()])
    if abs(worst - 1.0) > UNIT_TOLERANCE:
        raise ArgumentError(
            f"the policy set {agent!r} to a state of length {worst:.6g}, not 1; divide it by its length"
        )
    return torch.nn.functional.normalize(state, dim=-1).expand_as(before)
