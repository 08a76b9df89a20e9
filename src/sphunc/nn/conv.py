r"""Angular attention with the calling convention of PyTorch Geometric, usable on its own.

.. math::
    z_i = \mathrm{normalise}(W x_i + b), \qquad
    x'_i = \mathrm{normalise}\big(z_i + \mathrm{ReLU}(W_m\, p_i(z))\big)
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Float, Int, Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph.buckets import group_by_size, weighted_share
from sphunc.nn.attention import angular_attention
from sphunc.nn.context import INITIAL_SHARPNESS, message
from sphunc.nn.projection import normalise


class AngularHypergraphConv(nn.Module):
    """Hypergraph convolution by angular attention, called like PyG's ``HypergraphConv``.

    Args:
        in_dim: F, features per node.
        out_dim: D, dimension of the directions that come out.
        bias: whether the projection has a bias.
        generator: source of the initial weights; default torch's own.

    Example:
        >>> conv = AngularHypergraphConv(3, 8)
        >>> groups = torch.tensor([[0, 1, 2, 1, 2], [0, 0, 0, 1, 1]])
        >>> conv(torch.ones(4, 3), groups).shape
        torch.Size([4, 8])
    """

    def __init__(
        self, in_dim: int, out_dim: int, *, bias: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        for name, value in (("in_dim", in_dim), ("out_dim", out_dim)):
            if value < 1:
                raise ArgumentError(f"{name} is {value}; it must be 1 or more")
        self.in_dim, self.out_dim = in_dim, out_dim
        self.projection = nn.Parameter(torch.randn(out_dim, in_dim, generator=generator) / out_dim**0.5)
        self.bias = nn.Parameter(torch.zeros(out_dim)) if bias else None
        self.weight = nn.Parameter(torch.randn(out_dim, out_dim, generator=generator) / out_dim**0.5)
        self.log_sharpness = nn.Parameter(torch.tensor(INITIAL_SHARPNESS).log())

    def forward(
        self,
        x: Float[Tensor, "agent feature"],
        hyperedge_index: Int[Tensor, "two nnz"],
        hyperedge_weight: Float[Tensor, " edge"] | None = None,
        *,
        num_edges: int | None = None,
    ) -> Float[Tensor, "agent dim"]:
        """Return one direction per node.

        The groups are sorted anew on every call, so that a changed ``hyperedge_index`` is never mistaken for the last
        one; who calls often with the same groups uses :class:`sphunc.nn.context.AngularLayer` with ready-made ones.

        Args:
            x: features ``[N, in_dim]``.
            hyperedge_index: memberships ``[2, nnz]``, row 0 node, row 1 hyperedge, in any order; may be empty.
            hyperedge_weight: weight of each hyperedge in the mean of its members ``[M]``, 0 or more; default equal.
            num_edges: M; default the length of ``hyperedge_weight``, else one more than the largest hyperedge.

        Returns:
            Unit vectors ``[N, out_dim]``; zero where W x + b is zero and no group says anything.
        """
        _check_call(self, x, hyperedge_index)
        count = _count_edges(hyperedge_index, hyperedge_weight, num_edges)
        groups = group_by_size(hyperedge_index.long(), num_nodes=x.shape[0], num_hyperedges=count)
        share = None if hyperedge_weight is None else weighted_share(groups, hyperedge_weight)
        z = normalise(nn.functional.linear(x, self.projection, self.bias))
        return normalise(z + message(angular_attention(z, self.log_sharpness.exp(), groups, share), self.weight))

    def extra_repr(self) -> str:
        """Sizes, as other torch layers print them."""
        return f"{self.in_dim}, {self.out_dim}"


def _check_call(conv: AngularHypergraphConv, x: Tensor, hyperedge_index: Tensor) -> None:
    if x.shape[-1] != conv.in_dim:
        raise ArgumentError(f"x has {x.shape[-1]} features, but the layer was made with in_dim={conv.in_dim}")
    if hyperedge_index.shape[0] != 2:
        raise ArgumentError(
            f"hyperedge_index has {hyperedge_index.shape[0]} rows; it takes 2, row 0 the node, row 1 the hyperedge"
        )
    if x.device != hyperedge_index.device:
        raise ArgumentTypeError(
            f"x is on {x.device}, hyperedge_index on {hyperedge_index.device}; move one with .to(device)"
        )


def _count_edges(hyperedge_index: Tensor, weight: Tensor | None, num_edges: int | None) -> int:
    if num_edges is not None:
        return num_edges
    if weight is not None:
        return weight.shape[0]
    return int(hyperedge_index[1].max()) + 1 if hyperedge_index.numel() else 0
