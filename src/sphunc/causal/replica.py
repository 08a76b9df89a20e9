"""Panels drawn from the fitted model with links that are known: what the method would see if its model were true."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc.causal.estimation import Problem, batches
from sphunc.causal.gram import Columns, design, partial_demean
from sphunc.causal.panel import Panel, pull_at, with_values
from sphunc.causal.posterior import Hyper

STABLE = 0.98  # largest growth per step that a replica of an unbounded series may have


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What moves the agents, given links: own lags ``[N, L]``, pull ``[N]``, drift ``[N, D]``, noise ``[N]``."""

    own: Tensor
    pull: Tensor
    drift: Tensor
    noise: Tensor
    coefficient: Tensor
    lag: Tensor


def fit_mechanism(
    problem: Problem, hyper: Hyper, coefficient: Tensor, lag: Tensor, generator: torch.Generator
) -> Mechanism:
    """Fit own lags, pull, drift (start, bias, constant) and noise to the data, the links being given."""
    agents, _, dim = problem.panel.shape
    values = problem.panel.values
    own, pull = values.new_zeros(agents, hyper.lags), values.new_zeros(agents)
    drift, noise = values.new_zeros(agents, dim), values.new_zeros(agents)
    for batch in batches(problem, problem.explained, hyper.lags):
        sources, position = problem.candidates.table(batch)
        columns = design(problem.panel, batch, sources, hyper.lags)
        weights = _lagged(coefficient, lag, position, hyper.lags).to(values)
        fixed, bias, variance = _fit_batch(columns, weights, hyper, generator)
        own[batch] = fixed[:, : hyper.lags]
        if problem.panel.pull is not None:
            pull[batch] = fixed[:, hyper.lags + 2]
        drift[batch] = _constant_part(columns, fixed, problem, hyper) + bias
        noise[batch] = variance
    return Mechanism(own, pull, drift, noise, coefficient.to(values), lag)


def _lagged(coefficient: Tensor, lag: Tensor, position: Tensor, lags: int) -> Tensor:
    """Coefficients per design column, ``[B, slots * lags]``."""
    taken = torch.where(position >= 0, coefficient[position.clamp(min=0)], torch.zeros_like(coefficient[:1]))
    at = lag[position.clamp(min=0)]
    return torch.cat([torch.where(at == k, taken, torch.zeros_like(taken)) for k in range(1, lags + 1)], 1)


