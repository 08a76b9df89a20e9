r"""The initial projection: what in the features lasts from one time to the next.

Noise is drawn anew at every time, the state of an agent is not. Directions v of feature space are therefore ranked by
their reliability, the correlation between the two ends of a step,

.. math:: \Sigma_1 v = \rho\, \Sigma_0 v, \qquad \Sigma_0 = E[x_t x_t^\top], \quad
          \Sigma_1 = \tfrac12 E[x_t x_{t+1}^\top + x_{t+1} x_t^\top]

and W starts as an isometry of the reliable ones, each scaled by the share of it that is signal. The paper's Gaussian
start keeps the noise too.
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Bool, Features, Float, Tensor
from sphunc.nn.projection import normalise

LOWEST_RELIABILITY = 0.05
MOST_DIRECTIONS = 64


def reliable_directions(
    x: Features, present: Bool[Tensor, "time agent"], most: int = MOST_DIRECTIONS
) -> tuple[Float[Tensor, "feature rank"], Float[Tensor, " rank"]]:
    r"""Directions of feature space that last, and their reliability :math:`\rho`, best first.

    Args:
        x: standardised features of the training times ``[T, N, F]``, 0 where not observed.
        present: True where an agent was seen ``[T, N]``.
        most: at most this many directions.

    Returns:
        Directions as columns ``[F, r]``, each of unit variance over the data, and :math:`\rho` ``[r]`` in (0, 1].
        At least one direction is returned, so that there is always something to project on.
    """
    seen = x[present].double()
    both = present[:-1] & present[1:]
    before, after = x[:-1][both].double(), x[1:][both].double()
    rows = max(1, seen.shape[0])
    spread = _shrunk(seen.mT @ seen / rows, rows)
    lagged = before.mT @ after / max(1, before.shape[0])
    factor = torch.linalg.cholesky(spread)
    half = torch.linalg.solve_triangular(factor, (lagged + lagged.mT) / 2, upper=False)
    whitened = torch.linalg.solve_triangular(factor, half.mT, upper=False)
    reliability, basis = torch.linalg.eigh((whitened + whitened.mT) / 2)
    reliability, basis = reliability.flip(0), basis.flip(1)
    chance = 2.0 / max(1.0, float(before.shape[0])) ** 0.5
    kept = int((reliability > max(LOWEST_RELIABILITY, chance)).sum().clamp(1, min(most, x.shape[2])))
    directions = torch.linalg.solve_triangular(factor.mT, basis[:, :kept], upper=True)
    return directions.to(x.dtype), reliability[:kept].clamp(LOWEST_RELIABILITY, 1.0).to(x.dtype)


def signal_projection(
    x: Features, present: Bool[Tensor, "time agent"], dim: int, generator: torch.Generator
) -> Float[Tensor, "dim feature"]:
    r"""W ``[D, F]``: the reliable directions, scaled by :math:`\sqrt\rho`, turned into D dimensions by an isometry."""
    directions, reliability = reliable_directions(x, present, most=min(dim, MOST_DIRECTIONS))
    shape = (dim, directions.shape[1])
    turn = torch.randn(shape, generator=generator, dtype=x.dtype, device=generator.device)
    isometry = torch.linalg.qr(turn.to(x.device))[0]
    return isometry @ (directions * reliability.sqrt()).mT


def outcome_directions(
    latents: Float[Tensor, "time agent dim"],
    y: Tensor,
    known: Bool[Tensor, "time agent"],
    centre: Float[Tensor, " output"],
) -> Float[Tensor, "output dim"]:
    """Where agents with each outcome point, against all others; unit vectors, 0 where nobody tells.

    Args:
        latents: node-wise directions ``[T, N, D]``.
        y: classes ``[T, N]`` or numbers ``[T, N, K]``.
        known: True where an outcome was observed.
        centre: mean of the numbers ``[K]``, or one entry per class ``[C]``.
    """
    h = latents[known]
    if y.is_floating_point():
        weight = y[known] - centre
    else:
        one_hot = nn.functional.one_hot(y[known], len(centre)).to(h.dtype)
        count = one_hot.sum(0)
        # Nobody is left to tell from a class that everybody has: the difference of the means would be rounding.
        weight = one_hot * (count < len(h)) / count.clamp(min=1)
    toward = weight.mT @ (h - h.mean(0) if len(h) else h)
    return normalise(toward)


def _shrunk(covariance: Float[Tensor, "feature feature"], rows: int) -> Float[Tensor, "feature feature"]:
    share = min(1.0, covariance.shape[0] / rows)
    spread = covariance.diagonal().mean()
    # Standardised features have variance one; when all of them are constant there is nothing to compare with.
    scale = torch.where(spread > 0, spread, 1.0)
    target = torch.eye(covariance.shape[0], dtype=covariance.dtype, device=covariance.device) * scale
    # A single constant feature would leave a plain covariance singular.
    share = max(share, 1e-3)
    return (1.0 - share) * covariance + share * target
