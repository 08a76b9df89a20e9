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
MOST_NOISE = 0.75  # share of any direction of the design that may be taken for noise: amplifies at most four times
LEAST_PROCESS = 0.05  # share of the residual variance that stays with the process


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
    problem: Problem,
    hyper: Hyper,
    coefficient: Tensor,
    lag: Tensor,
    generator: torch.Generator,
    *,
    is_link: Tensor | None = None,
    blur: float = 0.0,
) -> Mechanism:
    r"""Fit own lags, pull, drift (start, bias, constant) and noise to the data, the links being given.

    With ``blur`` (the sd :math:`\omega` of the latents' own noise) the coefficients of a regression on such latents are
    too small; own lags and links (``is_link``) are those that, seen through the noise, would look as they do:

    .. math:: (G - n D \omega^2 I)\,\theta = G\,\hat\theta
    """
    agents, _, dim = problem.panel.shape
    values = problem.panel.values
    own, pull = values.new_zeros(agents, hyper.lags), values.new_zeros(agents)
    drift, noise = values.new_zeros(agents, dim), values.new_zeros(agents)
    coefficient = coefficient.to(values)
    is_link = coefficient != 0 if is_link is None else is_link
    sharpened = coefficient.clone()
    for batch in batches(problem, problem.explained, hyper.lags):
        sources, position = problem.candidates.table(batch)
        columns = design(problem.panel, batch, sources, hyper.lags)
        weights = _lagged(coefficient, lag, position, hyper.lags)
        active = _lagged(is_link.to(values), lag, position, hyper.lags) > 0
        fixed, weights, bias, variance = _fit_batch(columns, weights, active, hyper, blur, generator)
        given = position >= 0
        sharpened[position[given]] = weights.view(len(batch), hyper.lags, -1).sum(1)[given]
        own[batch] = fixed[:, : hyper.lags]
        if problem.panel.pull is not None:
            pull[batch] = fixed[:, hyper.lags + 2]
        drift[batch] = _constant_part(columns, fixed, problem, hyper) + bias
        noise[batch] = variance
    return Mechanism(own, pull, drift, noise, sharpened, lag)


def _lagged(coefficient: Tensor, lag: Tensor, position: Tensor, lags: int) -> Tensor:
    """Coefficients per design column, ``[B, slots * lags]``."""
    taken = torch.where(position >= 0, coefficient[position.clamp(min=0)], torch.zeros_like(coefficient[:1]))
    at = lag[position.clamp(min=0)]
    return torch.cat([torch.where(at == k, taken, torch.zeros_like(taken)) for k in range(1, lags + 1)], 1)


def _fit_batch(
    columns: Columns, weights: Tensor, active: Tensor, hyper: Hyper, blur: float, generator: torch.Generator
) -> tuple[Tensor, ...]:
    """Nuisance coefficients, link coefficients, a draw of the persistent bias, and the noise variance."""
    k = columns.nuisance
    z = partial_demean(columns, hyper.phi).double()
    moments, free = z @ z.mT, (columns.rows.double() * hyper.dim - k).clamp(min=1)
    weights = weights.double()
    cross = moments[:, :k, -1] - (moments[:, :k, k:-1] @ weights.unsqueeze(-1)).squeeze(-1)
    seen = torch.cat([_solve(moments[:, :k, :k], cross), weights], 1)
    ends = torch.cat([-seen, torch.ones_like(seen[:, :1])], 1)
    rss = (ends * (moments @ ends.unsqueeze(-1)).squeeze(-1)).sum(1).clamp(min=0)
    variance, theta = rss / free, seen
    if blur > 0:
        noisy = torch.cat([torch.zeros_like(seen[:, :k], dtype=torch.bool), active], 1)
        noisy[:, : hyper.lags] = True
        theta = _sharpen(moments[:, :-1, :-1], seen, noisy, active, _noise_square(columns, hyper, blur), k)
        gained = ((theta - seen) * (moments[:, :-1, :-1] @ seen.unsqueeze(-1)).squeeze(-1)).sum(1)
        variance = torch.maximum(variance - gained / free - blur**2, LEAST_PROCESS * variance)
    theta, variance = theta.to(columns.values), variance.to(columns.values)
    residual = columns.values[:, -1] - (columns.values[:, :-1] * theta[:, :, None, None]).sum(1)
    return theta[:, :k], theta[:, k:], _draw_bias(residual, columns.rows, variance, hyper.phi, generator), variance


def _solve(square: Tensor, cross: Tensor) -> Tensor:
    """Least squares from cross products, columns that repeat others shared."""
    scale = square.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300).rsqrt()
    inverse = torch.linalg.pinv(square * scale[:, :, None] * scale[:, None], hermitian=True, rtol=1e-8)
    return scale * (inverse @ (scale * cross).unsqueeze(-1)).squeeze(-1)


def _noise_square(columns: Columns, hyper: Hyper, blur: float) -> Tensor:
    """Expected square of the noise in one lagged column, after partial demeaning."""
    rows = columns.rows.double()
    return hyper.dim * blur**2 * (rows - 1 + 1 / (1 + rows * hyper.phi)).clamp(min=0)


