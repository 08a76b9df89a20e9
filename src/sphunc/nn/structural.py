"""Sums along links: what agents send to each other, and products with matrices that are mostly empty.

:mod:`sphunc.legacy.step` makes a structural step of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils.weak import WeakTensorKeyDictionary

from sphunc._typing import Float, Links, Tensor


def influence_sum(
    values: Float[Tensor, "agent dim"], links: Links, gates: Float[Tensor, " link"]
) -> Float[Tensor, "agent dim"]:
    r"""What reaches every agent along its links, :math:`\sum_{j \to i} \gamma_{ij} v_j`.

    A sum of weighted rows, agent after agent: five times faster than a sparse product. Where the links of each agent
    stand is worked out once for a tensor of links. Gates come from the posterior of the structure and get no gradient.

    Args:
        values: :math:`v_j` ``[N, D]``.
        links: row 0 source j, row 1 target i, ``[2, K]``; may be empty, may repeat.
        gates: :math:`\gamma` ``[K]``.

    Returns:
        ``[N, D]``; 0 for an agent without parents.
    """
    return _SumAlong.apply(values, links, gates.detach().to(values), len(values))


def sparse_product(
    matrix: Float[Tensor, "row column"], values: Float[Tensor, "column dim"]
) -> Float[Tensor, "row dim"]:
    """Product of a coalesced sparse matrix, which gets no gradient, with dense rows, by the same sum."""
    version = _version(matrix)
    known = None if version is None else _MATRICES.get(matrix)
    if known is None or known[0] != version:
        known = (version, matrix.indices().flip(0), matrix.values().clone())
        # Made under inference mode, it could not be saved for a gradient later.
        if version is not None and not torch.is_inference_mode_enabled():
            _MATRICES[matrix] = known
    _, links, gates = known
    return _SumAlong.apply(values, links, gates.to(values), matrix.shape[0])


class _SumAlong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, links: Tensor, gates: Tensor, targets: int) -> Tensor:
        ctx.save_for_backward(links, gates)
        ctx.sources = len(values)
        return _arrivals(values, _routes(links, 1, targets), gates)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *upstream: Tensor
    ) -> tuple[Tensor, None, None, None]:
        links, gates = ctx.saved_tensors
        return _arrivals(upstream[0], _routes(links, 0, ctx.sources), gates), None, None, None


@dataclass(frozen=True, eq=False)
class _Routes:
    """Links agent after agent, the agent being their target (or source, for the way back).

    Attributes:
        version: of the links, which may be overwritten in place; None if that is not known.
        offsets: first link of each agent, and the end of the last ``[N + 1]``.
        other: agent at the other end ``[K]``.
        order: where each link stood; None where they came in order.
    """

    version: int | None
    offsets: Tensor
    other: Tensor
    order: Tensor | None


# By links, then by the end that is summed at; and the links that matrices stand for. Each is used in every pass.
_ROUTES: Any = WeakTensorKeyDictionary()
_MATRICES: Any = WeakTensorKeyDictionary()


def _version(tensor: Tensor) -> int | None:
    """How often a tensor was overwritten; None for one made under inference mode, which does not count."""
    return None if tensor.is_inference() else tensor._version


def _routes(links: Tensor, end: int, agents: int) -> _Routes:
    version = _version(links)
    if version is None:
        return _find_routes(links, end, agents)
    known = _ROUTES.setdefault(links, {})
    found = known.get(end)
    if found is None or found.version != version or len(found.offsets) != agents + 1:
        found = known[end] = _find_routes(links, end, agents)
    return found


def _find_routes(links: Tensor, end: int, agents: int) -> _Routes:
    at, other = links[end], links[1 - end]
    order = None if bool((at[1:] >= at[:-1]).all()) else torch.argsort(at, stable=True)
    offsets = torch.cat([at.new_zeros(1), torch.bincount(at, minlength=agents).cumsum(0)])
    return _Routes(_version(links), offsets, other.clone() if order is None else other[order], order)


def _arrivals(values: Tensor, routes: _Routes, gates: Tensor) -> Tensor:
    weight = gates if routes.order is None else gates.index_select(0, routes.order)
    return torch.nn.functional.embedding_bag(
        routes.other,
        values.contiguous(),
        routes.offsets,
        mode="sum",
        per_sample_weights=weight,
        include_last_offset=True,
    )
