r"""The initial projection: what in the features lasts from one time to the next.

Noise is drawn anew at every time, the state of an agent is not. Directions v of feature space are therefore ranked by
their reliability, the correlation between the two ends of a step,

.. math:: \Sigma_1 v = \rho\, \Sigma_0 v, \qquad \Sigma_0 = E[x_t x_t^\top], \quad
          \Sigma_1 = \tfrac12 E[x_t x_{t+1}^\top + x_{t+1} x_t^\top]

and W starts as an isometry of the plane in which the reliable ones vary. Angles between agents are then those of the
signal; the paper's Gaussian start keeps the noise too. Influence is learned along such directions as well.
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Bool, Features, Float, Tensor
from sphunc.nn.projection import normalise

LOWEST_RELIABILITY = 0.05
MOST_DIRECTIONS = 64
SMALLEST_AXIS = 0.03
# Deviation of a coordinate, relative to the first one, below which projected features do not vary along it.
SMALLEST_VIEW = 0.05
LEAST_OFFSET = 0.4


def reliable_directions(
    x: Features, present: Bool[Tensor, "time agent"], most: int = MOST_DIRECTIONS, least: int = 1
) -> tuple[Float[Tensor, "feature rank"], Float[Tensor, " rank"]]:
    r"""Directions of feature space that last, and their reliability :math:`\rho`, best first.

    Args:
        x: centred features, or coordinates of them, at the training times ``[T, N, F]``; 0 where not observed.
        present: True where an agent was seen ``[T, N]``.
        most: at most this many directions.
        least: at least this many (but not above ``most``), reliable or not: there is always something to project on.

    Returns:
        Directions as columns ``[F, r]``, each of unit variance over the data (less where rows are few), and
        :math:`\rho` ``[r]`` in (0, 1].
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
    kept = int(
        (reliability > max(LOWEST_RELIABILITY, chance)).sum().clamp(min(least, x.shape[2]), min(most, x.shape[2]))
    )
    directions = torch.linalg.solve_triangular(factor.mT, basis[:, :kept], upper=True)
    return directions.to(x.dtype), reliability[:kept].clamp(LOWEST_RELIABILITY, 1.0).to(x.dtype)


def signal_projection(
    x: Features,
    present: Bool[Tensor, "time agent"],
    origin: Float[Tensor, " feature"],
    dim: int,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "dim feature"], Float[Tensor, " dim"]]:
    r"""W ``[D, F]`` and b ``[D]`` of the encoder: a plane of feature space, turned into D dimensions by an isometry.

    The plane is spanned by the principal directions of what lasts in the features. It is seen from the origin of the
    raw features, as far as that is not further away than agents are from each other, and never from their very middle:
    who is near the mean of all would point anywhere.

    Args:
        x: standardised features of the training times ``[T, N, F]``.
        present: True where an agent was seen ``[T, N]``.
        origin: the mean of the raw features, over their deviation.
        dim: D.
        generator: source of the isometry.
    """
    plane = lasting_plane(x, present, most=min(dim - 1, MOST_DIRECTIONS))
    reach = (x[present] @ plane).square().sum(-1).mean().sqrt() if bool(present.any()) else x.new_ones(())
    shape = (dim, plane.shape[1] + 1)
    turn = torch.randn(shape, generator=generator, dtype=x.dtype, device=generator.device)
    isometry = torch.linalg.qr(turn.to(x.device))[0]
    return isometry[:, :-1] @ plane.mT, isometry @ _offset(plane, origin, reach)


def lasting_plane(x: Features, present: Bool[Tensor, "time agent"], most: int) -> Float[Tensor, "feature rank"]:
    r"""Orthonormal directions of feature space in which the lasting part of the features varies, most of all first.

    The lasting part is :math:`\sum_k \rho_k \Sigma_0 v_k v_k^\top x`: each reliable component, by its share of signal,
    where it shows in the features. Directions with less than 0.03 of the first one's deviation are left out.
    """
    directions, reliability = reliable_directions(x, present, most=min(most, x.shape[2]))
    seen = x[present]
    components = seen @ directions
    rows = max(1, seen.shape[0])
    shown = (seen.mT @ components / rows) * reliability
    # Components have unit variance and are not correlated: the columns of ``shown`` span what lasts, at its size.
    axes, size, _ = torch.linalg.svd(shown, full_matrices=False)
    kept = int((size > SMALLEST_AXIS * size[0]).sum().clamp(min=1))
    return axes[:, :kept]


def lasting_components(
    projected: Float[Tensor, "time agent dim"], present: Bool[Tensor, "time agent"]
) -> Float[Tensor, "time agent rank"]:
    r"""What influence is learned from: components of the projected features, each by its reliability.

    .. math:: c_k = \sqrt{\rho_k}\, v_k^\top (W \tilde x - \overline{W \tilde x}), \qquad z = c / \sqrt{\|c\|}

    Directions of the sphere would do as well if noise were the same along all axes. Where it is not, a large error on
    a noisy axis shortens all others, and links are found less well. The length of features tells something where they
    are few, and is mostly noise where they are many: half of it is taken off.

    Args:
        projected: features before they become directions ``[T, N, D]``, 0 where nothing was observed.
        present: True where an agent was seen ``[T, N]``.
    """
    seen = projected[present]
    if len(seen) < 2:
        return projected
    centred = projected - seen.mean(0)
    _, size, axes = torch.linalg.svd(centred[present], full_matrices=False)
    moving = axes[: max(2, int((size > SMALLEST_VIEW * size[0]).sum()))]
    coordinates = centred @ moving.mT
    directions, reliability = reliable_directions(coordinates, present, least=len(moving))
    components = (coordinates @ directions) * reliability.sqrt()
    return components / components.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(seen.dtype).tiny).sqrt()


def _offset(plane: Tensor, origin: Tensor, reach: Tensor) -> Float[Tensor, " rank_and_one"]:
    dtype, origin, plane, reach = plane.dtype, origin.double(), plane.double(), reach.double()
    inside = origin @ plane
    outside = (origin.square().sum() - inside.square().sum()).clamp(min=0).sqrt()
    offset = torch.cat([inside, outside.unsqueeze(0)])
    offset = offset * (reach / offset.norm().clamp(min=torch.finfo(reach.dtype).tiny)).clamp(max=1.0)
    missing = (LEAST_OFFSET * reach).square() - offset.square().sum()
    offset[-1] = (offset[-1].square() + missing.clamp(min=0)).sqrt()
    return offset.to(dtype)


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
