r"""Initial gates: vector autoregression with significance thresholding, as a first guess of who matters.

For every target one regression on all its candidates at once, and for every candidate the test of its coefficient,

.. math:: F_j = \hat\beta_j^2 / (\hat\sigma^2 (G^{-1})_{jj}) > F_{1, n-K; \alpha}

Where rows are fewer than candidates a ridge of the size of the slab takes the place of the missing ones. Candidates
with an open gate are enumerated before all others; the posterior then decides.
"""

from __future__ import annotations

import torch
from scipy import stats
from torch import Tensor

from sphunc._typing import Bool, Float

SIGNIFICANCE = 0.05


def autoregression(
    matrix: Float[Tensor, "batch column1 column1"], ridge: Float[Tensor, " batch"]
) -> tuple[Float[Tensor, "batch column"], Float[Tensor, "batch column"]]:
    """Coefficients of all candidates together, and their squares over the diagonal of the inverse.

    ``matrix`` holds cross products with the outcome last, nuisance projected out.
    """
    block, cross = matrix[:, :-1, :-1], matrix[:, :-1, -1]
    system = block + torch.diag_embed(ridge[:, None].expand_as(cross))
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(system))
    beta = (inverse @ cross.unsqueeze(-1)).squeeze(-1)
    return beta, beta.square() / inverse.diagonal(dim1=-2, dim2=-1)


def initial_gates(
    statistic: Float[Tensor, "batch column"],
    noise: Float[Tensor, " batch"],
    degrees: Float[Tensor, " batch"],
    usable: Bool[Tensor, "batch column"],
) -> Bool[Tensor, "batch column"]:
    """Gates that are open at the start: coefficients significant at the level 0.05."""
    left = (degrees - usable.sum(1)).clamp(min=1)
    bound = torch.from_numpy(stats.f.isf(SIGNIFICANCE, 1, left.cpu().numpy())).to(statistic)
    return usable & (statistic > (noise * bound)[:, None])
