r"""How concentrated a belief is: the head :math:`\kappa = \rho_\psi(h)`, and the epistemic part."""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Float, Tensor
from sphunc.sphere import vmf_entropy

LOWEST_CONCENTRATION = 1.0
HIGHEST_CONCENTRATION = 200.0
# Where the entropy of 128 dimensions is steep.
INITIAL_RAW = 90.0
# A unit of the network's output then moves about a tenth of the range.
GAIN = 20.0


def bounded_concentration(raw: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r"""Concentration in [1, 200]: the paper's softplus s, then :math:`200 - \mathrm{softplus}(199 - s)`.

    Smooth and increasing, 1 + s to within 1e-8 for s up to 180, exactly inside the range in
    floating point.
    """
    strength = nn.functional.softplus(raw)
    span = HIGHEST_CONCENTRATION - LOWEST_CONCENTRATION
    return HIGHEST_CONCENTRATION - nn.functional.softplus(span - strength)


class ConcentrationHead(nn.Module):
    r""":math:`\rho_\psi`, one hidden layer into [1, 200]: the paper's head, fed with directions.

    Starts at 91 for every input.

    Args:
        in_dim: D, inputs per agent.
        width: hidden units.
        generator: source of the initial weights.
    """

    def __init__(self, in_dim: int, *, width: int = 32, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.randn(width, in_dim, generator=generator) / in_dim**0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(width))
        self.out = nn.Parameter(torch.zeros(width))
        self.out_bias = nn.Parameter(torch.zeros(()))

    def forward(self, inputs: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch"]:
        """Return the concentration ``[...]``."""
        hidden = nn.functional.silu(inputs @ self.hidden.mT + self.hidden_bias)
        return bounded_concentration(INITIAL_RAW + GAIN * (hidden @ self.out + self.out_bias))


def scaled_entropy(kappa: Float[Tensor, "*batch"], dim: int) -> Float[Tensor, "*batch"]:
    r"""Epistemic part in [0, 1], :math:`(H(\kappa) - H(200)) / (H(1) - H(200))`.

    0 at the most concentrated belief, 1 at the least; comparable between dimensions, unlike the
    entropy in nats.

    Args:
        kappa: :math:`\kappa` in [1, 200] ``[...]``.
        dim: D, axes of the space around the sphere.
    """
    ends = torch.tensor([LOWEST_CONCENTRATION, HIGHEST_CONCENTRATION], dtype=torch.float64)
    widest, narrowest = vmf_entropy(ends, dim).tolist()
    scaled = (vmf_entropy(kappa, dim) - narrowest) / (widest - narrowest)
    return scaled.clamp(0.0, 1.0)