def _sharpen(square: Tensor, seen: Tensor, noisy: Tensor, active: Tensor, noise: Tensor, nuisance: int) -> Tensor:
    """Coefficients before the noise: solve (G - N) theta = G seen over nuisance and active columns."""
    used = torch.cat([torch.ones_like(active[:, :1]).expand(-1, nuisance), active], 1).to(seen)
    scale = square.diagonal(dim1=-2, dim2=-1).clamp(min=1e-300).rsqrt() * used
    values, vectors = torch.linalg.eigh(square * scale[:, :, None] * scale[:, None])
    sound = values > 1e-8 * values[:, -1:]
    root = vectors * torch.where(sound, values, torch.zeros_like(values)).sqrt()[:, None]
    back = vectors * torch.where(sound, values.clamp(min=1e-300).rsqrt(), torch.zeros_like(values))[:, None]
    inside = scale.unsqueeze(-1) * back
    share, turn = torch.linalg.eigh(inside.mT @ (inside * (noisy * noise[:, None]).unsqueeze(-1)))
    gain = 1 / (1 - share.clamp(0, MOST_NOISE))
    unit = torch.where(used > 0, seen / scale.clamp(min=1e-300), torch.zeros_like(seen))
    gained = turn @ (gain.unsqueeze(-1) * (turn.mT @ (root.mT @ unit.unsqueeze(-1))))
    return torch.where(used > 0, scale * (back @ gained).squeeze(-1), seen)


def _draw_bias(residual: Tensor, rows: Tensor, variance: Tensor, phi: float, generator: torch.Generator) -> Tensor:
    rows, phi = rows.clamp(min=1), min(phi, 1e6)
    mean = residual.sum(1) / rows[:, None]
    gain = (rows * phi / (1 + rows * phi))[:, None]
    spread = (variance * phi / (1 + rows * phi)).sqrt()[:, None]
    noise = torch.randn(mean.shape, generator=generator, dtype=torch.double).to(mean)
    return gain * mean + spread * noise


def _constant_part(columns: Columns, fixed: Tensor, problem: Problem, hyper: Hyper) -> Tensor:
    """Contribution of the columns that do not change over time: the two starts, and the constant."""
    row = columns.weight.argmax(1)
    batch = torch.arange(len(row), device=row.device)
    constant = [hyper.lags, hyper.lags + 1] + ([columns.nuisance - 1] if problem.panel.intercept else [])
    return sum(fixed[:, c, None] * columns.values[batch, c, row] for c in constant)  # pyright: ignore[reportReturnType]


def draw_replica(problem: Problem, mechanism: Mechanism, blur: float, generator: torch.Generator) -> Problem:
    """Run the mechanism from the observed start, and see the states through ``blur`` (sd of the latents' own noise).

    Agents that are not explained keep their observed series. States on the unit sphere run on a smaller one, so that
    state and noise together have unit length.
    """
    panel = problem.panel
    back = torch.linalg.pinv(panel.root, hermitian=True)
    radius = max(1 - blur**2 * float(back.square().sum()), 0.1) ** 0.5
    held = torch.ones(panel.shape[0], dtype=torch.bool, device=panel.values.device)
    held[problem.explained] = False
    shrink = _stabiliser(problem, mechanism)
    path = [on_sphere(x, panel, back, radius) for x in _starts(panel, blur, mechanism.own.shape[1])]
    for time in range(len(path), panel.shape[1]):
        drive = shrink * _drive(problem, mechanism, path, time) + mechanism.drift
        noise = torch.randn(drive.shape, generator=generator, dtype=torch.double).to(drive)
        state = on_sphere(drive + mechanism.noise.sqrt()[:, None] * noise, panel, back, radius)
        path.append(torch.where(held[:, None], panel.values[:, time], state))
    values = torch.stack(path, 1)
    if blur > 0:
        noise = torch.randn(values.shape, generator=generator, dtype=torch.double).to(values)
        values = torch.where(held[:, None, None], panel.values, on_sphere(values + blur * noise, panel, back))
    return replace(problem, panel=with_values(panel, values))


def _starts(panel: Panel, blur: float, count: int) -> list[Tensor]:
    """First states, drawn towards the agent's mean by the noise in them."""
    if blur == 0:
        return [panel.values[:, t] for t in range(count)]
    seen = panel.present.unsqueeze(-1).to(panel.values)
    rows = seen.sum(1, keepdim=True)
    mean = (panel.values * seen).sum(1, keepdim=True) / rows.clamp(min=1)
    within = float(((panel.values - mean) * seen).square().sum() / ((rows - 1).clamp(min=0).sum() * panel.shape[2]))
    keep = max(1 - blur**2 / max(within, blur**2), 0.0) ** 0.5
    return [mean[:, 0] + keep * (panel.values[:, t] - mean[:, 0]) for t in range(count)]


def on_sphere(whitened: Tensor, panel: Panel, back: Tensor, radius: float = 1.0) -> Tensor:
    """Bring whitened states to length ``radius`` in raw coordinates, where the raw states have unit length."""
    if not panel.unit:
        return whitened
    raw = whitened @ back + panel.centre.reshape(-1)
    return (radius * torch.nn.functional.normalize(raw, dim=-1) - panel.centre.reshape(-1)) @ panel.root


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
