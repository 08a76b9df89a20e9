r"""Temperature of a forecast from its total uncertainty.

.. math:: p_i = \mathrm{softmax}(z_i / \tau_i), \qquad
          \tau_i = \tau_0 + \mathrm{softplus}\big(a + b\, (U_{total}^i - \tfrac12)\big), \quad b \ge 0

A positive temperature changes how sharp the softmax is, never which class it names; and a larger total uncertainty
never makes it sharper.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sphunc._typing import Float, Tensor

# Keeps logits finite where a and b would drive the softplus to 0.
LOWEST_TEMPERATURE = 0.05
# The total uncertainty, between 0 and 1, at which the temperature begins at 1, and the slope it begins with there.
MIDDLE = 0.5
INITIAL_SLOPE = 0.3


def temperature(
    total: Float[Tensor, "*batch"], offset: Float[Tensor, ""], slope: Float[Tensor, ""]
) -> Float[Tensor, "*batch"]:
    r"""Temperature :math:`\tau > 0` of a forecast.

    Args:
        total: total uncertainty :math:`U_{total}` ``[...]``.
        offset: a, a scalar.
        slope: b, 0 or more, a scalar.
    """
    return LOWEST_TEMPERATURE + nn.functional.softplus(offset + slope * (total - MIDDLE))


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
