"""From vectors to directions: split into a unit vector and a length, with a gradient everywhere."""

from __future__ import annotations

import torch

from sphunc._typing import Float, Tensor


def project(v: Float[Tensor, "*batch dim"]) -> tuple[Float[Tensor, "*batch dim"], Float[Tensor, "*batch"]]:
    r"""Split a vector into its direction and its length, :math:`v = \|v\| h`.

    The zero vector points nowhere: its direction is the zero vector, its length 0, and no gradient passes through it
    (:func:`sphunc.sphere.normalize` refuses it instead). The same holds for vectors whose squared length underflows,
    below 1e-19 in float32.

    Args:
        v: vectors ``[..., D]``.

    Returns:
        Directions h ``[..., D]`` of length one (or zero), and lengths ``[...]``.
    """
    squared = v.square().sum(-1, keepdim=True)
    points_somewhere = squared >= torch.finfo(v.dtype).tiny
    # The square root only ever sees positive numbers: at 0 its gradient is infinite.
    length = torch.where(points_somewhere, squared, 1.0).sqrt()
    there = points_somewhere.to(v.dtype)
    return v * (there / length), (length * there).squeeze(-1)


def normalise(v: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
    """Return the direction of :func:`project`: unit vectors, and zero where ``v`` is zero."""
    return project(v)[0]
