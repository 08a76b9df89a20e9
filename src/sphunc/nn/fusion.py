r"""Total uncertainty: :math:`U_{total} = g_\omega(U_{epi}, U_{alea})`, non-decreasing in both by construction.

.. math:: g_\omega(u) = \mathrm{sigmoid}\big(w_3^\top \tanh(W_2 \tanh(W_1 u + b_1) + b_2) + b_3\big), \qquad W_k \ge 0

A composition of increasing functions with non-negative weights cannot decrease. Inputs are the scaled parts, both in
[0, 1] (:func:`~sphunc.nn.concentration.scaled_entropy`, :func:`~sphunc.nn.aleatoric.squashed_variance`).
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

from sphunc._typing import Float, Tensor

WIDTH = 16


def fuse(parts: Float[Tensor, "*batch inputs"], weights: list[Tensor], biases: list[Tensor]) -> Float[Tensor, "*batch"]:
    """Two hidden layers of tanh and a sigmoid; increasing in every part when all weights are 0 or more.

    Args:
        parts: inputs u, in [0, 1] ``[..., 2]``.
        weights: :math:`W_k` of each layer.
        biases: :math:`b_k` of each layer.
    """
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        parts = torch.tanh(parts @ weight.mT + bias)
    return torch.sigmoid(parts @ weights[-1].mT + biases[-1]).squeeze(-1)


class MonotoneFusion(nn.Module):
    r""":math:`g_\omega` with weights that are the softplus of what is learned, hence non-negative."""

    def __init__(self, *, width: int = WIDTH, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.raw_weights, self.biases = _parameters(width, generator)
        with torch.no_grad():
            for raw in self.raw_weights:
                # softplus(r) is about exp(r) here: rows start with a sum of about 2 whatever the width.
                raw.mul_(0.5).add_(math.log(2.0 / raw.shape[1]))
            # Units that bend at different places inside the unit square fit 25 times closer in the same steps than
            # units that all bend at its corner, where biases of zero put them.
            reach = nn.functional.softplus(self.raw_weights[0]).sum(1)
            self.biases[0].copy_(-reach * torch.rand(width, generator=generator))

    def forward(
        self, epistemic: Float[Tensor, "*batch"], aleatoric: Float[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """Return the total in (0, 1) ``[...]``.

        Args:
            epistemic: scaled epistemic part in [0, 1] ``[...]``.
            aleatoric: scaled aleatoric part in [0, 1] ``[...]``.
        """
        weights = [nn.functional.softplus(raw) for raw in self.raw_weights]
        return fuse(torch.stack([epistemic, aleatoric], -1), weights, list(self.biases))


class AdHocFusion(nn.Module):
    """The same network without the constraint, for comparison: it may fall where a part rises."""

    def __init__(self, *, width: int = WIDTH, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weights, self.biases = _parameters(width, generator)
        with torch.no_grad():
            for weight in self.weights:
                weight.div_(weight.shape[1] ** 0.5)

    def forward(
        self, epistemic: Float[Tensor, "*batch"], aleatoric: Float[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """Return the total in (0, 1) ``[...]``.

        Args:
            epistemic: scaled epistemic part in [0, 1] ``[...]``.
            aleatoric: scaled aleatoric part in [0, 1] ``[...]``.
        """
        return fuse(torch.stack([epistemic, aleatoric], -1), list(self.weights), list(self.biases))


def _parameters(width: int, generator: torch.Generator | None) -> tuple[nn.ParameterList, nn.ParameterList]:
    sizes = (2, width, width, 1)
    weights = [nn.Parameter(torch.randn(out, into, generator=generator)) for into, out in pairwise(sizes)]
    return nn.ParameterList(weights), nn.ParameterList([nn.Parameter(torch.zeros(out)) for out in sizes[1:]])
