r"""How concentrated a belief is: the head :math:`\kappa = \rho_\psi(h)`, and the epistemic part."""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Float, Tensor
from sphunc.sphere import vmf_entropy

LOWEST, HIGHEST = 1.0, 200.0
# Where the entropy of 128 dimensions is steep; a unit of the network's output then moves about a tenth of the range.
INITIAL_RAW, GAIN = 90.0, 20.0


def cap(strength: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    r"""Bring an evidence strength :math:`s \ge 0` into [1, 200]: :math:`200 - \mathrm{softplus}(199 - s)`.

    Smooth and increasing, 1 + s to within 1e-8 for s up to 180, exactly inside the range in floating point.
    """
    return HIGHEST - nn.functional.softplus(HIGHEST - LOWEST - strength)


def bounded_concentration(raw: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Softplus, as the paper has it, brought into [1, 200] by :func:`cap`."""
    return cap(nn.functional.softplus(raw))


class ConcentrationHead(nn.Module):
    r""":math:`\rho_\psi`, one hidden layer into [1, 200]: the paper's head, fed with directions (``in_dim`` D).

    Starts at 91 for every input.
    """

    def __init__(self, in_dim: int, *, width: int = 32, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.randn(width, in_dim, generator=generator) / in_dim**0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(width))
        self.out = nn.Parameter(torch.zeros(width))
        self.out_bias = nn.Parameter(torch.zeros(()))

    def forward(self, inputs: Float[Tensor, "*batch inputs"]) -> Float[Tensor, "*batch"]:
        """Return the concentration ``[...]``."""
        hidden = torch.nn.functional.silu(inputs @ self.hidden.mT + self.hidden_bias)
        return bounded_concentration(INITIAL_RAW + GAIN * (hidden @ self.out + self.out_bias))


def scaled_entropy(kappa: Float[Tensor, "*batch"], dim: int) -> Float[Tensor, "*batch"]:
    r"""Epistemic part in [0, 1], :math:`(H(\kappa) - H(200)) / (H(1) - H(200))`.

    0 at the most concentrated belief, 1 at the least; comparable between dimensions, unlike the entropy in nats.
    """
    ends = vmf_entropy(torch.tensor([LOWEST, HIGHEST], dtype=torch.float64), dim).tolist()
    return ((vmf_entropy(kappa, dim) - ends[1]) / (ends[0] - ends[1])).clamp(0.0, 1.0)
