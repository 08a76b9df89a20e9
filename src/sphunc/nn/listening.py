r"""One round of listening, and what is lost on the way.

.. math:: h_i \leftarrow \mathrm{normalise}\big(h_i + \mathrm{dropout}(\mathrm{ReLU}(W_m\, p_i))\big)

Written out for blocks of agents that stay in the cache, with the gradient: operation by operation, every intermediate
result of all agents takes fresh memory, which costs more than the arithmetic.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from sphunc._typing import Directions, Float, Tensor
from sphunc.nn.row_blocks import row_blocks

# A random integer of 64 bits decides about four entries, with 16 bits each: drawing them is what dropout costs.
DECISIONS, LEVELS = 4, 2**16


def kept_at_random(shape: tuple[int, ...] | torch.Size, rate: float, generator: torch.Generator) -> Tensor:
    """Draw which entries of a tensor survive dropout; each is lost with probability ``rate``, to within 1e-5."""
    count = torch.Size(shape).numel()
    bits = torch.empty(-(-count // DECISIONS), dtype=torch.int64, device=generator.device)
    bits.random_(-(2**63), None, generator=generator)
    lost = min(round(rate * LEVELS), LEVELS - 1)
    return (bits.view(torch.int16)[:count] >= lost - LEVELS // 2).view(shape)


def drop(x: Float[Tensor, "*shape"], rate: float, generator: torch.Generator) -> Float[Tensor, "*shape"]:
    """Set entries to zero with probability ``rate`` and scale the others up, with randomness from ``generator``."""
    return x * (kept_at_random(x.shape, rate, generator) / (1.0 - rate))


def listen(
    h: Directions,
    pooled: Directions,
    weight: Float[Tensor, "dim dim"],
    rate: float = 0.0,
    generator: torch.Generator | None = None,
) -> Directions:
    """Return the directions ``[N, D]`` after hearing ``pooled``; who hears nobody keeps its own.

    Args:
        h: :math:`h_i` ``[N, D]``.
        pooled: :math:`p_i` ``[N, D]``.
        weight: :math:`W_m` ``[D, D]``.
        rate: probability of losing an entry of a message.
        generator: decides which; without one nothing is lost.
    """
    return _Listen.apply(h, pooled, weight, 0.0 if generator is None else rate, generator)


class _Listen(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, pooled: Tensor, weight: Tensor, rate: float, generator: torch.Generator | None
    ) -> Tensor:
        out, inverse = torch.empty_like(h), h.new_empty(len(h), 1)
        passed = torch.empty(h.shape, dtype=torch.bool, device=h.device)
        weight = weight / (1.0 - rate)
        for rows in row_blocks(h):
            z = torch.mm(pooled[rows], weight.mT, out=out[rows])
            through = torch.gt(z, 0.0, out=passed[rows])
            if rate and generator is not None:
                through &= kept_at_random(z.shape, rate, generator)
                z.mul_(through)
            inverse[rows] = _inverse_length(z.relu_().add_(h[rows]))
            z.mul_(inverse[rows])
        ctx.save_for_backward(pooled, weight, out, inverse, passed)
        ctx.rate = rate
        return out

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *upstream: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        pooled, weight, out, inverse, passed = ctx.saved_tensors
        to_h, to_pooled, to_weight = torch.empty_like(out), torch.empty_like(out), torch.zeros_like(weight)
        for rows in row_blocks(out):
            grad, direction = upstream[0][rows], out[rows]
            work = grad * direction
            along = work.sum(-1, keepdim=True)
            moved = torch.addcmul(grad, direction, along, value=-1, out=to_h[rows]).mul_(inverse[rows])
            said = torch.mul(moved, passed[rows], out=work)
            to_weight.addmm_(said.mT, pooled[rows])
            torch.mm(said, weight, out=to_pooled[rows])
        return to_h, to_pooled, to_weight / (1.0 - ctx.rate), None, None


def _inverse_length(v: Tensor) -> Tensor:
    """What makes unit vectors of ``v``, and leaves zero as it is, as :func:`~sphunc.nn.projection.project` has it."""
    length = torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    points_somewhere = length.square() >= torch.finfo(v.dtype).tiny
    return torch.where(points_somewhere, length, torch.inf).reciprocal()
