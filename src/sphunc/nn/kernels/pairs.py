r"""Attention inside small groups, as sparse products over pairs of members.

Up to about ten members a group has so few pairs that reading both vectors of every pair costs less than gathering the
members, multiplying small matrices and adding up rows: :math:`h_i^\top h_j` is a sampled product (once per unordered
pair), :math:`\sum_j \alpha_{ij} h_j` a sum of weighted rows, agent after agent, that nothing is scattered for. Where
each pair stands is worked out once per hypergraph.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from sphunc._typing import Tensor
from sphunc.hypergraph import Buckets


@dataclass(frozen=True, eq=False)
class Pairs:
    """Where every ordered pair (listener, speaker) of a hypergraph stands.

    Numbers per pair are kept in blocks ``[size, speakers, groups]``, one per size of group, so that the softmax over
    speakers runs along whole vectors; sparse products want them agent after agent.

    Attributes:
        shapes: ``(size, speakers, groups)`` of each block.
        offsets: first pair of each agent in agent order ``[N + 1]``.
        speaker: speaker of each pair in agent order.
        place: block position of each pair in agent order.
        place_reversed: block position of the same two agents the other way round, in agent order.
        rank: agent-order position of each pair in blocks, the inverse of ``place``.
        half_offsets: as ``offsets``, for pairs taken once whatever their direction.
        half_speaker: as ``speaker``, likewise.
        half_rank: position among those, of each pair in blocks.
    """

    shapes: tuple[tuple[int, int, int], ...]
    offsets: Tensor
    speaker: Tensor
    place: Tensor
    place_reversed: Tensor
    rank: Tensor
    half_offsets: Tensor
    half_speaker: Tensor
    half_rank: Tensor

    def blocks(self, x: Tensor) -> Iterator[Tensor]:
        """Yield numbers per pair as ``[size, speakers, groups]``, size after size."""
        sizes = [size * speakers * groups for size, speakers, groups in self.shapes]
        for part, shape in zip(x.split(sizes), self.shapes, strict=True):
            yield part.view(shape)

    def memberships(self, x: Tensor) -> Iterator[Tensor]:
        """Yield numbers per membership as ``[size, 1, groups]``, size after size."""
        parts = x.split([size * groups for size, _, groups in self.shapes])
        for part, (size, _, groups) in zip(parts, self.shapes, strict=True):
            yield part.view(groups, size).mT.unsqueeze(1)


def find_pairs(groups: Buckets, *, keep_self: bool) -> Pairs:
    """List the pairs of every group.

    Args:
        groups: the groups, by size.
        keep_self: whether an agent is paired with itself too.
    """
    shapes = []
    speakers = []
    mirrored = []
    bases = []
    start = 0
    for members in groups.rectangles():
        count, size = members.shape
        table = _speaker_slots(size, keep_self).to(members.device)
        within = torch.arange(count, device=members.device)
        shapes.append((size, table.shape[1], count))
        speakers.append(members.mT.index_select(0, table.flatten()).flatten())
        mirrored.append((start + _mirror(table).unsqueeze(-1) * count + within).flatten())
        slot = torch.arange(size, device=members.device)
        first = start + slot * table.shape[1] * count + within.unsqueeze(1)
        bases.append(torch.stack([first, slot.expand_as(first), *_constants(first, table.shape[1], count)]).flatten(1))
        start += table.numel() * count
    return _in_agent_order(groups, tuple(shapes), torch.cat(speakers), torch.cat(mirrored), torch.cat(bases, 1))


def _constants(like: Tensor, *values: int) -> list[Tensor]:
    return [torch.full_like(like, value) for value in values]


def _speaker_slots(size: int, keep_self: bool) -> Tensor:
    slots = torch.arange(size).expand(size, size)
    if keep_self:
        return slots
    return slots[~torch.eye(size, dtype=torch.bool)].view(size, size - 1)


def _mirror(table: Tensor) -> Tensor:
    """Entry of ``table`` with listener and speaker exchanged, for each entry."""
    size, speakers = table.shape
    entry = torch.zeros(size, size, dtype=torch.long, device=table.device)
    entry.scatter_(1, table, torch.arange(size * speakers, device=table.device).view(size, speakers))
    return entry.mT.gather(1, table)


def _in_agent_order(
    groups: Buckets, shapes: tuple[tuple[int, int, int], ...], speaker: Tensor, mirror: Tensor, bases: Tensor
) -> Pairs:
    first, slot, speakers, step = bases.index_select(1, torch.argsort(groups.node, stable=True))
    degree = torch.bincount(groups.node, minlength=groups.num_nodes)
    place = _run(first, speakers, step)
    # Speakers of a listener ascend: from its own slot on, each unordered pair comes once.
    half = _run(first + slot * step, speakers - slot, step)
    numbers = torch.arange(place.numel(), device=place.device)
    rank = torch.empty_like(place).scatter_(0, place, numbers)
    half_rank = torch.empty_like(place).scatter_(0, half, numbers)
    half_rank.scatter_(0, mirror.index_select(0, half), numbers)
    return Pairs(
        shapes=shapes,
        offsets=_offsets(degree, speakers),
        speaker=speaker.index_select(0, place),
        place=place,
        place_reversed=mirror.index_select(0, place),
        rank=rank,
        half_offsets=_offsets(degree, speakers - slot),
        half_speaker=speaker.index_select(0, half),
        half_rank=half_rank,
    )


def _run(first: Tensor, length: Tensor, step: Tensor) -> Tensor:
    """``first, first + step, ...``, ``length`` numbers each, one run after the other."""
    before = length.cumsum(0) - length
    total = int(length.sum())
    start = (first - before * step).repeat_interleave(length, output_size=total)
    return torch.arange(total, device=first.device).mul_(step.repeat_interleave(length, output_size=total)).add_(start)


def _offsets(degree: Tensor, length: Tensor) -> Tensor:
    """Where the pairs of each agent begin, its memberships having ``length`` pairs each, and where the last end."""
    ends = torch.cat([length.new_zeros(1), length.cumsum(0)])
    return ends[torch.cat([degree.new_zeros(1), degree.cumsum(0)])]


@cache
def _hear_the_warning_once() -> None:
    """Let torch say, where nobody is told, that its CSR tensors are in beta: it says so once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.zeros(2, dtype=torch.long), torch.zeros(0, dtype=torch.long), torch.zeros(0))


