r"""Evidence about the state of an agent at one time: features, company, outcome, as natural parameters that add.

.. math:: e_t = \kappa_x(\|\tilde h\|, \text{observed})\, \bar h_t + \kappa_c\, c_t + \kappa_y\, d_{y_t}
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn

from sphunc._typing import Float
from sphunc.model.config import SphUncConfig
from sphunc.model.observed import Observed
from sphunc.nn.context import AngularLayer, Context, ContextLayer, DotProductLayer
from sphunc.nn.encoder import Encoded
from sphunc.nn.projection import normalise

# Concentrations are learned in units of D / 2, where a belief begins to be firm, so that one step of the optimiser
# changes them by a few percent; and start at these many units.
INITIAL_FEATURE, INITIAL_OUTCOME, INITIAL_CONTEXT = 4.0, 2.5, 0.1
# Layers of context start as a small correction: what they add at random in the beginning is noise.
INITIAL_MESSAGE = 0.1


class Evidence(nn.Module):
    """Owns the weights of evidence, the layers of context and the directions of outcomes.

    Args:
        config: which parts are there.
        num_outputs: C classes, or K numbers.
        numeric: whether outcomes are numbers.
        generator: source of the initial weights.
    """

    def __init__(self, config: SphUncConfig, num_outputs: int, *, numeric: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.numeric, self.uses_outcomes = numeric, config.outcome_evidence
        self.unit = config.dim / 2
        self.context = Context(*(_layer(config, generator) for _ in range(config.layers)))
        self.hidden = nn.Parameter(torch.randn(16, 3, generator=generator) / 3**0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(16))
        self.out = nn.Parameter(torch.zeros(16))
        self.feature = nn.Parameter(torch.tensor(inverse_softplus(INITIAL_FEATURE)))
        self.company = nn.Parameter(torch.tensor(inverse_softplus(INITIAL_CONTEXT)))
        self.outcome = nn.Parameter(torch.tensor(inverse_softplus(INITIAL_OUTCOME)))
        directions = torch.randn(num_outputs, config.dim, generator=generator) / config.dim**0.5
        self.outcome_directions = nn.Parameter(directions)

    def weights(self) -> list[nn.Parameter]:
        """Parameters that say how much each source of evidence weighs."""
        return [self.hidden, self.hidden_bias, self.out, self.feature, self.company, self.outcome]

    def forward(
        self, observed: Observed, encoded: Encoded, outcome: Tensor, generator: torch.Generator | None
    ) -> Float[Tensor, "time agent dim"]:
        """Return the natural parameter of all evidence at each time ``[T, N, D]``; 0 for an agent that was not seen."""
        total = encoded.direction * self.of_features(encoded).unsqueeze(-1)
        if len(self.context.layers):
            flat = self.context(encoded.direction.flatten(0, 1), observed.groups, generator=generator)
            seen = (encoded.observed > 0).unsqueeze(-1)
            total = total + self.unit * nn.functional.softplus(self.company) * flat.view(total.shape) * seen
        if self.uses_outcomes:
            total = total + self.of_outcomes(outcome) * observed.y_mask.unsqueeze(-1)
        return total

    def of_features(self, encoded: Encoded) -> Float[Tensor, "time agent"]:
        r""":math:`\kappa_x \ge 0`: from the length of the projection and the share observed; 0 when nothing was."""
        length = torch.where(encoded.length > 0, encoded.length, 1.0).log()
        inputs = torch.stack([length, encoded.observed, length * encoded.observed], -1)
        hidden = nn.functional.silu(inputs @ self.hidden.mT + self.hidden_bias)
        return self.unit * nn.functional.softplus(self.feature + hidden @ self.out) * (encoded.observed > 0)

    def of_outcomes(self, outcome: Tensor) -> Float[Tensor, "time agent dim"]:
        r""":math:`\kappa_y d_y` of classes, or :math:`\kappa_y \sum_k y_k d_k` of standardised numbers."""
        directions = self.unit * nn.functional.softplus(self.outcome) * normalise(self.outcome_directions)
        return outcome @ directions if self.numeric else directions[outcome]


def _layer(config: SphUncConfig, generator: torch.Generator) -> ContextLayer:
    kinds = {"others": AngularLayer, "with_self": partial(AngularLayer, with_self=True), "dot_product": DotProductLayer}
    layer = kinds[config.attention](config.dim, dropout=config.dropout, generator=generator)
    with torch.no_grad():
        layer.weight.mul_(INITIAL_MESSAGE)
    return layer


def inverse_softplus(value: float) -> float:
    """Return what the softplus takes to ``value`` > 0."""
    return math.log(math.expm1(value))
