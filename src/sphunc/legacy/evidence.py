r"""Evidence about the state of an agent at one time: features, company, outcome, as natural parameters that add.

.. math:: e_t = \kappa_x(\|\tilde h\|, \text{observed})\, \bar h_t + \kappa_c\, c_t + \kappa_y\, \delta_t

What an outcome says, :math:`\delta`, hangs on what was expected: see :meth:`Evidence.of_classes`.
"""

from __future__ import annotations

import math
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int
from sphunc.hypergraph.buckets import Buckets, among_members
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.observed import Observed
from sphunc.nn.context import AngularLayer, Context, ContextLayer, DotProductLayer
from sphunc.nn.encoder import Encoded
from sphunc.nn.projection import normalise, project

# Concentrations are learned in units of D / 2, where a belief begins to be firm, so that one step of the optimiser
# changes them by a few percent; and start at these many units.
INITIAL_FEATURE, INITIAL_OUTCOME, INITIAL_CONTEXT = 4.0, 2.5, 0.1
# Layers of context start as a small correction: what they add at random in the beginning is noise.
INITIAL_MESSAGE = 0.1
# How much of what was expected is taken off an outcome, before training: most of it.
INITIAL_EXPECTED = 0.88


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
        # Numbers have no other class to expect.
        expected = torch.tensor(INITIAL_EXPECTED).logit()
        self.expected = nn.Parameter(expected, requires_grad=not numeric)
        directions = torch.randn(num_outputs, config.dim, generator=generator) / config.dim**0.5
        self.outcome_directions = nn.Parameter(directions)

    def weights(self) -> list[nn.Parameter]:
        """Parameters that say how much each source of evidence weighs."""
        single = [self.feature, self.company, self.outcome, self.expected]
        return [self.hidden, self.hidden_bias, self.out, *(p for p in single if p.requires_grad)]

    def forward(
        self, observed: Observed, encoded: Encoded, generator: torch.Generator | None
    ) -> Float[Tensor, "time agent dim"]:
        """Return the natural parameter of features and company ``[T, N, D]``; 0 for an agent that was not seen.

        Who has no company adds its own direction, without a round through the layers.
        """
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

    def of_classes(
        self,
        outcome: Int[Tensor, " agent"],
        log_expected: Float[Tensor, "agent class"],
        variance: Float[Tensor, " agent"] | None,
        frequency: Float[Tensor, " class"],
    ) -> Float[Tensor, "agent dim"]:
        r"""Evidence of classes, as far as they were not expected and as likely as they mean something.

        .. math:: \kappa_y \delta = \kappa_y\, q \sum_c (1_{y = c} - \rho\, p_c)\, d_c, \qquad
                  q = \frac{(1 - \epsilon)\, p_y}{(1 - \epsilon)\, p_y + \epsilon f_y}
                    = \mathrm{sigmoid}\big(\log p_y - \log f_y - \log \sigma^2\big)

        with the learned part :math:`\rho` of what was expected, and :math:`\epsilon = \sigma^2 / (1 + \sigma^2)`. Were
        :math:`\rho = 1` and the d_c the readout, this would be the gradient of the log-likelihood of y by the state.

        Args:
            outcome: y.
            log_expected: log p, read from the belief before the outcome was known.
            variance: :math:`\sigma^2`, the aleatoric part; None if every outcome means something.
            frequency: f of the classes among all outcomes.
        """
        came = nn.functional.one_hot(outcome, log_expected.shape[-1]).to(log_expected)
        news = came - torch.sigmoid(self.expected) * log_expected.exp()
        if variance is not None:
            odds = log_expected.gather(-1, outcome.unsqueeze(-1)).squeeze(-1) - frequency[outcome].log()
            least = torch.finfo(variance.dtype).tiny
            news = torch.sigmoid(odds - variance.clamp(min=least).log()).unsqueeze(-1) * news
        return news @ self.directions()

    def of_numbers(self, outcome: Float[Tensor, "*batch output"]) -> Float[Tensor, "*batch dim"]:
        r""":math:`\kappa_y \sum_k y_k d_k` of standardised numbers."""
        return outcome @ self.directions()

    def directions(self) -> Float[Tensor, "output dim"]:
        r""":math:`\kappa_y d` of every class, or number."""
        return self.unit * nn.functional.softplus(self.outcome) * normalise(self.outcome_directions)


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
