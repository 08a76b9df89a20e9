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
) -> Float[Tensor, "batch column row dim"]:
    """States of the sources at each lag, lag by lag; zero where a slot is padded.

    Args:
        panel: states.
        sources: candidates per target, -1 where padded.
        rows: of the targets.
        lags: lags per candidate.
    """
    used = (sources >= 0)[..., None, None].to(panel.values.dtype)
    parts = []
    for lag in range(1, lags + 1):
        when = rows.times - lag
        parts.append(panel.values[:, when][sources.clamp(min=0)] * used)
    columns = torch.cat(parts, 1)
    return columns * rows.weight[:, None, :, None]


def time_basis(weight: Float[Tensor, "batch row"]) -> Float[Tensor, "batch 2 row"]:
    """Orthonormal level and trend over the rows in use; zero where there are too few rows for one.

    Args:
        weight: 1 for rows in use.
    """
    count = weight.sum(1, keepdim=True)
    time = torch.arange(weight.shape[1], dtype=weight.dtype, device=weight.device)
    centred = (time - (weight * time).sum(1, keepdim=True) / count.clamp(min=1)) * weight
    basis = torch.stack([weight, centred], 1)
    size = basis.square().sum(2, keepdim=True)
    return torch.where(size > 0, basis / size.clamp(min=1e-12).sqrt(), torch.zeros_like(basis))


def whiten_rows(
    columns: Float[Tensor, "batch column row dim"], weight: Float[Tensor, "batch row"], level: float, trend: float
) -> Float[Tensor, "batch column rest"]:
    r"""Whiten rows of covariance :math:`I + n\phi_0 b_0 b_0' + n\phi_1 b_1 b_1'`, and flatten rows and coordinates.

    Args:
        columns: zero in rows that are not in use.
        weight: 1 for the n rows in use.
        level: variance of the persistent level over that of the noise, phi_0.
        trend: the same of a trend of mean square 1, phi_1.
    """
    basis = time_basis(weight)
    count = weight.sum(1)
    variance = torch.stack([1 + count * level, 1 + count * trend], 1)
    taken = (1 - variance.rsqrt()).unsqueeze(2) * basis
    projection = torch.einsum("bar,bcrd->bcad", basis, columns)
    return (columns - torch.einsum("bar,bcad->bcrd", taken, projection)).flatten(2)


def eliminate(
    moments: Float[Tensor, "batch column column"], ridge: Float[Tensor, " first"]
) -> tuple[Float[Tensor, "batch rest rest"], Float[Tensor, " batch"]]:
    r"""Integrate the first columns out, each with a Gaussian prior: Schur pivots with a ridge.

    Args:
        moments: cross products of all columns.
        ridge: noise variance over prior variance of the coefficients of the columns to integrate out.

    Returns:
        What is left, and :math:`\sum \log(\text{pivot} / \text{ridge})`.
    """
    log_pivots = moments.new_zeros(moments.shape[0])
    for value in ridge:
        square = moments[:, 0, 0].clamp(min=0)
        row = moments[:, 0, 1:]
        scaled = row / (square + value)[:, None]
        moments = moments[:, 1:, 1:] - row[:, :, None] * scaled[:, None, :]
        log_pivots = log_pivots + torch.log1p(square / value)
    return moments, log_pivots
