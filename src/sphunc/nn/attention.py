r"""Attention inside hyperedges: every agent listens to the other members of its groups.

.. math::
    p_i = \sum_{e \ni i} s_i^e \sum_{j \in e \setminus i} \alpha_{ij}^e h_j, \qquad
    \alpha_{ij}^e = \frac{\exp(\kappa_a h_i^\top h_j)}{\sum_{k \in e \setminus i} \exp(\kappa_a h_i^\top h_k)}

with shares :math:`s_i^e = 1/\deg(i)`. The three ways to attend are three functions over one kernel, which works
through the groups in tiles that stay in the cache, gathers each membership once, and keeps only :math:`\alpha` and
the inner products for the way back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from sphunc._typing import Directions, Float, Tensor
from sphunc.hypergraph.buckets import Buckets

# Memberships per tile. On a CPU a tile of 2048 rows of 128 floats takes 1 MB: gathered, used and summed inside the
# cache it costs a tenth of gathering all memberships into fresh memory. Other devices want fewer launches.
TILE_ROWS_CPU = 2048
TILE_ROWS_DEVICE = 2**17
# From this size on a group is worked through in blocks of agents, and its weights are computed anew on the way back:
# kept, they would take memory quadratic in its size.
LARGE_GROUP = 512
BLOCK_WEIGHTS = 2**21
# Below this length of row torch.softmax is not vectorised along the row.
NARROW_ROW = 8


def angular_attention(
    h: Directions, sharpness: Float[Tensor, ""], groups: Buckets, share: Float[Tensor, " nnz"] | None = None
) -> Directions:
    r"""Mean over an agent's groups of what the *other* members say, weighted by angle.

    Linear maps commute with the pooling, so values :math:`W_m h_j` are ``angular_attention(h, ...) @ W_m.T``: one
    product per agent instead of one per membership. Rotating h rotates the result.

    Args:
        h: directions :math:`h_i` ``[N, D]``.
        sharpness: :math:`\kappa_a`, a scalar tensor.
        groups: the groups, by size.
        share: share of each membership in its agent's mean ``[nnz]``; default the plain mean.

    Returns:
        :math:`p_i` ``[N, D]``, of length at most 1; 0 for an agent in no group of two or more.
    """
    return _pool(h, sharpness, groups, share, keep_self=False)


def angular_attention_with_self(
    h: Directions, sharpness: Float[Tensor, ""], groups: Buckets, share: Float[Tensor, " nnz"] | None = None
) -> Directions:
    r"""Angular attention as the paper writes it: the sum over :math:`k \in e` includes i itself.

    As :math:`h_i^\top h_i = 1` is the largest inner product there is, a growing :math:`\kappa_a` makes every agent
    listen to itself. A group of one still passes no message. Arguments as in :func:`angular_attention`.
    """
    return _pool(h, sharpness, groups, share, keep_self=True)


def dot_product_attention(x: Directions, groups: Buckets, share: Float[Tensor, " nnz"] | None = None) -> Directions:
    r"""Attention by :math:`\exp(x_i^\top x_j / \sqrt{D})` over the other members, for vectors of any length.

    On unit vectors this would be :func:`angular_attention` with :math:`\kappa_a = 1/\sqrt{D}`; it differs by being
    given vectors that are not normalised.
    """
    scale = torch.full((), 1.0 / math.sqrt(x.shape[-1]), dtype=x.dtype, device=x.device)
    return _pool(x, scale, groups, share, keep_self=False)


def _pool(h: Tensor, scale: Tensor, groups: Buckets, share: Tensor | None, *, keep_self: bool) -> Tensor:
    share = (groups.share if share is None else share).to(h.dtype)
    return _Pool.apply(h, scale, share, groups, keep_self)


class _Tile(NamedTuple):
    """Queries (all agents of whole groups, or a block of one large group) against the members of their groups."""

    members: Tensor  # [groups, size], node of each key
    queries: slice  # along the size axis
    rows: slice  # of the queries, along the membership axis
    is_whole: bool

    @property
    def asking(self) -> Tensor:
        """Node of each query ``[groups, queries]``."""
        return self.members[:, self.queries]

    def share(self, share: Tensor) -> Tensor:
        return share[self.rows].view(self.members.shape[0], -1, 1)


def _tiles(groups: Buckets, device: torch.device) -> list[_Tile]:
    tiles = []
    for start, count, size in groups.tiles(TILE_ROWS_CPU if device.type == "cpu" else TILE_ROWS_DEVICE):
        members = groups.node[start : start + count * size].view(count, size)
        if size <= LARGE_GROUP:
            tiles.append(_Tile(members, slice(0, size), slice(start, start + count * size), is_whole=True))
            continue
        step = max(1, BLOCK_WEIGHTS // size)
        for row in range(count):
            first = start + row * size
            for a in range(0, size, step):
                b = min(a + step, size)
                tiles.append(_Tile(members[row : row + 1], slice(a, b), slice(first + a, first + b), is_whole=False))
    return tiles


class _Scratch:
    """Memory for the rows of one tile, taken once per call: fresh pages for every tile cost as much as the sums."""

    def __init__(self, like: Tensor, tiles: list[_Tile]) -> None:
        self._rows = like.new_empty(max((tile.members.numel() for tile in tiles), default=0), like.shape[1])

    def gather(self, x: Tensor, nodes: Tensor) -> Tensor:
        """Return ``x[nodes]``, valid until the next call."""
        rows = self._rows[: nodes.numel()]
        torch.index_select(x, 0, nodes.reshape(-1), out=rows)
        return rows.view(*nodes.shape, x.shape[1])

    def bmm(self, a: Tensor, b: Tensor) -> Tensor:
        """Return ``a @ b``, valid until the next call."""
        out = self._rows[: a.shape[0] * a.shape[1]].view(a.shape[0], a.shape[1], b.shape[2])
        return torch.bmm(a, b, out=out)


def _softmax(logits: Tensor) -> Tensor:
    if logits.shape[-1] >= NARROW_ROW:
        return torch.softmax(logits, -1)
    # torch takes such short rows one number at a time; with the groups innermost it takes vectors, 3 times faster.
    return torch.softmax(logits.permute(1, 2, 0).contiguous(), 1).permute(2, 0, 1).contiguous()


def _weights(keys: Tensor, queries: slice, scale: Tensor, keep_self: bool) -> tuple[Tensor, Tensor]:
    inner = torch.bmm(keys[:, queries], keys.mT)
    logits = inner * scale
    if not keep_self:
        logits.diagonal(offset=queries.start, dim1=1, dim2=2).fill_(-math.inf)
    return _softmax(logits), inner


def _add_rows(total: Tensor, nodes: Tensor, rows: Tensor) -> None:
    total.index_add_(0, nodes.reshape(-1), rows.flatten(0, 1))


class _Pool(torch.autograd.Function):
    """The kernel, with its gradient written out: autograd would keep every gathered row."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, scale: Tensor, share: Tensor, groups: Buckets, keep_self: bool) -> Tensor:
        tiles = _tiles(groups, h.device)
        rows, messages = _Scratch(h, tiles), _Scratch(h, tiles)
        pooled, kept = torch.zeros_like(h), []
        for tile in tiles:
            keys = rows.gather(h, tile.members)
            alpha, inner = _weights(keys, tile.queries, scale, keep_self)
            _add_rows(pooled, tile.asking, messages.bmm(alpha * tile.share(share), keys))
            kept += [alpha, inner] if tile.is_whole else [None, None]
        ctx.save_for_backward(h, scale, share, *kept)
        ctx.tiles, ctx.keep_self = tiles, keep_self
        return pooled

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        h, scale, share, *kept = ctx.saved_tensors
        rows, upstream, backwards = (_Scratch(h, ctx.tiles) for _ in range(3))
        to_h, to_scale, to_share = torch.zeros_like(h), torch.zeros_like(scale), torch.empty_like(share)
        for n, tile in enumerate(ctx.tiles):
            keys = rows.gather(h, tile.members)
            alpha, inner = kept[2 * n : 2 * n + 2]
            if alpha is None:
                alpha, inner = _weights(keys, tile.queries, scale, ctx.keep_self)
            grad = upstream.gather(grads[0], tile.asking)
            to_alpha = torch.bmm(grad, keys.mT)
            expected = (alpha * to_alpha).sum(-1, keepdim=True)
            to_share[tile.rows] = expected.flatten()
            alpha = alpha * tile.share(share)
            to_logits = alpha * (to_alpha - expected)
            to_scale += (to_logits * inner).sum()
            _add_key_gradients(to_h, tile, keys, backwards.bmm(alpha.mT, grad), to_logits * scale)
        return to_h, to_scale, to_share, None, None


def _add_key_gradients(to_h: Tensor, tile: _Tile, keys: Tensor, to_keys: Tensor, to_inner: Tensor) -> None:
    if tile.is_whole:
        to_keys.baddbmm_(to_inner + to_inner.mT, keys)
    else:
        to_keys.baddbmm_(to_inner.mT, keys[:, tile.queries])
        _add_rows(to_h, tile.asking, torch.bmm(to_inner, keys))
    _add_rows(to_h, tile.members, to_keys)
