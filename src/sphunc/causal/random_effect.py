r"""Size of the persistent bias and of the effects, estimated once for all agents by restricted likelihood.

.. math:: -2\ell(\phi, v) = \sum_i (nD-k)\log \mathrm{RSS}_i + D\log(1+n\phi) + \log|G^{nn}_i| +
          \log|I + M_i v/\sigma_i^2|

with :math:`G^{nn}` the nuisance block and M the candidate block after it. The two determinants are what a profile
likelihood leaves out; without them the estimate of :math:`\phi` falls to zero when D is small, because the candidates
can imitate the bias of D coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc.causal.gram import Columns, project_out, within_between

PHI_GRID = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 4.0, 10.0)
EFFECT_GRID = (0.005, 0.01, 0.02, 0.035, 0.06, 0.1, 0.15, 0.25, 0.4)


@dataclass(frozen=True)
class VarianceComponents:
    """Pooled estimates: ``phi`` (bias over noise variance) and ``effect`` (sd of coefficients, zeros included)."""

    phi: float
    effect: float


def restricted_likelihood(columns: list[Columns], effective: float, dim: int) -> Tensor:
    """Tabulate the restricted log likelihood over PHI_GRID x EFFECT_GRID, summed over the batches."""
    total = torch.zeros(len(PHI_GRID), len(EFFECT_GRID), dtype=torch.double)
    for batch in columns:
        within, between = within_between(batch)
        share = effective / dim
        for p, phi in enumerate(PHI_GRID):
            mixed = share * (within + between / (1 + batch.rows.double() * phi)[:, None, None])
            total[p] += _profile(mixed, batch, phi, effective)
    return total


def _profile(moments: Tensor, batch: Columns, phi: float, effective: float) -> Tensor:
    rest, logdet, rank = project_out(moments, batch.nuisance)
    free = batch.rows.double() * effective - rank
    usable = free > 1
    rest, free = rest[usable], free[usable]
    values, vectors = torch.linalg.eigh(rest[:, :-1, :-1])
    values = values.clamp(min=0)
    loads = (vectors.mT @ rest[:, :-1, -1:]).squeeze(-1).square()
    yy = rest[:, -1, -1].clamp(min=torch.finfo(rest.dtype).tiny)
    bias = effective * torch.log1p(batch.rows[usable].double() * phi) + logdet[usable]
    table = []
    for effect in EFFECT_GRID:
        ridge = (yy / free / effect**2)[:, None]
        rss = (yy - (loads / (values + ridge)).sum(1)).clamp(min=1e-12 * yy)
        table.append(-0.5 * (free * rss.log() + bias + torch.log1p(values / ridge).sum(1)).sum())
    return torch.stack(table).cpu()


def variance_components(columns: list[Columns], effective: float, dim: int) -> VarianceComponents:
    """Maximise the restricted likelihood on the grid, with a parabola through the best phi and its neighbours."""
    table = restricted_likelihood(columns, effective, dim)
    best = int(table.argmax())
    p, e = divmod(best, len(EFFECT_GRID))
    return VarianceComponents(_refine(table[:, e], p), EFFECT_GRID[e])


def _refine(profile: Tensor, best: int) -> float:
    if best in (0, len(PHI_GRID) - 1):
        return PHI_GRID[best]
    left, middle, right = (float(profile[best + k]) for k in (-1, 0, 1))
    curvature = left - 2 * middle + right
    shift = 0.0 if curvature >= 0 else 0.5 * (left - right) / curvature
    towards = PHI_GRID[best + 1] if shift > 0 else PHI_GRID[best - 1]
    return PHI_GRID[best] + abs(shift) * (towards - PHI_GRID[best])
