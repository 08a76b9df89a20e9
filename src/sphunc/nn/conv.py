r"""Angular attention with the calling convention of PyTorch Geometric, usable on its own.

.. math::
    z_i = \mathrm{normalise}(W x_i + b), \qquad
    x'_i = \mathrm{normalise}\big(z_i + \mathrm{ReLU}(W_m\, p_i(z))\big)
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._checks import whole_number
from sphunc._typing import Float, Tensor, Whole
from sphunc.hypergraph import Buckets, group_by_size, weighted_share
from sphunc.nn.attention import angular_attention
from sphunc.nn.conv_inputs import (
    HALF,
    check_features,
    check_memberships,
    check_weights,
    count_edges,
    refuse_attributes,
)
from sphunc.nn.projection import normalise
from sphunc.sphere import check_generator

INITIAL_SHARPNESS = 4.0


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
        self, in_dim: Whole, out_dim: Whole, *, bias: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.in_dim = whole_number("in_dim", in_dim, least=1)
        self.out_dim = whole_number("out_dim", out_dim, least=1)
        self.projection = nn.Parameter(torch.empty(self.out_dim, self.in_dim))
        self.bias = None
        if bias:
            self.bias = nn.Parameter(torch.empty(self.out_dim))
        self.weight = nn.Parameter(torch.empty(self.out_dim, self.out_dim))
        self.log_sharpness = nn.Parameter(torch.empty(()))
        self.reset_parameters(generator)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all weights anew, as a new layer does: the same generator state gives the same weights.

        Args:
            generator: source of the weights; default torch's own.
        """
        check_generator(generator)
        device = None
        if generator is not None:
            device = generator.device
        for matrix in (self.projection, self.weight):
            normal = torch.randn(matrix.shape, generator=generator, device=device)
            matrix.copy_(normal / self.out_dim**0.5)
        if self.bias is not None:
            self.bias.zero_()
        self.log_sharpness.copy_(torch.tensor(INITIAL_SHARPNESS).log())

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        hyperedge_weight: Tensor | None = None,
        hyperedge_attr: Tensor | None = None,
        num_edges: Whole | None = None,
    ) -> Float[Tensor, "agent dim"]:
        """Return one direction per node.

        The groups are sorted anew on every call, so that a changed ``hyperedge_index`` is never mistaken for the last
        one; who calls often with the same groups uses :func:`sphunc.nn.angular_attention` with ready-made
        ones.

        Args:
            x: features ``[N, in_dim]``, of the layer's floating type (``layer.double()`` takes ``x.double()``). For
                float16 and bfloat16, under autocast too, everything after the projection is computed in float32.
            hyperedge_index: memberships ``[2, nnz]``, row 0 node, row 1 hyperedge, in any order; may be empty.
            hyperedge_weight: weight of each hyperedge in the mean of its members ``[M]``, finite and 0 or more;
                default equal.
            hyperedge_attr: None; it stands where PyG has it, but attention by angle uses no features of hyperedges.
            num_edges: M; default the length of ``hyperedge_weight``, else one more than the largest hyperedge.

        Returns:
            Unit vectors ``[N, out_dim]`` of the type of ``x``; zero where W x + b is zero and no group says anything.

        Raises:
            ArgumentError: an argument has a shape or value outside the above.
            ArgumentTypeError: an argument has another type, dtype or device.
        """
        x = check_features(x, self.in_dim, self.projection)
        index = check_memberships(hyperedge_index, x)
        weight = None
        if hyperedge_weight is not None:
            weight = check_weights(hyperedge_weight, x)
        refuse_attributes(hyperedge_attr)
        count = count_edges(index, weight, num_edges, num_nodes=x.shape[0])
        groups = group_by_size(index.long(), num_nodes=x.shape[0], num_hyperedges=count)
        projected = nn.functional.linear(x, self.projection, self.bias)
        with torch.autocast(x.device.type, enabled=False):
            return self._attend(_widened(projected), groups, weight).to(x.dtype)

    def _attend(self, projected: Tensor, groups: Buckets, weight: Tensor | None) -> Tensor:
        share = None
        if weight is not None:
            share = weighted_share(groups, _widened(weight))
        z = normalise(projected)
        pooled = angular_attention(z, _widened(self.log_sharpness).exp(), groups, share)
        return normalise(z + torch.relu(pooled @ _widened(self.weight).mT))

    def extra_repr(self) -> str:
        """Sizes, as other torch layers print them."""
        return f"{self.in_dim}, {self.out_dim}"


def _widened(x: Tensor) -> Tensor:
    # Sparse products know no half precision, in which lengths also soon leave the range of their squares.
    if x.dtype in HALF:
        return x.float()
    return x
