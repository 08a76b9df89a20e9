r"""Columns of the regressions and their cross products.

.. math:: y^i_t = x^i_t (\bar\theta + d_i) + \sum_j \beta_{ij} h^j_{t-l} + u_i + v_i \tau_t + e_t

with nuisance columns x (own past, first state, neighbourhood mean) whose coefficients are shared by all agents, up to a
deviation :math:`d_i` of the agent's own inertia; a level u and a trend v per agent and coordinate, integrated out as
random effects. Nothing here is fitted per target without a prior: with four rows per target nothing else would do.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Float, Int
from sphunc.discovery.regression.panel import Panel


@dataclass(frozen=True, eq=False)
class Rows:
    """Outcome and nuisance columns of B targets over n rows (times after the first ``own_lags``).

    Attributes:
        outcome: ``[B, n, D]``.
        nuisance: ``[B, k, n, D]``, the target's own lags first.
        weight: ``[B, n]`` 1 where the target was observed at the row's time and at its own lags.
        times: ``[n]`` time index of every row.
        own_lags: number of own lags.
    """

    outcome: Tensor
    nuisance: Tensor
    weight: Tensor
    times: Tensor
    own_lags: int


def target_rows(panel: Panel, targets: Int[Tensor, " batch"], own_lags: int) -> Rows:
    """Lay out what every target is regressed on, whoever its sources are.

    Args:
        panel: states, presence, neighbourhood means.
        targets: agents to explain.
        own_lags: lags of the target itself.
    """
    times = torch.arange(own_lags, panel.shape[1], device=targets.device)
    own = panel.values[targets]
    present = panel.present[targets]
    weight = present[:, times]
    for lag in range(1, own_lags + 1):
        weight = weight & present[:, times - lag]
    first = present.to(torch.uint8).argmax(1)
    batch = torch.arange(len(targets), device=targets.device)
    neighbours = panel.neighbourhood[targets]
    outcome = own[:, times]
    columns = [own[:, times - lag] for lag in range(1, own_lags + 1)]
    columns.append(own[batch, first].unsqueeze(1).expand_as(outcome))
    columns.append(neighbours[batch, first].unsqueeze(1).expand_as(outcome))
    columns.append(neighbours[:, times - 1])
    rows_used = weight.to(own.dtype)
    nuisance = torch.stack(columns, 1) * rows_used[:, None, :, None]
    return Rows(outcome * rows_used[..., None], nuisance, rows_used, times, own_lags)


def source_columns(
    panel: Panel,
    sources: Int[Tensor, "batch slot"],
    rows: Rows,
    lags: int,
    source_times: Int[Tensor, " time"] | None = None,
) -> Float[Tensor, "batch column row dim"]:
    """States of the sources at each lag, lag by lag; zero where a slot is padded.

    Args:
        panel: states.
        sources: candidates per target, -1 where padded.
        rows: of the targets.
        lags: lags per candidate.
        source_times: time at which sources are read in place of each time (a placebo); None reads the true one.
    """
    used = (sources >= 0)[..., None, None].to(panel.values.dtype)
    parts = []
    for lag in range(1, lags + 1):
        when = rows.times - lag
        if source_times is not None:
            when = source_times[when]
        parts.append(panel.values[:, when][sources.clamp(min=0)] * used)
    columns = torch.cat(parts, 1)
    return columns * rows.weight[:, None, :, None]


def row_covariance(weight: Float[Tensor, "batch row"], level: float, trend: float) -> Float[Tensor, "batch row row"]:
    r"""Covariance of the rows over the noise variance, :math:`I + \phi_0 1 1' + \phi_1 \tau\tau'`.

    Args:
        weight: 1 for rows in use; the others are left out.
        level: variance ratio of the persistent level.
        trend: variance ratio of the trend; time is scaled to mean 0 and variance 1 over all rows.
    """
    count = weight.shape[1]
    time = torch.arange(count, dtype=weight.dtype, device=weight.device)
    time = (time - time.mean()) / time.std(correction=0).clamp(min=1e-6)
    pair = weight.unsqueeze(2) * weight.unsqueeze(1)
    identity = torch.eye(count, dtype=weight.dtype, device=weight.device)
    return identity + pair * (level + trend * time[:, None] * time[None, :])


@dataclass(frozen=True, eq=False)
class RowWhitener:
    """Inverse Cholesky factors of the row covariances, one per pattern of rows in use.

    Attributes:
        factor: ``[P, n, n]``.
        log_determinant: ``[P]`` of the covariances.
        pattern: ``[B]`` which one each target has.
    """

    factor: Tensor
    log_determinant: Tensor
    pattern: Tensor

    def __call__(self, columns: Float[Tensor, "batch column row dim"]) -> Float[Tensor, "batch column rest"]:
        """Whiten the rows, and flatten rows and coordinates."""
        if len(self.factor) == 1:
            whitened = self.factor[0] @ columns
        else:
            whitened = self.factor[self.pattern].unsqueeze(1) @ columns
        return whitened.flatten(2)


def row_whitener(weight: Float[Tensor, "batch row"], level: float, trend: float) -> RowWhitener:
    """Prepare the whitening of targets whose rows in use are ``weight``.

    Args:
        weight: 1 for rows in use.
        level: variance ratio of the persistent level.
        trend: variance ratio of the trend.
    """
    patterns, index = torch.unique(weight, dim=0, return_inverse=True)
    factor = torch.linalg.cholesky(row_covariance(patterns.double(), level, trend))
    identity = torch.eye(weight.shape[1], dtype=torch.double, device=weight.device).expand_as(factor)
    inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
    determinant = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return RowWhitener(inverse.to(weight), determinant, index)


def eliminate(
    moments: Float[Tensor, "batch column column"],
    ridge: Float[Tensor, " batch"],
    count: int,
) -> tuple[Float[Tensor, "batch rest rest"], Float[Tensor, " batch"]]:
    r"""Integrate the first ``count`` columns out, each with a Gaussian prior: Schur pivots with a ridge.

    Args:
        moments: cross products of all columns.
        ridge: noise variance over prior variance of the coefficients; infinite leaves the columns out.
        count: columns to integrate out.

    Returns:
        What is left, and :math:`\sum \log(\text{pivot} / \text{ridge})`.
    """
    log_pivots = moments.new_zeros(moments.shape[0])
    for _ in range(count):
        shrunk = moments[:, 0, 0] / ridge
        row = moments[:, 0, 1:]
        gain = 1 / (moments[:, 0, 0] + ridge)
        moments = moments[:, 1:, 1:] - row[:, :, None] * (row * gain[:, None])[:, None, :]
        log_pivots = log_pivots + torch.log1p(shrunk)
    return moments, log_pivots
