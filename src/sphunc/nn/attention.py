r"""Attention inside hyperedges: every agent listens to the other members of its groups.

.. math::
    p_i = \sum_{e \ni i} s_i^e \sum_{j \in e \setminus i} \alpha_{ij}^e h_j, \qquad
    \alpha_{ij}^e = \frac{\exp(\kappa_a h_i^\top h_j)}{\sum_{k \in e \setminus i} \exp(\kappa_a h_i^\top h_k)}

with shares :math:`s_i^e = 1/\deg(i)`. The two ways to attend are two functions over one kernel, whose way of
working depends on the size of a group: :mod:`sphunc.nn.pairs` for small ones, :mod:`sphunc.nn.tiles` for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from sphunc._typing import Directions, Float, Tensor
from sphunc.hypergraph.buckets import Buckets
from sphunc.nn.pairs import PairPool, Pairs, find_pairs
from sphunc.nn.tiles import TilePool

# Up to this size of group products over pairs are the faster way on a CPU; other devices want few large products.
PAIRED_UP_TO_CPU = 10
# A second kernel over all agents is not worth its while for so few pairs per agent in groups up to this size.
FEW_PAIRS, FEW_UP_TO_CPU = 1.0, 32


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


def _pool(h: Tensor, scale: Tensor, groups: Buckets, share: Tensor | None, *, keep_self: bool) -> Tensor:
    plan = _plan(groups, keep_self)
    if share is not None:
        share = share.to(h.dtype)
    small, rest = (None, None) if share is None else (share[: plan.paired], share[plan.paired :])
    parts: list[Tensor] = []
    if plan.pairs is not None:
        parts.append(PairPool.apply(h, scale, small, plan.pairs))
    if plan.rest.shapes or plan.pairs is None:
        parts.append(TilePool.apply(h, scale, rest, plan.rest, keep_self))
    pooled = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    # In the plain mean the share is the agent's, whatever the group: it is applied once per agent.
    return pooled if share is not None else pooled.mul_(plan.share_of_agent.to(h.dtype))


@dataclass(frozen=True, eq=False)
class _Plan:
    """Small groups as pairs, the rest as they were; holds no reference to the groups it was made from."""

    pairs: Pairs | None
    paired: int  # memberships in small groups, which come first
    rest: Buckets
    share_of_agent: Tensor  # [N, 1]


# Finding the pairs costs about one forward and backward pass; the same groups serve every layer and epoch.
_PLANS: WeakKeyDictionary[Buckets, dict[bool, _Plan]] = WeakKeyDictionary()


def _plan(groups: Buckets, keep_self: bool) -> _Plan:
    plans = _PLANS.setdefault(groups, {})
    if keep_self not in plans:
        plans[keep_self] = _make_plan(groups, keep_self)
    return plans[keep_self]


def _make_plan(groups: Buckets, keep_self: bool) -> _Plan:
    up_to = _paired_up_to(groups) if groups.node.device.type == "cpu" else 0
    small = tuple(shape for shape in groups.shapes if shape[1] <= up_to)
    paired = sum(count * size for count, size in small)
    first, rest = slice(0, paired), slice(paired, None)
    pairs = find_pairs(_part(groups, first, small), keep_self=keep_self) if small else None
    of_agent = groups.share.new_zeros(groups.num_nodes, 1)
    of_agent[groups.node] = groups.share.unsqueeze(1)
    return _Plan(pairs, paired, _part(groups, rest, groups.shapes[len(small) :]), of_agent)


def _paired_up_to(groups: Buckets) -> int:
    larger = [(count, size) for count, size in groups.shapes if size > PAIRED_UP_TO_CPU]
    pairs = sum(count * size * size for count, size in larger)
    few = larger and larger[-1][1] <= FEW_UP_TO_CPU and pairs <= FEW_PAIRS * groups.num_nodes
    return FEW_UP_TO_CPU if few else PAIRED_UP_TO_CPU


def _part(groups: Buckets, rows: slice, shapes: tuple[tuple[int, int], ...]) -> Buckets:
    return replace(
        groups, node=groups.node[rows], hyperedge=groups.hyperedge[rows], share=groups.share[rows], shapes=shapes
    )
