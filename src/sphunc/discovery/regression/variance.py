r"""What all agents share: nuisance coefficients and variance components, by marginal likelihood without links.

Noise variances are scaled inverse chi-squared with :math:`\nu` degrees around :math:`s^2` (Smyth 2004), so that the
marginal likelihood of a target with n rows is a multivariate t,

.. math:: \log p = \log\frac{\Gamma((\nu+n)/2)}{\Gamma(\nu/2)} + \frac\nu2 \log(\nu s^2)
          - \frac{\nu+n}2 \log(\nu s^2 + \mathrm{RSS}) - \frac12\log|C|

A target with few rows borrows its variance from the others, which is what keeps chance fits from looking certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc._subsets import evenly_spaced
from sphunc._typing import Float, Int
from sphunc.discovery.candidates import CandidateLinks
from sphunc.discovery.regression.design import eliminate, source_columns, target_rows, time_basis
from sphunc.discovery.regression.panel import Panel

LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
TRENDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SPREADS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
POLYGENIC = (1e-6, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03)
DEGREES = (2.0, 3.0, 5.0, 8.0, 14.0, 25.0, 50.0, 200.0, 1000.0)
MOST_TARGETS = 200
MOST_CANDIDATES = 48
"""Candidates per target that stand for all of them here."""
MOST_NUMBERS = 16_000_000
"""Numbers in the columns that the components are estimated on: fewer targets where series are long."""
ROUNDS = 2
SCALE_STEPS = 25
FEW_SCALE_STEPS = 8
SHARED_STEPS = 2
TINY = 1e-12
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class VarianceComponents:
    """Pooled estimates.

    Attributes:
        level: variance of the persistent level over that of the noise, phi_0.
        trend: the same of the trend, phi_1.
        spread: ``[k]`` variance of every agent's nuisance coefficients around ``theta``.
        polygenic: variance of the coefficients of all candidates, links or not.
        degrees: nu, how alike noise variances are.
        scale: s^2, typical noise variance.
        theta: ``[k]`` shared nuisance coefficients: of the own lags; 0 for the others.
        inflation: factor by which squared errors of link coefficients exceed what the model says.
    """

    level: float
    trend: float
    spread: Tensor
    polygenic: float
    degrees: float
    scale: float
    theta: Tensor
    inflation: float = 1.0


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """Cross products of nuisance, candidates and outcome of some targets, and of their levels and trends.

    Attributes:
        whole: ``[B, c, c]`` of the rows themselves.
        level: ``[B, c, c]`` of the projections on the level.
        trend: ``[B, c, c]`` of the projections on the trend.
        rows: ``[B]`` rows in use.
        nuisance: number of nuisance columns, which come first.
        own_lags: number of own lags, the first of them.
        effective: independent coordinates per row.
    """

    whole: Tensor
    level: Tensor
    trend: Tensor
    rows: Tensor
    nuisance: int
    own_lags: int
    effective: float


def fit_variance_components(
    panel: Panel,
    candidates: CandidateLinks,
    targets: Int[Tensor, " target"],
    own_lags: int,
) -> tuple[VarianceComponents, VarianceComponents]:
    """Maximise the marginal likelihood, one component after the other over a grid.

    Args:
        panel: states.
        candidates: links that may exist; their coefficients are taken as one random effect.
        targets: agents to explain, of which some suffice.
        own_lags: lags of the target itself.

    Returns:
        The components without an effect of the lagged neighbourhood mean, and with one.
    """
    pooled = pooled_moments(panel, candidates, targets, own_lags)
    width = pooled.nuisance
    theta = torch.zeros(width, dtype=torch.double, device=targets.device)
    spread = torch.full_like(theta, 0.01)
    spread[-1] = 0.0
    total = max(float(pooled.rows.sum()) * pooled.effective, 1.0)
    scale = float(pooled.whole[:, -1, -1].sum()) / total + TINY
    start = VarianceComponents(0.2, 0.0, spread, 1e-3, 8.0, scale, theta)
    groups = [slice(0, own_lags), slice(own_lags, width - 1)]
    without = _ascend(pooled, start, groups, ROUNDS)
    if not panel.has_groups:
        return without, without
    groups.append(slice(width - 1, width))
    return without, _ascend(pooled, without, groups, 1)


def _ascend(pooled: PooledMoments, best: VarianceComponents, groups: list[slice], rounds: int) -> VarianceComponents:
    """Coordinate ascent: whole grids in the first round, neighbours of the best value afterwards."""
    trends = TRENDS if int(pooled.rows.max()) >= 3 else (0.0,)
    for index in range(rounds):
        near = index > 0
        best = _best(pooled, [replace(best, level=value) for value in _part(LEVELS, best.level, near)])
        best = _best(pooled, [replace(best, trend=value) for value in _part(trends, best.trend, near)])
        options = _part(POLYGENIC, best.polygenic, near)
        best = _best(pooled, [replace(best, polygenic=value) for value in options])
        for group in reversed(groups):
            options = _part(SPREADS, float(best.spread[group][0]), near)
            best = _best(pooled, [replace(best, spread=_with(best.spread, group, value)) for value in options])
        best = _best(pooled, [replace(best, degrees=value) for value in _part(DEGREES, best.degrees, near)])
    return best


def _part(grid: tuple[float, ...], value: float, near: bool) -> tuple[float, ...]:
    """The whole grid, or the value in it nearest to the given one with its neighbours."""
    if not near:
        return grid
    place = min(range(len(grid)), key=lambda k: abs(grid[k] - value))
    return grid[max(place - 1, 0) : place + 2]


def pooled_moments(
    panel: Panel, candidates: CandidateLinks, targets: Int[Tensor, " target"], own_lags: int
) -> PooledMoments:
    """Cross products of a spread of targets, from which those at any level and trend follow.

    Args:
        panel: states.
        candidates: links that may exist.
        targets: agents to explain, of which some suffice.
        own_lags: lags of the target itself.
    """
    _, times, dim = panel.shape
    widest = min(int(candidates.counts[targets].max()), MOST_CANDIDATES)
    most = max(20, min(MOST_TARGETS, MOST_NUMBERS // (times * dim * (widest + own_lags + 4))))
    chosen = targets[evenly_spaced(len(targets), most, targets.device)]
    rows = target_rows(panel, chosen, own_lags)
    sources, _ = candidates.table(chosen)
    sources = torch.where(panel.silent[sources.clamp(min=0)], -1, sources)
    if sources.shape[1] > widest:
        place = torch.linspace(0, 1, widest, dtype=torch.double, device=sources.device)
        last = candidates.counts[chosen, None].double() - 1
        sources = sources.gather(1, (place * last).round().long())
    others = source_columns(panel, sources, rows, 1)
    columns = torch.cat([rows.nuisance, others, rows.outcome.unsqueeze(1)], 1)
    basis = time_basis(rows.weight)
    along = torch.einsum("bar,bcrd->bacd", basis, columns)
    flat = columns.flatten(2)
    share = panel.effective / dim
    return PooledMoments(
        whole=share * (flat @ flat.mT).double(),
        level=share * (along[:, 0] @ along[:, 0].mT).double(),
        trend=share * (along[:, 1] @ along[:, 1].mT).double(),
        rows=rows.weight.sum(1).double(),
        nuisance=rows.nuisance.shape[1],
        own_lags=own_lags,
        effective=panel.effective,
    )


def _with(spread: Tensor, group: slice, value: float) -> Tensor:
    changed = spread.clone()
    changed[group] = value
    return changed


def _best(pooled: PooledMoments, options: list[VarianceComponents]) -> VarianceComponents:
    fitted = [_likelihood(pooled, option) for option in options]
    return max(fitted, key=lambda pair: pair[0])[1]


def _likelihood(pooled: PooledMoments, components: VarianceComponents) -> tuple[float, VarianceComponents]:
    """Log marginal likelihood at given components, shared coefficients and scale fitted."""
    level = 1 + pooled.rows * components.level
    trend = 1 + pooled.rows * components.trend
    moments = pooled.whole - (1 - 1 / level)[:, None, None] * pooled.level
    moments = moments - (1 - 1 / trend)[:, None, None] * pooled.trend
    moments, log_pivots = _without_candidates(moments, pooled.nuisance, components)
    count = pooled.effective * pooled.rows
    theta, scale = _shared(moments, components, count, pooled.own_lags)
    rss, own_pivots = _residual(moments, theta, components.spread, scale)
    determinant = pooled.effective * (level.log() + trend.log()) + log_pivots + own_pivots
    value = t_log_density(rss, count, components.degrees, scale) - 0.5 * determinant
    return float(value.sum()), replace(components, theta=theta, scale=scale)


def _without_candidates(moments: Tensor, nuisance: int, components: VarianceComponents) -> tuple[Tensor, Tensor]:
    """Integrate the candidates out as one random effect; nuisance and outcome are left."""
    ends = [*range(nuisance), moments.shape[1] - 1]
    block = moments[:, nuisance:-1, nuisance:-1]
    ridge = components.scale / components.polygenic
    identity = torch.eye(block.shape[1], dtype=block.dtype, device=block.device)
    factor = torch.linalg.cholesky_ex(block / ridge + (1 + ROUNDING) * identity).L
    across = moments[:, nuisance:-1][:, :, ends] / ridge**0.5
    solved = torch.linalg.solve_triangular(factor, across, upper=False)
    left = moments[:, ends][:, :, ends] - solved.mT @ solved
    return left, 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(1)


def _shared(moments: Tensor, components: VarianceComponents, count: Tensor, own_lags: int) -> tuple[Tensor, float]:
    """Shared coefficients of the own lags and noise scale, in turn: targets weigh in by their noise."""
    # A step of the search starts from the result of the step before.
    scale = components.scale
    theta = components.theta
    rss, _ = _residual(moments, theta, components.spread, scale)
    weight = 1 / posterior_noise(rss, count, components.degrees, scale)
    for _ in range(SHARED_STEPS):
        normal = (weight[:, None, None] * moments[:, :own_lags, :own_lags]).sum(0)
        cross = (weight[:, None] * moments[:, :own_lags, -1]).sum(0)
        size = normal.diagonal().clamp(min=TINY).rsqrt()
        inverse = torch.linalg.pinv(normal * size[:, None] * size, hermitian=True, rtol=1e-9)
        theta = torch.zeros_like(components.theta)
        theta[:own_lags] = size * (inverse @ (size * cross))
        rss, _ = _residual(moments, theta, components.spread, scale)
        scale = noise_scale(rss, count, components.degrees, scale)
        weight = 1 / posterior_noise(rss, count, components.degrees, scale)
    return theta, scale


def _residual(moments: Tensor, theta: Tensor, spread: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Residual squares given shared coefficients, own deviations integrated out."""
    centred = without_shared(moments, theta)
    ridge = scale / spread.clamp(min=TINY)
    rest, log_pivots = eliminate(centred, ridge)
    return rest[:, 0, 0].clamp(min=0), log_pivots


