r"""The shared map of messages :math:`\Phi`, when it is not the identity: alternate links and map.

Given soft links, what a target does beyond its own past is regressed on the sum of what it received. Two maps come of
that. The nearest orthogonal matrix (Procrustes) is for states that are turned on their way. The regression itself is
for latents that are seen through noise: it passes a direction on as far as what is seen there tells what was sent,
and a direction that nobody passes on (a trait, a measuring device) hardly at all. Both need more rows than
coefficients.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sphunc.causal.estimation import POOLED_TARGETS, Problem, estimate, hyper_parameters, spread_targets
from sphunc.causal.panel import with_values
from sphunc.errors import ArgumentError
from sphunc.nn.structural import influence_sum

ROUNDS = 12
WEIGHINGS = 2  # a third changes AUPRC by less than 0.01
ROWS_PER_COEFFICIENT = 5  # with fewer the regression learns the noise by heart
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
    rotation = procrustes(residual, _received(problem, weight))
    for _ in range(ROUNDS):
        mapped = _through(problem, rotation.T)
        hyper = hyper_parameters(mapped, lags, min_effect, seed=seed)
        result = estimate(mapped, hyper, seed=seed)
        weight = (result.probability * result.strength).to(plain)
        latest = procrustes(residual, _received(problem, weight))
        settled = float((latest * rotation).sum() / dim) > SETTLED
        rotation = latest
        if settled:
            break
    return _through(problem, rotation.T)


def weigh_messages(problem: Problem, lags: int, min_effect: float, phi: float | None = None, seed: int = 0) -> Problem:
    """Return the problem with messages weighed, direction by direction, by how much of them is passed on.

    The strongest direction is passed on with weight 1, so that coefficients are those of states seen without noise.
    Where there are too few rows to tell the directions apart, the problem is returned as it is.
    """
    dim = problem.panel.shape[2]
    targets = spread_targets(problem, POOLED_TARGETS)
    rows = int(_kept(problem)[targets].sum()) - len(targets)
    if rows < ROWS_PER_COEFFICIENT * 2 * dim or dim == 1:
        return problem
    weighed = problem
    for _ in range(WEIGHINGS):
        hyper = hyper_parameters(weighed, lags, min_effect, phi, targets=targets, learn=False, seed=seed)
        result = estimate(weighed, hyper, targets=targets, seed=seed)
        weight = (result.probability * result.strength).to(problem.panel.values)
        weighed = _through(problem, _regression(problem, weight, targets))
    return weighed


def _regression(problem: Problem, weight: Tensor, targets: Tensor) -> Tensor:
    """Coefficients ``[D, D]`` of what was received, beside all of the own state and of the groups' pull."""
    panel, kept = problem.panel, _kept(problem)
    columns = [panel.values[:, :-1], *([] if panel.pull is None else [panel.pull[:, :-1]])]
    demeaned = [_demean(column, kept)[targets].flatten(0, 1) for column in columns]
    received = _received(problem, weight)[targets].flatten(0, 1)
    design = torch.cat([*demeaned, received], 1)
    outcome = _demean(panel.values[:, 1:], kept)[targets].flatten(0, 1)
    normal = design.mT @ design
    ridge = 1e-6 * normal.diagonal().mean() * torch.eye(len(normal), dtype=normal.dtype, device=normal.device)
    passed = torch.linalg.solve(normal + ridge, design.mT @ outcome)[-panel.shape[2] :]
    size = torch.linalg.matrix_norm(passed, 2)
    return passed / size if bool(size > 0) else torch.eye(len(passed), dtype=passed.dtype, device=passed.device)


def procrustes(outcome: Tensor, received: Tensor) -> Tensor:
    r"""Orthogonal R that minimises :math:`\sum \|y - R x\|^2` over rows."""
    left, _, right = torch.linalg.svd(outcome.flatten(0, 1).T @ received.flatten(0, 1))
    return left @ right


def _residuals(problem: Problem) -> Tensor:
    """What each state does beyond the agent's own past and mean, ``[N, T-1, D]``."""
    values, kept = problem.panel.values, _kept(problem)
    after, before = _demean(values[:, 1:], kept), _demean(values[:, :-1], kept)
    slope = (after * before).sum() / before.square().sum()
    return after - slope * before


def _received(problem: Problem, weight: Tensor) -> Tensor:
    """Sum of what reaches each agent at every time but the last, without its mean, ``[N, T-1, D]``."""
    sent = problem.panel.values[:, :-1]
    total = influence_sum(sent.flatten(1), problem.candidates.links, weight).view(sent.shape)
    return _demean(total, _kept(problem))


def _kept(problem: Problem) -> Tensor:
    """1 for the steps at both ends of which an agent was seen, ``[N, T-1, 1]``."""
    present = problem.panel.present
    return (present[:, 1:] & present[:, :-1]).unsqueeze(-1).to(problem.panel.values.dtype)


def _through(problem: Problem, route: Tensor) -> Problem:
    """Return the problem with messages through a map."""
    return replace(problem, panel=with_values(replace(problem.panel, route=route), problem.panel.values))


def _demean(values: Tensor, kept: Tensor) -> Tensor:
    return (values - (values * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp(min=1)) * kept
