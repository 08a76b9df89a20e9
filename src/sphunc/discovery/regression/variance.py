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

from sphunc._typing import Float, Int
from sphunc.discovery.regression.design import Rows, eliminate, row_whitener, target_rows
from sphunc.discovery.regression.panel import Panel

LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
TRENDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
INERTIA = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)
DEGREES = (2.0, 3.0, 5.0, 8.0, 14.0, 25.0, 50.0, 200.0, 1000.0)
MOST_TARGETS = 300
MOST_NUMBERS = 8_000_000
"""Numbers in the columns that the components are estimated on: fewer targets where series are long."""
ROUNDS = 2
SCALE_STEPS = 25
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class VarianceComponents:
    """Pooled estimates.

    Attributes:
        level: variance of the persistent level over that of the noise, phi_0.
        trend: the same of the trend, phi_1.
        inertia: variance of the own-lag coefficients around the shared one.
        degrees: nu, how alike noise variances are.
        scale: s^2, typical noise variance.
        theta: ``[k]`` shared nuisance coefficients.
        inflation: factor by which squared errors of link coefficients exceed what the model says.
    """

    level: float
    trend: float
    inertia: float
    degrees: float
    scale: float
    theta: Tensor
    inflation: float = 1.0


def fit_variance_components(panel: Panel, targets: Int[Tensor, " target"], own_lags: int) -> VarianceComponents:
    """Maximise the marginal likelihood without links, one component after the other over a grid.

    Args:
        panel: states.
        targets: agents to explain, of which some suffice.
        own_lags: lags of the target itself.
    """
    _, times, dim = panel.shape
    most = max(20, min(MOST_TARGETS, MOST_NUMBERS // (times * dim * 6)))
    rows = target_rows(panel, spaced(targets, most), own_lags)
    width = rows.nuisance.shape[1]
    theta = torch.zeros(width, dtype=torch.double, device=targets.device)
    best = VarianceComponents(0.2, 0.0, 0.01, 8.0, 1.0, theta)
    trends = TRENDS if len(rows.times) >= 3 else (0.0,)
    for _ in range(ROUNDS):
        options = [replace(best, level=level) for level in LEVELS]
        best = _best(rows, options, panel.effective)
        options = [replace(best, trend=trend) for trend in trends]
        best = _best(rows, options, panel.effective)
        options = [replace(best, inertia=inertia) for inertia in INERTIA]
        best = _best(rows, options, panel.effective)
        options = [replace(best, degrees=degrees) for degrees in DEGREES]
        best = _best(rows, options, panel.effective)
    return best


def _best(rows: Rows, options: list[VarianceComponents], effective: float) -> VarianceComponents:
    fitted = [_likelihood(rows, option, effective) for option in options]
    return max(fitted, key=lambda pair: pair[0])[1]


def _likelihood(rows: Rows, components: VarianceComponents, effective: float) -> tuple[float, VarianceComponents]:
    """Log marginal likelihood at given components, shared coefficients and scale fitted."""
    whiten = row_whitener(rows.weight, components.level, components.trend)
    columns = torch.cat([rows.nuisance, rows.outcome.unsqueeze(1)], 1)
    flat = whiten(columns)
    share = effective / rows.outcome.shape[2]
    moments = share * (flat @ flat.mT).double()
    count = effective * rows.weight.sum(1).double()
    theta, scale = _shared(moments, components, count, rows.own_lags)
    rss, log_pivots = _residual(moments, theta, components.inertia, scale, rows.own_lags)
    determinant = effective * whiten.log_determinant[whiten.pattern] + log_pivots
    value = t_log_density(rss, count, components.degrees, scale) - 0.5 * determinant
    return float(value.sum()), replace(components, theta=theta, scale=scale)


def _shared(moments: Tensor, components: VarianceComponents, count: Tensor, own_lags: int) -> tuple[Tensor, float]:
    """Shared coefficients and noise scale, in turn: targets weigh in by their noise."""
    yy = moments[:, -1, -1]
    total = float(count.sum())
    scale = float(yy.sum()) / max(total, 1.0) + TINY
    weight = torch.ones_like(yy)
    theta = torch.zeros_like(moments[0, 0, :-1])
    for _ in range(3):
        normal = (weight[:, None, None] * moments[:, :-1, :-1]).sum(0)
        cross = (weight[:, None] * moments[:, :-1, -1]).sum(0)
        size = normal.diagonal().clamp(min=TINY).rsqrt()
        inverse = torch.linalg.pinv(normal * size[:, None] * size, hermitian=True, rtol=1e-9)
        theta = size * (inverse @ (size * cross))
        rss, _ = _residual(moments, theta, components.inertia, scale, own_lags)
        scale = noise_scale(rss, count, components.degrees)
        weight = 1 / posterior_noise(rss, count, components.degrees, scale)
    return theta, scale


def _residual(moments: Tensor, theta: Tensor, inertia: float, scale: float, own_lags: int) -> tuple[Tensor, Tensor]:
    """Residual squares given shared coefficients, own deviations integrated out."""
    centred = without_shared(moments, theta)
    keep = [*range(own_lags), moments.shape[1] - 1]
    ridge = torch.full_like(centred[:, 0, 0], scale / max(inertia, TINY))
    rest, log_pivots = eliminate(centred[:, keep][:, :, keep], ridge, own_lags)
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


def noise_scale(rss: Float[Tensor, " target"], count: Float[Tensor, " target"], degrees: float) -> float:
    """Scale s^2 that maximises the t density, by its fixed point.

    Args:
        rss: residual squares.
        count: rows per target, n.
        degrees: nu.
    """
    scale = float(rss.sum() / count.sum().clamp(min=1)) + TINY
    for _ in range(SCALE_STEPS):
        inverse = ((degrees + count) / (degrees * scale + rss)).mean()
        scale = 1 / max(float(inverse), TINY)
        scale = max(scale, TINY)
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


def spaced(items: Int[Tensor, " item"], most: int) -> Int[Tensor, " some"]:
    """At most ``most`` of the items, evenly spaced.

    Args:
        items: to choose from.
        most: how many.
    """
    if len(items) <= most:
        return items
    return items[torch.linspace(0, len(items) - 1, most, device=items.device).round().long()]
