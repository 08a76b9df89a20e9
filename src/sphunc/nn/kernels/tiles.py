r"""Attention inside groups of middling size, as dense products over tiles of groups of one size.

A tile stays in the cache while its members are gathered, used and summed; each membership is gathered once, and only
:math:`\alpha` and the inner products are kept for the way back. Groups too large for that are
:mod:`sphunc.nn.kernels.large_groups`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from sphunc._typing import Tensor
from sphunc.hypergraph import Buckets
from sphunc.nn.kernels.large_groups import Gradients, LargeGroup, attend_large, attend_large_backward

# Memberships per tile. On a CPU a tile of 2048 rows of 128 floats takes 1 MB: gathered, used and summed inside the
# cache it costs a tenth of gathering all memberships into fresh memory. Other devices want fewer launches.
TILE_ROWS_CPU = 2048
TILE_ROWS_DEVICE = 2**17
# Above this size the weights of a group are not kept: they take memory quadratic in its size.
LARGE_GROUP = 512
# Below this length of row torch.softmax is not vectorised along the row.
NARROW_ROW = 8


class _Tiling:
    """The groups in tiles: runs of whole groups of one size; those too large for that apart."""

    def __init__(self, groups: Buckets, device: torch.device) -> None:
        rows = TILE_ROWS_DEVICE
        if device.type == "cpu":
            rows = TILE_ROWS_CPU
        self.shapes: list[tuple[int, int]] = []
        self.large: list[LargeGroup] = []
        for start, count, size in groups.tiles(rows):
            if size <= LARGE_GROUP:
                self.shapes.append((count, size))
            else:
                starts = range(start, start + count * size, size)
                self.large += [LargeGroup(groups.node[first : first + size], first) for first in starts]
        self.memberships = [count * size for count, size in self.shapes]
        self.pairs = [count * size * size for count, size in self.shapes]

    def of_memberships(self, x: Tensor) -> list[Tensor]:
        """Numbers per membership ``[nnz]``, tile after tile; sizes ascend, so large groups come last."""
        return list(x[: sum(self.memberships)].split(self.memberships))

    def of_shares(self, share: Tensor | None) -> list[Tensor | None]:
        """Shares of the memberships, tile after tile; None where all are 1."""
        if share is None:
            return [None] * len(self.shapes)
        return [*self.of_memberships(share)]

    def of_pairs(self, x: Tensor) -> list[Tensor]:
        """Numbers per pair of members, tile after tile, ``[groups, size, size]`` each."""
        parts = x.split(self.pairs)
        return [part.view(count, size, size) for part, (count, size) in zip(parts, self.shapes, strict=True)]


class _Workspace:
    """Memory for one tile, used again by the next: fresh pages for every tile cost as much as the sums."""

    def __init__(self, like: Tensor) -> None:
        self._like = like
        self._memory: dict[str, Tensor] = {}
        self._views: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def __call__(self, name: str, *shape: int) -> Tensor:
        """Return a tensor that is valid until the same name is asked for again."""
        view = self._views.get((name, shape))
        if view is None:
            numel = math.prod(shape)
            if name not in self._memory or self._memory[name].numel() < numel:
                self._memory[name] = self._like.new_empty(numel)
            view = self._views[name, shape] = self._memory[name][:numel].view(shape)
        return view


def _softmax_of(inner: Tensor, scale: Tensor, keep_self: bool, work: _Workspace, out: Tensor) -> None:
    count, size, _ = inner.shape
    if size >= NARROW_ROW:
        logits = torch.mul(inner, scale, out=work("logits", count, size, size))
        if not keep_self:
            logits.diagonal(dim1=1, dim2=2).fill_(-math.inf)
        torch.softmax(logits, -1, out=out)
        return
    # torch takes such short rows one number at a time; with the groups innermost it takes vectors, 3 times faster.
    logits = torch.mul(inner.permute(1, 2, 0), scale, out=work("logits", size, size, count))
    if not keep_self:
        logits.view(size * size, count)[:: size + 1].fill_(-math.inf)
    out.copy_(torch.softmax(logits, 1, out=work("softmax", size, size, count)).permute(2, 0, 1))


def _row_sums(x: Tensor, work: _Workspace, out: Tensor) -> Tensor:
    """Sum over the last axis ``[groups, size, 1]``; as a product, because torch adds short rows number by number."""
    count, size, _ = x.shape
    return torch.mv(x.view(-1, size), work("ones", size).fill_(1.0), out=out).view(count, size, 1)


class TilePool(torch.autograd.Function):
    """The kernel over tiles, with its gradient written out: autograd would keep every gathered row."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, scale: Tensor, share: Tensor | None, groups: Buckets, keep_self: bool) -> Tensor:
        """Sum over an agent's groups of the attended mean there, times the share of each membership if given.

        Args:
            ctx: keeps what the gradient needs.
            h: directions ``[N, D]``.
            scale: sharpness, a scalar.
            share: share of each membership ``[nnz]``; None is 1.
            groups: the groups, by size.
            keep_self: whether a member attends to itself too.
        """
        tiling = _Tiling(groups, h.device)
        work = _Workspace(h)
        dim = h.shape[1]
        alphas = h.new_empty(sum(tiling.pairs))
        inners = torch.empty_like(alphas)
        pooled = torch.zeros_like(h)
        shares = tiling.of_shares(share)
        for nodes, part, alpha, inner in zip(
            tiling.of_memberships(groups.node), shares, tiling.of_pairs(alphas), tiling.of_pairs(inners), strict=True
        ):
            count, size, _ = alpha.shape
            keys = torch.index_select(h, 0, nodes, out=work("keys", count * size, dim)).view(count, size, dim)
            torch.bmm(keys, keys.mT, out=inner)
            _softmax_of(inner, scale, keep_self, work, out=alpha)
            weights = alpha
            if part is not None:
                weights = alpha * part.view(count, size, 1)
            heard = torch.bmm(weights, keys, out=work("heard", count, size, dim))
            pooled.index_add_(0, nodes, heard.view(count * size, dim))
        for group in tiling.large:
            attend_large(pooled, h, scale, share, group, keep_self)
        ctx.save_for_backward(h, scale, share, alphas, inners)
        ctx.tiling = tiling
        ctx.groups = groups
        ctx.keep_self = keep_self
        return pooled

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *upstream: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        """Gradients in h, scale and share."""
        h, scale, share, alphas, inners = ctx.saved_tensors
        tiling = ctx.tiling
        work = _Workspace(h)
        dim = h.shape[1]
        both = torch.stack([h, upstream[0]], 1).view(-1, 2 * dim)
        to_logits = torch.empty_like(alphas)
        expected = h.new_empty(ctx.groups.node.shape[0])
        to_h = torch.zeros_like(h)
        shares = tiling.of_shares(share)
        for nodes, part, alpha, mean, to_logit in zip(
            tiling.of_memberships(ctx.groups.node),
            shares,
            tiling.of_pairs(alphas),
            tiling.of_memberships(expected),
            tiling.of_pairs(to_logits),
            strict=True,
        ):
            count, size, _ = alpha.shape
            # Rows h_1, g_1, h_2, g_2, ... of each group: one gather, and one product for both ways to the keys.
            rows = torch.index_select(both, 0, nodes, out=work("rows", count * size, 2 * dim)).view(count, -1, dim)
            weighted = torch.bmm(rows[:, 1::2], rows[:, ::2].mT, out=work("pairs", count, size, size)).mul_(alpha)
            torch.addcmul(weighted, alpha, _row_sums(weighted, work, out=mean), value=-1, out=to_logit)
            if part is not None:
                to_logit.mul_(part.view(count, size, 1))
                alpha = alpha * part.view(count, size, 1)
            to_inner = torch.mul(to_logit, scale, out=weighted)
            mixed = work("mixed", count, size, size, 2)
            torch.add(to_inner, to_inner.mT, out=mixed[..., 0])
            mixed[..., 1] = alpha.mT
            to_keys = torch.bmm(mixed.view(count, size, 2 * size), rows, out=work("keys", count, size, dim))
            to_h.index_add_(0, nodes, to_keys.view(count * size, dim))
        grads = Gradients(to_h, torch.dot(to_logits, inners), expected)
        for group in tiling.large:
            attend_large_backward(grads, upstream[0], h, scale, share, group, ctx.keep_self)
        to_share = None
        if share is not None:
            to_share = grads.share
        return grads.h, grads.scale, to_share, None, None
