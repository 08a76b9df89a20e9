"""Make the coordinates of the latents comparable: one pooled covariance, shrunk after Ledoit and Wolf.

A regression that counts D coordinates as D observations is right only when their noise is alike and uncorrelated.
One D x D covariance of the own-lag residuals over all agents repairs that; shrinkage keeps it invertible when there
are fewer residuals than coordinates.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Bool, Float


def own_lag_residuals(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"]
) -> Float[Tensor, "row dim"]:
    """Residuals of each agent's state on its own past, after taking out the agent's mean over time.

    One pooled coefficient serves all agents and coordinates; rows where either time is missing are left out, and so
    is one row per agent, the one that the mean used up.
    """
    kept = (present[:, 1:] & present[:, :-1]).unsqueeze(-1).to(values.dtype)
    count = kept.sum(1, keepdim=True).clamp(min=1)
    after = (values[:, 1:] - (values[:, 1:] * kept).sum(1, keepdim=True) / count) * kept
    before = (values[:, :-1] - (values[:, :-1] * kept).sum(1, keepdim=True) / count) * kept
    slope = (after * before).sum() / (before * before).sum().clamp(min=torch.finfo(values.dtype).tiny)
    rotated = _remove_mean_row((after - slope * before), kept)
    return rotated


def _remove_mean_row(residuals: Tensor, kept: Tensor) -> Tensor:
    """Scale up the rows of each agent so that their sum of squares is unbiased for n - 1 of n rows."""
    count = kept.sum(1, keepdim=True)
    scale = torch.where(count > 1, (count / (count - 1).clamp(min=1)).sqrt(), torch.zeros_like(count))
    rows = (residuals * scale).flatten(0, 1)
    return rows[(kept * (count > 1)).flatten().bool()]


def ledoit_wolf(rows: Float[Tensor, "row dim"], degrees: float) -> tuple[Float[Tensor, "dim dim"], float]:
    r"""Covariance shrunk towards a multiple of the identity, and the share of shrinkage.

    .. math:: \hat\Sigma = (1-\rho) S + \rho \tfrac{\mathrm{tr} S}{D} I

    with :math:`\rho` as in Ledoit and Wolf (2004), for rows of known mean zero. ``degrees`` is the number of free
    rows (rows that share a mean are not independent), and takes the place of the count in :math:`\rho`.
    """
    count, dim = rows.shape
    sample = rows.T @ rows / count
    mean = sample.diagonal().mean()
    spread = sample.square().sum() - dim * mean.square()
    noise = (rows.square().sum(1).square().sum() / count - sample.square().sum()) / degrees
    share = float((noise / spread.clamp(min=torch.finfo(rows.dtype).tiny)).clamp(0, 1))
    shrunk = (1 - share) * sample + share * mean * torch.eye(dim, dtype=rows.dtype, device=rows.device)
    return shrunk, share


def inverse_root(covariance: Float[Tensor, "dim dim"]) -> Float[Tensor, "dim dim"]:
    r"""Symmetric :math:`\Sigma^{-1/2}`; directions of no variance at all are mapped to zero."""
    values, vectors = torch.linalg.eigh(covariance)
    floor = values[-1] * len(values) * torch.finfo(values.dtype).eps
    scale = torch.where(values > floor, values.clamp(min=floor).rsqrt(), torch.zeros_like(values))
    return (vectors * scale) @ vectors.T


def effective_dimension(rows: Float[Tensor, "row dim"], degrees: float) -> float:
    r"""How many independent coordinates the rows are worth: :math:`(\mathrm{tr}\Sigma)^2 / \mathrm{tr}\Sigma^2`.

    The sample version is biased down by having few rows; :math:`\mathrm{tr} S^2 - (\mathrm{tr} S)^2 / n` is unbiased
    for :math:`\mathrm{tr}\Sigma^2` up to terms of order 1/n, so that 80 rows can tell 128 equal coordinates from 20.
    """
    count, dim = rows.shape
    if dim == 1:
        return 1.0
    sample = rows.T @ rows / count
    total = sample.diagonal().sum()
    squares = sample.square().sum()
    n = max(float(degrees), 2.0)
    unbiased = n * n / ((n - 1) * (n + 2)) * (squares - total.square() / n)
    return float((total.square() / unbiased.clamp(min=total.square() / dim)).clamp(1.0, float(dim)))
