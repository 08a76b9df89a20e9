r"""Vectors brought into the unit ball, :math:`v / (b + \sqrt{a^2 + \|v\|^2})`, and their lengths.

Both are written out for blocks of rows, with their gradients, since a training step takes them of all agents at every
time: autograd would keep and fill five arrays of that size for each.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from sphunc._typing import Float, Tensor
from sphunc.nn.row_blocks import row_blocks


def shrink(v: Float[Tensor, "*batch dim"], below: float, above: Float[Tensor, ""]) -> Float[Tensor, "*batch dim"]:
    r"""Return :math:`v / (b + \sqrt{a^2 + \|v\|^2})`, of length below 1.

    Args:
        v: vectors ``[..., D]``.
        below: :math:`b \ge 0`.
        above: :math:`a > 0`, with a gradient.
    """
    return _Shrink.apply(v, below, above)


def lengths(v: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch"]:
    """Return the Euclidean lengths ``[...]``; no gradient passes through the zero vector."""
    return _Lengths.apply(v)


class _Shrink(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, below: float, above: Tensor) -> Tensor:
        rows = v.reshape(-1, v.shape[-1])
        out, root = torch.empty_like(rows), rows.new_empty(len(rows), 1)
        for block in row_blocks(rows):
            length = torch.linalg.vector_norm(rows[block], dim=-1, keepdim=True)
            torch.hypot(length, above.to(length), out=root[block])
            torch.div(rows[block], below + root[block], out=out[block])
        ctx.save_for_backward(out, root, above)
        ctx.below = below
        return out.view(v.shape)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *upstream: Tensor
    ) -> tuple[Tensor, None, Tensor | None]:
        out, root, above = ctx.saved_tensors
        grad, to_v = upstream[0].reshape(out.shape), torch.empty_like(out)
        along = torch.empty_like(root)
        for block in row_blocks(out):
            mine = torch.sum(grad[block] * out[block], -1, keepdim=True, out=along[block])
            torch.div(grad[block], ctx.below + root[block], out=to_v[block])
            to_v[block].addcmul_(out[block], mine / root[block], value=-1)
        to_above = -(along / (ctx.below + root) / root).sum() * above if ctx.needs_input_grad[2] else None
        return to_v.view(upstream[0].shape), None, to_above


class _Lengths(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(v, dim=-1)
        ctx.save_for_backward(v, length)
        return length

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        v, length = ctx.saved_tensors
        return v * (upstream[0] / torch.where(length > 0, length, torch.inf)).unsqueeze(-1)