def _inner_products(x: Tensor, y: Tensor, offsets: Tensor, speaker: Tensor) -> Tensor:
    _hear_the_warning_once()
    shape = (x.shape[0], y.shape[0])
    zeros = x.new_zeros(speaker.shape[0])
    # Two agents may meet in several groups: entries repeat, which the product takes but the check does not.
    where = torch.sparse_csr_tensor(offsets, speaker, zeros, shape, check_invariants=False)
    return torch.sparse.sampled_addmm(where, x, y.mT, beta=0.0).values()


def _weighted_rows(x: Tensor, weight: Tensor, pairs: Pairs) -> Tensor:
    return torch.nn.functional.embedding_bag(
        pairs.speaker, x.detach(), pairs.offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
    )


class PairPool(torch.autograd.Function):
    """The kernel over pairs, with its gradient written out."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, scale: Tensor, share: Tensor | None, pairs: Pairs) -> Tensor:
        """Sum over an agent's groups of the attended mean there, times the share of each membership if given.

        Args:
            ctx: keeps what the gradient needs.
            h: directions ``[N, D]``.
            scale: sharpness, a scalar.
            share: share of each membership ``[nnz]``; None is 1.
            pairs: the pairs of all groups.
        """
        h = h.contiguous()
        half = _inner_products(h, h, pairs.half_offsets, pairs.half_speaker)
        inner = half.index_select(0, pairs.half_rank)
        alpha = torch.empty_like(inner)
        for block, out in zip(pairs.blocks(inner * scale), pairs.blocks(alpha), strict=True):
            torch.softmax(block, 1, out=out)
        ctx.save_for_backward(h, scale, share, alpha, inner)
        ctx.pairs = pairs
        return _weighted_rows(h, _shared(alpha, share, pairs).index_select(0, pairs.place), pairs)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *upstream: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, None]:
        """Gradients in h, scale and share."""
        h, scale, share, alpha, inner = ctx.saved_tensors
        pairs = ctx.pairs
        grad = upstream[0].contiguous()
        weighted = _inner_products(grad, h, pairs.offsets, pairs.speaker).index_select(0, pairs.rank).mul_(alpha)
        expected = [block.sum(1, keepdim=True) for block in pairs.blocks(weighted)]
        for block, weights, mean in zip(pairs.blocks(weighted), pairs.blocks(alpha), expected, strict=True):
            block.addcmul_(weights, mean, value=-1)
        to_logits = _shared(weighted, share, pairs)
        to_inner = to_logits.index_select(0, pairs.place).add_(to_logits.index_select(0, pairs.place_reversed))
        heard = _shared(alpha, share, pairs).index_select(0, pairs.place_reversed)
        to_h = _weighted_rows(grad, heard, pairs).add_(_weighted_rows(h, to_inner.mul_(scale), pairs))
        to_share = None
        if share is not None:
            to_share = torch.cat([mean.squeeze(1).mT.flatten() for mean in expected])
        return to_h, torch.dot(to_logits, inner), to_share, None


def _shared(x: Tensor, share: Tensor | None, pairs: Pairs) -> Tensor:
    if share is None:
        return x
    return torch.cat([(a * s).flatten() for a, s in zip(pairs.blocks(x), pairs.memberships(share), strict=True)])
