r"""From states to outcomes: logits or means read off the state, and a temperature from the total uncertainty.

.. math:: z_i = W s_i + \|s_i\|\, l + b, \qquad p_i = \mathrm{softmax}(z_i / \tau_i), \qquad
          \tau_i = \tau_0 + \mathrm{softplus}\big(a + b\, (U_{total}^i - \tfrac12)\big), \quad b \ge 0

Of a state :math:`s_i` of length 0 nothing is known: its outcomes are as frequent as the offset b says. The lean l is
what those have in common of whom something is known. A positive temperature changes how sure the softmax is, never
which class it names; and a larger total uncertainty never makes it surer.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sphunc._typing import Float, Tensor
from sphunc.nn.shrinking import lengths

# Keeps logits finite where a and b would drive the softplus to 0.
LOWEST_TEMPERATURE = 0.05
# The total uncertainty, between 0 and 1, at which the temperature begins at 1, and the slope it begins with there.
MIDDLE, INITIAL_SLOPE = 0.5, 0.3
PACE = 0.2


def temperature(
    total: Float[Tensor, "*batch"], offset: Float[Tensor, ""], slope: Float[Tensor, ""]
) -> Float[Tensor, "*batch"]:
    r"""Temperature :math:`\tau > 0` of a forecast with total uncertainty :math:`U_{total}` ``[...]``."""
    return LOWEST_TEMPERATURE + nn.functional.softplus(offset + slope * (total - MIDDLE))


def temper(logits: Float[Tensor, "*batch class"], tau: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch class"]:
    """Logits divided by the temperature; their order stays."""
    return logits / tau.unsqueeze(-1)


class Readout(nn.Module):
    """Map from states to logits of C classes, or to means of C numbers; starts at zero: no opinion.

    Directions have entries of size :math:`1/\\sqrt{D}`, so the weights are scaled by a multiple of :math:`\\sqrt{D}` to
    learn at the pace of the other layers; all of them move together, which calls for a small multiple.

    Args:
        dim: D.
        outputs: C.
        leans: whether there is a lean; without one the readout is linear, and its offset is learned.
    """

    def __init__(self, dim: int, outputs: int, *, leans: bool = False) -> None:
        super().__init__()
        self.scale, self.leans = PACE * dim**0.5, leans
        self.weight = nn.Parameter(torch.zeros(outputs, dim))
        # With a lean, the offset says how frequent classes are, which is counted and not learned.
        self.bias = nn.Parameter(torch.zeros(outputs), requires_grad=not leans)
        self.lean = nn.Parameter(torch.zeros(outputs), requires_grad=leans)

    def forward(self, state: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch class"]:
        """Return the logits ``[..., C]`` of belief means or sampled states ``[..., D]``."""
        read = nn.functional.linear(state, self.weight * self.scale, self.bias)
        return read + lengths(state).unsqueeze(-1) * self.lean if self.leans else read


class Temperature(nn.Module):
    """Owns offset and slope of :func:`temperature`; 1 for a total uncertainty of one half before training."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = nn.Parameter(torch.tensor(math.log(math.expm1(1.0 - LOWEST_TEMPERATURE))))
        self.raw_slope = nn.Parameter(torch.tensor(math.log(math.expm1(INITIAL_SLOPE))))

    @property
    def slope(self) -> Float[Tensor, ""]:
        """How fast the temperature rises, 0 or more."""
        return nn.functional.softplus(self.raw_slope)

    def forward(self, total: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return the temperature ``[...]``."""
        return temperature(total, self.offset, self.slope)