def without_shared(
    moments: Float[Tensor, "batch column column"], theta: Float[Tensor, " nuisance"]
) -> Float[Tensor, "batch column column"]:
    """Cross products after the outcome (last column) lost its shared part; the nuisance columns come first.

    Args:
        moments: cross products.
        theta: shared coefficients of the nuisance columns.
    """
    count = len(theta)
    shift = moments[:, :, :count] @ theta
    moved = moments.clone()
    moved[:, :, -1] = moments[:, :, -1] - shift
    corner = moved[:, -1, -1] - moved[:, :count, -1] @ theta
    moved[:, -1, :] = moved[:, :, -1]
    moved[:, -1, -1] = corner
    return moved


def noise_scale(
    rss: Float[Tensor, " target"], count: Float[Tensor, " target"], degrees: float, start: float | None = None
) -> float:
    """Scale s^2 that maximises the t density, by its fixed point.

    Args:
        rss: residual squares.
        count: rows per target, n.
        degrees: nu.
        start: a guess near the result, from which few steps suffice.
    """
    steps = FEW_SCALE_STEPS
    scale = start
    if scale is None:
        steps = SCALE_STEPS
        scale = float(rss.sum() / count.sum().clamp(min=1)) + TINY
    weight = (degrees + count).cpu().numpy()
    squares = rss.cpu().numpy()
    for _ in range(steps):
        inverse = (weight / (degrees * scale + squares)).mean()
        scale = max(1 / max(float(inverse), TINY), TINY)
    return scale


def posterior_noise(
    rss: Float[Tensor, " target"], count: Float[Tensor, " target"], degrees: float, scale: float
) -> Float[Tensor, " target"]:
    """Noise variance of each target, shrunk towards the shared one: (nu s^2 + RSS) / (nu + n).

    Args:
        rss: residual squares.
        count: rows per target, n.
        degrees: nu.
        scale: s^2.
    """
    return (degrees * scale + rss) / (degrees + count)


def t_log_density(
    rss: Float[Tensor, "*batch"], count: Float[Tensor, "*batch"], degrees: float, scale: float
) -> Float[Tensor, "*batch"]:
    """Log of the multivariate t density of n rows, up to a constant of n.

    Args:
        rss: residual squares.
        count: rows n.
        degrees: nu.
        scale: s^2.
    """
    nu = torch.full_like(count, degrees)
    gammas = torch.lgamma((nu + count) / 2) - torch.lgamma(nu / 2)
    base = nu * scale
    return gammas - 0.5 * count * base.log() - 0.5 * (nu + count) * torch.log1p(rss / base)
