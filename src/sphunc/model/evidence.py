r"""Evidence about the state of an agent at one time: features, company, outcome, as natural parameters that add.

.. math:: e_t = \kappa_x(\|\tilde h\|, \text{observed})\, \bar h_t + \kappa_c\, c_t + \kappa_y\, d_{y_t}
"""

from __future__ import annotations

import math
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from sphunc._typing import Float
from sphunc.hypergraph.buckets import Buckets, among_members
from sphunc.model.config import SphUncConfig
from sphunc.model.observed import Observed
from sphunc.nn.context import AngularLayer, Context, ContextLayer, DotProductLayer
from sphunc.nn.encoder import Encoded
from sphunc.nn.projection import normalise, project

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
        # Angular layers return unit vectors, which spherical directions are before.
        self.keeps_length = config.geometry == "sphere" or config.attention == "dot_product"
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
        total = self._of_looks(observed, encoded, generator)
        if self.uses_outcomes:
            total = total + self.of_outcomes(outcome) * observed.y_mask.unsqueeze(-1)
        return total

    def _of_looks(self, observed: Observed, encoded: Encoded, generator: torch.Generator | None) -> Tensor:
        """Features and company; who has none adds its own direction, without a round through the layers."""
        direction, weight = encoded.direction.flatten(0, 1), self.of_features(encoded).flatten()
        if not len(self.context.layers):
            return (direction * weight.unsqueeze(-1)).view(encoded.direction.shape)
        members, groups = _members(observed.groups)
        company = self.unit * nn.functional.softplus(self.company) * (encoded.observed > 0).flatten()
        alone = torch.ones_like(weight).index_fill_(0, members, 0.0) * company
        total = direction * (weight + (alone if self.keeps_length else _per_length(alone, direction))).unsqueeze(-1)
        heard = self.context(direction.index_select(0, members), groups, generator=generator)
        total.index_add_(0, members, heard * company.index_select(0, members).unsqueeze(-1))
        return total.view(encoded.direction.shape)

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


# Who is in company, by groups: found once for all passes.
_MEMBERS: WeakKeyDictionary[Buckets, tuple[Tensor, Buckets]] = WeakKeyDictionary()


def _members(groups: Buckets) -> tuple[Tensor, Buckets]:
    if groups not in _MEMBERS:
        _MEMBERS[groups] = among_members(groups)
    return _MEMBERS[groups]


def _per_length(weight: Tensor, direction: Tensor) -> Tensor:
    length = project(direction)[1]
    return weight / torch.where(length > 0, length, 1.0)


def _layer(config: SphUncConfig, generator: torch.Generator) -> ContextLayer:
    kinds = {"others": AngularLayer, "with_self": partial(AngularLayer, with_self=True), "dot_product": DotProductLayer}
    layer = kinds[config.attention](config.dim, dropout=config.dropout, generator=generator)
    with torch.no_grad():
        layer.weight.mul_(INITIAL_MESSAGE)
    return layer


def inverse_softplus(value: float) -> float:
    """Return what the softplus takes to ``value`` > 0."""
    return math.log(math.expm1(value))
