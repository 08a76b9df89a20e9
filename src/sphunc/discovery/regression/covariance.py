"""Make the coordinates of states comparable: one pooled covariance, shrunk after Ledoit and Wolf (2004).

A regression that counts D coordinates as D observations is right only where their noise is alike and uncorrelated. One
D x D covariance of the own-lag residuals over all agents repairs that; shrinkage keeps it invertible where there are
fewer residuals than coordinates.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Bool, Float


def own_lag_residuals(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"]
) -> Float[Tensor, "row dim"]:
    """Residuals of each agent's state on its own past, agent means taken out; one pooled coefficient.

    Rows of an agent are scaled up so that their squares are unbiased for the row that its mean used.

    Args:
        values: states.
        present: False where an agent was not observed.
    """
    observed = (present[:, 1:] & present[:, :-1]).unsqueeze(-1).to(values.dtype)
    count = observed.sum(1, keepdim=True)
    after = (values[:, 1:] - (values[:, 1:] * observed).sum(1, keepdim=True) / count.clamp(min=1)) * observed
    before = (values[:, :-1] - (values[:, :-1] * observed).sum(1, keepdim=True) / count.clamp(min=1)) * observed
    slope = (after * before).sum() / before.square().sum().clamp(min=torch.finfo(values.dtype).tiny)
    scale = torch.where(count > 1, (count / (count - 1).clamp(min=1)).sqrt(), torch.zeros_like(count))
    rows = ((after - slope * before) * scale).flatten(0, 1)
    return rows[(observed * (count > 1)).flatten().bool()]


def ledoit_wolf(rows: Float[Tensor, "row dim"], degrees: float) -> tuple[Float[Tensor, "dim dim"], float]:
    r"""Covariance shrunk towards a multiple of the identity, and the share of shrinkage.

    .. math:: \hat\Sigma = (1-\rho) S + \rho \tfrac{\mathrm{tr} S}{D} I

    Args:
        rows: of known mean zero.
        degrees: number of free rows (rows that share a mean are not independent).
    """
    count, dim = rows.shape
    sample = rows.T @ rows / count
    mean = sample.diagonal().mean()
    spread = sample.square().sum() - dim * mean.square()
    noise = (rows.square().sum(1).square().sum() / count - sample.square().sum()) / degrees
    share = float((noise / spread.clamp(min=torch.finfo(rows.dtype).tiny)).clamp(0, 1))
    identity = torch.eye(dim, dtype=rows.dtype, device=rows.device)
    return (1 - share) * sample + share * mean * identity, share


def inverse_root(covariance: Float[Tensor, "dim dim"]) -> Float[Tensor, "dim dim"]:
    r"""Symmetric :math:`\Sigma^{-1/2}`; directions without variance are mapped to zero."""
    values, vectors = torch.linalg.eigh(covariance.double())
    floor = values[-1] * len(values) * torch.finfo(covariance.dtype).eps
    scale = torch.where(values > floor, values.clamp(min=floor).rsqrt(), torch.zeros_like(values))
    return ((vectors * scale) @ vectors.T).to(covariance)


def effective_dimension(rows: Float[Tensor, "row dim"], degrees: float) -> float:
    r"""How many independent coordinates the rows are worth: :math:`(\mathrm{tr}\Sigma)^2 / \mathrm{tr}\Sigma^2`.

    :math:`\mathrm{tr} S^2 - (\mathrm{tr} S)^2 / n` is unbiased for :math:`\mathrm{tr}\Sigma^2` up to terms of order
    1/n, so that 80 rows can tell 128 equal coordinates from 20.

    Args:
        rows: of mean zero.
        degrees: number of free rows n.
    """
    count, dim = rows.shape
    if dim == 1:
        return 1.0
    sample = rows.T @ rows / count
    total = sample.diagonal().sum()
    if not float(total) > 0:
        return float(dim)
    n = max(float(degrees), 2.0)
    unbiased = n * n / ((n - 1) * (n + 2)) * (sample.square().sum() - total.square() / n)
    return float((total.square() / unbiased.clamp(min=total.square() / dim)).clamp(1.0, float(dim)))
