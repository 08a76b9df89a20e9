r"""Attention inside hyperedges: every agent attends to the other members of its groups.

Angular attention is eq. (angular_attention) of the paper,

.. math::
    p_i = \sum_{e \ni i} s_i^e \sum_{j \in e \setminus i} \alpha_{ij}^e h_j, \qquad
    \alpha_{ij}^e = \frac{\exp(\kappa_a h_i^\top h_j)}{\sum_{k \in e \setminus i} \exp(\kappa_a h_i^\top h_k)}

with shares :math:`s_i^e = 1/\deg(i)`. The kernel depends on the size of a group:
:mod:`sphunc.nn.kernels.pairs` for small ones, :mod:`sphunc.nn.kernels.tiles` for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from sphunc._typing import Directions, Float, Tensor
from sphunc.hypergraph import Buckets
from sphunc.nn.kernels.pairs import PairPool, Pairs, find_pairs
from sphunc.nn.kernels.tiles import TilePool

# Up to this size of group products over pairs are the faster way on a CPU; other devices want few
# large products.
PAIRED_UP_TO_CPU = 10
# A second kernel over all agents does not pay for so few pairs per agent in groups up to this size.
FEW_PAIRS = 1.0
FEW_UP_TO_CPU = 32


def angular_attention(
    h: Directions, sharpness: Float[Tensor, ""], groups: Buckets, share: Float[Tensor, " nnz"] | None = None
) -> Directions:
    r"""Mean over an agent's groups of the directions of the *other* members, weighted by angle.

    Linear maps commute with the pooling, so values :math:`W_m h_j` are
    ``angular_attention(h, ...) @ W_m.T``: one product per agent instead of one per membership.
    Rotating h rotates the result.

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

    As :math:`h_i^\top h_i = 1` is the largest inner product there is, a growing :math:`\kappa_a`
    makes every agent attend to itself. A group of one still passes no message.

    Args:
        h: directions :math:`h_i` ``[N, D]``.
        sharpness: :math:`\kappa_a`, a scalar tensor.
        groups: the groups, by size.
        share: share of each membership in its agent's mean ``[nnz]``; default the plain mean.
    """
    return _pool(h, sharpness, groups, share, keep_self=True)


def _pool(h: Tensor, scale: Tensor, groups: Buckets, share: Tensor | None, *, keep_self: bool) -> Tensor:
    plan = _plan(groups, keep_self)
    small_share = None
    rest_share = None
    if share is not None:
        share = share.to(h.dtype)
        small_share = share[: plan.paired]
        rest_share = share[plan.paired :]

    parts: list[Tensor] = []
    if plan.pairs is not None:
        parts.append(PairPool.apply(h, scale, small_share, plan.pairs))
    if plan.rest.shapes or plan.pairs is None:
        parts.append(TilePool.apply(h, scale, rest_share, plan.rest, keep_self))
    pooled = parts[0]
    if len(parts) == 2:
        pooled = pooled + parts[1]

    if share is not None:
        return pooled
    # In the plain mean the share is the agent's, whatever the group: it is applied once per agent.
    return pooled.mul_(plan.share_of_agent.to(h.dtype))


@dataclass(frozen=True, eq=False)
class _Plan:
    """Small groups as pairs, the rest as they were; holds no reference to the groups it was made from."""

    pairs: Pairs | None
    paired: int  # memberships in small groups, which come first
    rest: Buckets
    share_of_agent: Tensor  # [N, 1]


# Finding the pairs costs about one forward and backward pass; the same groups serve every layer
# and epoch.
_PLANS: WeakKeyDictionary[Buckets, dict[bool, _Plan]] = WeakKeyDictionary()


def _plan(groups: Buckets, keep_self: bool) -> _Plan:
    plans = _PLANS.setdefault(groups, {})
    if keep_self not in plans:
        plans[keep_self] = _make_plan(groups, keep_self)
    return plans[keep_self]


def _make_plan(groups: Buckets, keep_self: bool) -> _Plan:
    largest = _largest_paired(groups)
    small = tuple(shape for shape in groups.shapes if shape[1] <= largest)
    paired = sum(count * size for count, size in small)
    pairs = None
    if small:
        pairs = find_pairs(_part(groups, slice(paired), small), keep_self=keep_self)
    rest = _part(groups, slice(paired, None), groups.shapes[len(small) :])
    share_of_agent = groups.share.new_zeros(groups.num_nodes, 1)
    share_of_agent[groups.node] = groups.share.unsqueeze(1)
    return _Plan(pairs, paired, rest, share_of_agent)


def _largest_paired(groups: Buckets) -> int:
    """Largest size of group for which the kernel over pairs is used; 0 for none."""
    if groups.node.device.type != "cpu":
        return 0
    larger = [(count, size) for count, size in groups.shapes if size > PAIRED_UP_TO_CPU]
    if not larger or larger[-1][1] > FEW_UP_TO_CPU:
        return PAIRED_UP_TO_CPU
    pairs = sum(count * size * size for count, size in larger)
    if pairs > FEW_PAIRS * groups.num_nodes:
        return PAIRED_UP_TO_CPU
    return FEW_UP_TO_CPU


def _part(groups: Buckets, rows: slice, shapes: tuple[tuple[int, int], ...]) -> Buckets:
    return replace(
        groups,
        node=groups.node[rows],
        hyperedge=groups.hyperedge[rows],
        share=groups.share[rows],
        shapes=shapes,
    )
