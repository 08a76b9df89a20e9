r"""Geometry of the unit sphere by formulas that have no singularity where the geometry has none.

Functions act on the last axis and broadcast over the others. Gradients are finite at zero steps and for equal points.
Only antipodal points are special: the direction from x to -x is not defined, and :func:`log_map` refuses it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.sphere.checks import (
    check_broadcast,
    check_directions,
    check_floating,
    check_range,
    check_same_dim,
    check_same_kind,
)

SERIES_BELOW = 1 / 16
"""Squared half-angles below this take the Taylor series: 14 terms reach rounding, and every derivative is finite."""

_SINC = [(-1) ** m / math.factorial(2 * m + 1) for m in range(9)]
_ARC = [4**m * math.factorial(m) ** 2 / math.factorial(2 * m + 1) for m in range(15)]


def _series(coefficients: list[float], q: Tensor) -> Tensor:
    value = torch.full_like(q, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * q + coefficient
    return value


def _sinc_of_square(q: Tensor) -> Tensor:
    """sin(sqrt q) / sqrt q, smooth at 0 to every order."""
    small = q < SERIES_BELOW
    root = torch.where(small, 1.0, q).sqrt()
    return torch.where(small, _series(_SINC, torch.where(small, q, 0.0)), root.sin() / root)


def normalize(x: Tensor, *, validate: bool = True) -> Float[Tensor, "*batch dim"]:
    """Scale vectors to length 1; a zero, infinite or NaN vector has no direction and is refused.

    Args:
        x: vectors of any length but 0, ``[*batch, D]``.
        validate: whether to refuse vectors without a direction.

    >>> normalize(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000])
    """
    x = check_floating(x, "x")
    largest = torch.linalg.vector_norm(x.detach(), ord=math.inf, dim=-1, keepdim=True)
    if validate:
        limits = torch.finfo(x.dtype)
        allowed = "A direction needs a finite vector other than 0"
        check_range(largest.squeeze(-1), "the largest coordinate of x", limits.tiny, limits.max, allowed)
    scaled = x / largest
    return scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)


def _pair(x: Tensor, y: Tensor, validate: bool) -> tuple[Tensor, Tensor]:
    x = check_directions(x, "x", validate=validate)
    y = check_directions(y, "y", validate=validate)
    check_same_dim(x=x, y=y)
    check_same_kind(x=x, y=y)
    check_broadcast(x=x.shape[:-1], y=y.shape[:-1])
    return x, y


def angle(x: Tensor, y: Tensor, *, validate: bool = True) -> Float[Tensor, "*batch"]:
    r"""Angle between unit vectors, :math:`2\,\mathrm{atan2}(|x - y|, |x + y|)`, in [0, pi].

    Accurate to rounding at every angle, where arccos of the inner product loses half the digits near 0 and pi. The
    gradient is a unit tangent; at equal and at antipodal points, where there is none, it is 0.

    Args:
        x: unit vectors, ``[*batch, D]``.
        y: unit vectors; both broadcast.
        validate: whether to check the values of the arguments.
    """
    x, y = _pair(x, y, validate)
    difference = torch.linalg.vector_norm(x - y, dim=-1)
    total = torch.linalg.vector_norm(x + y, dim=-1)
    return 2 * torch.atan2(difference, total)


def exp_map(x: Tensor, step: Tensor, *, validate: bool = True) -> Float[Tensor, "*batch dim"]:
    r"""Walk from ``x`` along the great circle of a tangent vector, :math:`\cos|v|\,x + \frac{\sin|v|}{|v|}\,v`.

    Smooth in ``step`` to every order, zero steps included. ``step`` must be orthogonal to ``x``;
    :func:`to_tangent` makes it so.

    Args:
        x: unit vectors, ``[*batch, D]``.
        step: tangent vectors v at ``x``, ``[*batch, D]``.
        validate: whether to check the values of the arguments.
    """
    x = check_directions(x, "x", validate=validate)
    step = check_floating(step, "step")
    check_same_dim(x=x, step=step)
    check_same_kind(x=x, step=step)
    check_broadcast(x=x.shape[:-1], step=step.shape[:-1])
    if validate:
        _check_tangent(x.detach(), step.detach())
    q = step.square().sum(-1, keepdim=True)
    half = _sinc_of_square(q / 4)
    return x - (q * half.square() / 2) * x + _sinc_of_square(q) * step


def _check_tangent(x: Tensor, step: Tensor) -> None:
    tolerance = 1e-3
    if x.dtype == torch.float64:
        tolerance = 1e-6
    along = (x * step).sum(-1).abs() / (1 + torch.linalg.vector_norm(step, dim=-1))
    allowed = (
        f"step must be tangent, |x . step| <= {tolerance:g} (1 + |step|); project it with sphunc.sphere.to_tangent"
    )
    check_range(along, "the component of step along x", 0.0, tolerance, allowed)


def to_tangent(x: Tensor, v: Tensor, *, validate: bool = True) -> Float[Tensor, "*batch dim"]:
    r"""Project vectors on the tangent space at ``x``, :math:`v - (x \cdot v)\,x`.

    Args:
        x: unit vectors, ``[*batch, D]``.
        v: vectors to project, ``[*batch, D]``.
        validate: whether to check the values of the arguments.
    """
    x = check_directions(x, "x", validate=validate)
    v = check_floating(v, "v")
    check_same_dim(x=x, v=v)
    check_same_kind(x=x, v=v)
    check_broadcast(x=x.shape[:-1], v=v.shape[:-1])
    return v - (x * v).sum(-1, keepdim=True) * x


def log_map(x: Tensor, y: Tensor, *, validate: bool = True) -> Float[Tensor, "*batch dim"]:
    r"""Tangent vector at ``x`` that :func:`exp_map` takes to ``y``; its length is the angle.

    .. math:: \log_x y = \frac{\theta}{\sin\theta}\,[(y - x) + 2 h x], \qquad h = \sin^2(\theta/2) = |x - y|^2/4

    Antipodal points are refused: every direction leads there. Gradients are finite everywhere else.

    Args:
        x: unit vectors, ``[*batch, D]``.
        y: unit vectors; both broadcast.
        validate: whether to check the values of the arguments.
    """
    x, y = _pair(x, y, validate)
    h = (x - y).square().sum(-1, keepdim=True) / 4
    rest = (x + y).square().sum(-1, keepdim=True) / 4
    if validate:
        _refuse_antipodes(rest.detach().squeeze(-1))
    small = h < SERIES_BELOW
    # Each form is given only what it can take: the series small h, the quotient the others.
    by_series = _series(_ARC, torch.where(small, h, 0.0))
    by_quotient = _arc_over_sine(torch.where(small, 0.5, h), torch.where(small, 0.5, rest))
    stretch = torch.where(small, by_series, by_quotient)
    return stretch * ((y - x) + 2 * h * x)


def _arc_over_sine(h: Tensor, rest: Tensor) -> Tensor:
    return torch.atan2(h.sqrt(), rest.sqrt()) / (h * rest).sqrt()


def _refuse_antipodes(rest: Tensor) -> None:
    bad = rest <= torch.finfo(rest.dtype).eps ** 2
    if bad.any():
        index = tuple(int(i) for i in bad.nonzero()[0])
        raise ArgumentError(
            f"x and y are antipodal at {index}: every direction leads from x to -x, so the logarithm is not defined. "
            f"Leave such pairs out, or move one of them a little."
        )


def weighted_mean_direction(
    x: Tensor, weights: Tensor | None = None, *, validate: bool = True
) -> tuple[Float[Tensor, "*batch dim"], Float[Tensor, "*batch"]]:
    r"""Direction of the weighted sum over the second last axis, and 1 - R, the gap of its mean resultant length.

    .. math:: m = \frac{\sum_i w_i x_i}{|\sum_i w_i x_i|}, \qquad 1 - R = \frac{\sum_i w_i |x_i - m|^2}{2 \sum_i w_i}

    The gap keeps its digits when the points nearly coincide; hand it to ``concentration_from_gap``.

    Args:
        x: unit vectors ``[*batch, point, D]``.
        weights: non-negative ``[*batch, point]``; None weighs equally.
        validate: whether to check the values of the arguments.
    """
    x = check_directions(x, "x", validate=validate)
    if x.ndim < 2 or x.shape[-2] == 0:
        raise ArgumentError(f"x must hold at least one point, shape [*batch, point, D]; got shape {tuple(x.shape)}.")
    if weights is None:
        weights = torch.ones_like(x[..., 0])
    else:
        weights = _check_weights(x, weights, validate)
    share = (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)
    total = (share * x).sum(-2)
    if validate:
        _check_resultant(total.detach())
    mean = normalize(total, validate=False)
    squared_distance = (x - mean.unsqueeze(-2)).square().sum(-1)
    gap = (share.squeeze(-1) * squared_distance).sum(-1) / 2
    return mean, gap


def _check_weights(x: Tensor, weights: Tensor, validate: bool) -> Tensor:
    weights = check_floating(weights, "weights")
    check_same_kind(x=x, weights=weights)
    check_broadcast(x=x.shape[:-1], weights=weights.shape)
    if validate:
        check_range(weights, "weights", 0.0, torch.finfo(weights.dtype).max, "Weights are finite and not negative")
        tiny = torch.finfo(weights.dtype).tiny
        check_range(weights.sum(-1), "the sum of weights", tiny, math.inf, "At least one weight must be positive")
    return weights


def _check_resultant(total: Tensor) -> None:
    length = torch.linalg.vector_norm(total, dim=-1)
    floor = 4 * torch.finfo(total.dtype).eps
    allowed = f"The points cancel: a mean direction needs a resultant above {floor:.1g}"
    check_range(length, "the resultant length of x", floor, math.inf, allowed)