def _fit_batch(columns: Columns, weights: Tensor, hyper: Hyper, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Nuisance coefficients, a draw of the persistent bias, and the noise variance."""
    k = columns.nuisance
    received = (columns.values[:, k:-1] * weights[..., None, None]).sum(1)
    left = columns.values[:, -1] - received
    stacked = torch.cat([columns.values[:, :k], left.unsqueeze(1)], 1)
    z = partial_demean(replace(columns, values=stacked), hyper.phi).double()
    square, cross = z[:, :-1] @ z[:, :-1].mT, z[:, :-1] @ z[:, -1:].mT
    scale = square.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300).rsqrt()
    inverse = torch.linalg.pinv(square * scale[:, :, None] * scale[:, None], hermitian=True, rtol=1e-8)
    fixed = scale[:, :, None] * (inverse @ (scale[:, :, None] * cross))
    rss = z[:, -1].square().sum(1) - (fixed * cross).sum((1, 2))
    free = (columns.rows.double() * hyper.dim - k).clamp(min=1)
    variance = (rss / free).clamp(min=0).to(left)
    fixed = fixed.squeeze(-1).to(left)
    residual = left - (columns.values[:, :k] * fixed[:, :, None, None]).sum(1)
    rows = columns.rows.clamp(min=1)
    mean = residual.sum(1) / rows[:, None]
    phi = min(hyper.phi, 1e6)
    gain = (rows * phi / (1 + rows * phi))[:, None]
    spread = (variance * phi / (1 + rows * phi)).sqrt()[:, None]
    noise = torch.randn(mean.shape, generator=generator, dtype=torch.double).to(mean)
    return fixed, gain * mean + spread * noise, variance


def _constant_part(columns: Columns, fixed: Tensor, problem: Problem, hyper: Hyper) -> Tensor:
    """Contribution of the columns that do not change over time: the two starts, and the constant."""
    row = columns.weight.argmax(1)
    batch = torch.arange(len(row), device=row.device)
    constant = [hyper.lags, hyper.lags + 1] + ([columns.nuisance - 1] if problem.panel.intercept else [])
    return sum(fixed[:, c, None] * columns.values[batch, c, row] for c in constant)  # pyright: ignore[reportReturnType]


def draw_replica(problem: Problem, mechanism: Mechanism, blur: float, generator: torch.Generator) -> Problem:
    """Run the mechanism from the observed start, and see the states through ``blur`` (sd of the latents' own noise).

    Agents that are not explained keep their observed series.
    """
    panel = problem.panel
    path = [panel.values[:, t] for t in range(mechanism.own.shape[1])]
    held = torch.ones(panel.shape[0], dtype=torch.bool, device=panel.values.device)
    held[problem.explained] = False
    shrink = _stabiliser(problem, mechanism)
    back = torch.linalg.pinv(panel.root, hermitian=True)
    for time in range(len(path), panel.shape[1]):
        drive = shrink * _drive(problem, mechanism, path, time) + mechanism.drift
        noise = torch.randn(drive.shape, generator=generator, dtype=torch.double).to(drive)
        state = on_sphere(drive + mechanism.noise.sqrt()[:, None] * noise, panel, back)
        path.append(torch.where(held[:, None], panel.values[:, time], state))
    values = torch.stack(path, 1)
    if blur > 0:
        noise = torch.randn(values.shape, generator=generator, dtype=torch.double).to(values)
        values = torch.where(held[:, None, None], values, on_sphere(values + blur * noise, panel, back))
    return replace(problem, panel=with_values(panel, values))


def on_sphere(whitened: Tensor, panel: Panel, back: Tensor) -> Tensor:
    """Bring whitened states back to unit length in raw coordinates, where the raw states have it."""
    if not panel.unit:
        return whitened
    raw = whitened @ back + panel.centre.reshape(-1)
    return (torch.nn.functional.normalize(raw, dim=-1) - panel.centre.reshape(-1)) @ panel.root


def _drive(problem: Problem, mechanism: Mechanism, path: list[Tensor], time: int) -> Tensor:
    panel, (source, target) = problem.panel, problem.candidates.links
    drive = torch.zeros_like(path[0])
    for lag in range(1, mechanism.own.shape[1] + 1):
        state = path[time - lag]
        drive = drive + mechanism.own[:, lag - 1, None] * state
        sent = state if panel.route is None else state @ panel.route
        active = ((mechanism.lag == lag) & (mechanism.coefficient != 0)).nonzero().flatten()
        drive.index_add_(0, target[active], sent[source[active]] * mechanism.coefficient[active, None])
        if lag == 1 and panel.groups is not None:
            drive = drive + mechanism.pull[:, None] * pull_at(sent, panel.present[:, time - 1], panel.groups, time - 1)
    return drive


def _stabiliser(problem: Problem, mechanism: Mechanism) -> float:
    """Factor that keeps unbounded series from exploding: the inverse of the growth per step where that exceeds 1."""
    if problem.panel.unit:
        return 1.0
    state = torch.ones_like(problem.panel.values[:, 0])
    growth = 1.0
    for _ in range(30):
        state = state / state.norm()
        state = _drive(problem, mechanism, [state] * mechanism.own.shape[1], mechanism.own.shape[1])
        growth = float(state.norm())
        if growth == 0:
            return 1.0
    return min(1.0, STABLE / growth)
