r"""Attention inside one group that is too large to keep its weights, in blocks of listeners.

The weights :math:`\alpha_{ij}` of a group take memory quadratic in its size. Here a block of listeners is worked
through at a time, and on the way back its weights are computed anew, so that memory stays linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch

from sphunc._typing import Tensor

# Weights in memory at a time: 8 MB of float32.
BLOCK_WEIGHTS = 2**21


class LargeGroup(NamedTuple):
    """One group, and where its memberships stand."""

    nodes: Tensor  # [size], the members
    start: int  # of its rows along the membership axis

    def blocks(self) -> Iterator[slice]:
        """Yield runs of listeners, counted from the first member."""
        size = self.nodes.shape[0]
        step = max(1, BLOCK_WEIGHTS // size)
        for first in range(0, size, step):
            yield slice(first, min(first + step, size))

    def rows(self, block: slice) -> slice:
        """Place of a block along the membership axis."""
        return slice(self.start + block.start, self.start + block.stop)


class Gradients(NamedTuple):
    """What the way back adds to, in place."""

    h: Tensor  # [N, D]
    scale: Tensor  # scalar
    share: Tensor  # [nnz]


def attend_large(
    pooled: Tensor, h: Tensor, scale: Tensor, share: Tensor | None, group: LargeGroup, keep_self: bool
) -> None:
    r"""Add :math:`s_i \sum_j \alpha_{ij} h_j` of every member i to ``pooled``.

    Args:
        pooled: sums ``[N, D]``, changed in place.
        h: directions ``[N, D]``.
        scale: :math:`\kappa_a`, a scalar.
        share: share of each membership ``[nnz]``; None is 1.
        group: the group.
        keep_self: whether a member attends to itself too.
    """
    keys = h[group.nodes]
    for block in group.blocks():
        alpha, _ = _weights(keys, block, scale, keep_self)
        pooled.index_add_(0, group.nodes[block], _shared(alpha, share, group.rows(block)) @ keys)


def attend_large_backward(
    grads: Gradients,
    upstream: Tensor,
    h: Tensor,
    scale: Tensor,
    share: Tensor | None,
    group: LargeGroup,
    keep_self: bool,
) -> None:
    """Add the gradients of :func:`attend_large` to ``grads``.

    Args:
        grads: gradients so far, changed in place.
        upstream: gradient of the result ``[N, D]``.
        h: directions ``[N, D]``.
        scale: sharpness, a scalar.
        share: share of each membership ``[nnz]``; None is 1.
        group: the group.
        keep_self: whether a member attends to itself too.
    """
    keys = h[group.nodes]
    to_keys = torch.zeros_like(keys)
    for block in group.blocks():
        rows = group.rows(block)
        asked = upstream[group.nodes[block]]
        alpha, inner = _weights(keys, block, scale, keep_self)
        weighted = alpha * (asked @ keys.mT)
        expected = weighted.sum(-1, keepdim=True)
        to_logits = _shared(weighted - alpha * expected, share, rows)
        grads.share[rows] = expected.squeeze(-1)
        grads.scale.add_((to_logits * inner).sum())
        to_inner = to_logits * scale
        to_keys += _shared(alpha, share, rows).mT @ asked + to_inner.mT @ keys[block]
        to_keys[block] += to_inner @ keys
    grads.h.index_add_(0, group.nodes, to_keys)


def _weights(keys: Tensor, block: slice, scale: Tensor, keep_self: bool) -> tuple[Tensor, Tensor]:
    inner = keys[block] @ keys.mT
    logits = inner * scale
    if not keep_self:
        logits.diagonal(offset=block.start).fill_(-math.inf)
    return torch.softmax(logits, -1), inner


def _shared(x: Tensor, share: Tensor | None, rows: slice) -> Tensor:
    if share is None:
        return x
    return x * share[rows].unsqueeze(-1)
