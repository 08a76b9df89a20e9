r"""What was not observed, expected from what was: a factor model of the features.

.. math:: x = L f + e, \quad f \sim N(0, I), \; e \sim N(0, \Psi), \qquad
          \hat f = (I + L_o^\top \Psi_o^{-1} L_o)^{-1} L_o^\top \Psi_o^{-1} x_o

An entry that is lost counts as :math:`L \hat f`, not as the mean: with 24 features and one in twenty lost, filling in
the mean costs a tenth of what features tell about a state.
"""

from __future__ import annotations

import torch

from sphunc._typing import Bool, Float, Int, Tensor

MOST_FACTORS = 32
ROUNDS = 6
LEAST_NOISE = 1e-2
ROWS_TO_LEARN = 4096
# Numbers held at once while filling: 64 MB in float32.
CHUNK = 2**24


def learn_factors(
    x: Float[Tensor, "row feature"], mask: Bool[Tensor, "row feature"]
) -> tuple[Float[Tensor, "feature factor"], Float[Tensor, " feature"]]:
    r"""Loadings L and noise :math:`\Psi` of standardised features, by alternating principal axes and filling.

    At most half as many factors as features; more than the data have do no harm, since the noise takes up the rest.
    Nothing is learned, and nothing will be filled in, where there is a single feature.

    Args:
        x: standardised features, 0 where not observed.
        mask: True where observed.
    """
    seen = mask.any(1)
    x, mask = x[seen], mask[seen]
    some = some_rows(len(x), ROWS_TO_LEARN).to(x.device)
    x, mask = x[some].double(), mask[some]
    features = x.shape[1]
    rank = min(MOST_FACTORS, features // 2, len(x) // 2)
    loadings, noise = x.new_zeros(features, 0), x.new_ones(features)
    if rank == 0:
        return loadings, noise
    lost = (~mask).double().mean(0)
    for _ in range(ROUNDS):
        covariance = _covariance(fill(x, mask, loadings, noise), lost * noise)
        value, vector = torch.linalg.eigh(covariance)
        rest = value[:-rank].mean()
        loadings = vector[:, -rank:] * (value[-rank:] - rest).clamp(min=0).sqrt()
        noise = (covariance - loadings @ loadings.mT).diagonal().clamp(min=LEAST_NOISE)
    # Rows first, as a file gives them back: sums in another order would differ in the last bit after loading.
    return loadings.contiguous(), noise


def some_rows(count: int, most: int) -> Int[Tensor, " row"]:
    """Indices of at most ``most`` of ``count`` rows, drawn the same way every time, in order.

    Drawn, not every k-th: rows come agent by agent, and a stride may always meet the same agents.
    """
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=torch.Generator().manual_seed(count))[:most].sort().values


def _covariance(x: Tensor, unseen: Tensor) -> Tensor:
    # What is filled in varies less than what it stands for.
    return x.mT @ x / len(x) + torch.diag(unseen)


def fill(
    x: Float[Tensor, "*batch feature"],
    mask: Bool[Tensor, "*batch feature"],
    loadings: Float[Tensor, "feature factor"],
    noise: Float[Tensor, " feature"],
) -> Float[Tensor, "*batch feature"]:
    """Replace what was not observed by its expectation; rows of which nothing was observed stay 0.

    Args:
        x: standardised features, 0 where not observed.
        mask: True where observed.
        loadings: L of :func:`learn_factors`; without factors ``x`` is returned as it is.
        noise: the diagonal of :math:`\\Psi`.
    """
    rank = loadings.shape[1]
    gaps = ~mask.all(-1) & mask.any(-1)
    if rank == 0 or not bool(gaps.any()):
        return x
    rows, seen = x[gaps], mask[gaps]
    squares = (loadings.unsqueeze(2) * loadings.unsqueeze(1)).flatten(1)
    parts = []
    for some, there in zip(*(t.split(max(1, CHUNK // rank**2)) for t in (rows, seen)), strict=True):
        weight = there / noise
        precision = (weight @ squares).view(-1, rank, rank) + torch.eye(rank, dtype=x.dtype, device=x.device)
        factor = torch.cholesky_solve((some * weight @ loadings).unsqueeze(-1), torch.linalg.cholesky(precision))
        parts.append(torch.where(there, some, factor.squeeze(-1) @ loadings.mT))
    filled = x.clone()
    filled[gaps] = torch.cat(parts)
    return filled
