r"""The shared map of messages :math:`\Phi`, when it is not the identity: alternate links and an orthogonal map.

Given soft links, what a target does beyond its own past is regressed on the sum of what it received; the nearest
orthogonal matrix (Procrustes) is the next map. Needs many more rows than D squared.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sphunc.causal.estimation import Problem, estimate, hyper_parameters
from sphunc.causal.panel import with_values
from sphunc.errors import ArgumentError

ROUNDS = 12
SETTLED = 0.999  # cosine between successive maps at which the alternation stops


def learn_message_map(problem: Problem, lags: int, min_effect: float, seed: int = 0) -> Problem:
    """Return the problem with messages through the learned map."""
    agents, times, dim = problem.panel.shape
    if agents * (times - 1) < 2 * dim:
        raise ArgumentError(
            f"message_map='learn' needs more rows than coordinates; {agents} agents x {times - 1} steps are too few "
            f"for {dim} dimensions. Give message_map as a [D, D] tensor or leave it None"
        )
    residual = _residuals(problem)
    plain = problem.panel.values
    weight = torch.ones_like(problem.candidates.links[0], dtype=plain.dtype)
    rotation = procrustes(residual, _received(problem, plain, weight))
    for _ in range(ROUNDS):
        mapped = replace(problem, panel=with_values(replace(problem.panel, route=rotation.T), plain))
        hyper = hyper_parameters(mapped, lags, min_effect, seed=seed)
        result = estimate(mapped, hyper, seed=seed)
        weight = (result.probability * result.strength).to(plain)
        latest = procrustes(residual, _received(problem, plain, weight))
        settled = float((latest * rotation).sum() / dim) > SETTLED
        rotation = latest
        if settled:
            break
    return replace(problem, panel=with_values(replace(problem.panel, route=rotation.T), plain))


def procrustes(outcome: Tensor, received: Tensor) -> Tensor:
    r"""Orthogonal R that minimises :math:`\sum \|y - R x\|^2` over rows."""
    left, _, right = torch.linalg.svd(outcome.flatten(0, 1).T @ received.flatten(0, 1))
    return left @ right


def _residuals(problem: Problem) -> Tensor:
    """What each state does beyond the agent's own past and mean, ``[N, T-1, D]``."""
    values = problem.panel.values
    kept = (problem.panel.present[:, 1:] & problem.panel.present[:, :-1]).unsqueeze(-1).to(values.dtype)
    after, before = _demean(values[:, 1:], kept), _demean(values[:, :-1], kept)
    slope = (after * before).sum() / before.square().sum()
    return after - slope * before


def _received(problem: Problem, values: Tensor, weight: Tensor) -> Tensor:
    source, target = problem.candidates.links
    kept = (problem.panel.present[:, 1:] & problem.panel.present[:, :-1]).unsqueeze(-1).to(values.dtype)
    total = torch.zeros_like(values[:, :-1])
    for part in torch.arange(len(source), device=source.device).split(65536):
        total.index_add_(0, target[part], values[source[part], :-1] * weight[part, None, None])
    return _demean(total, kept)


def _demean(values: Tensor, kept: Tensor) -> Tensor:
    return (values - (values * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp(min=1)) * kept
