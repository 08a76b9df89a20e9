r"""Layers of context: what an agent's groups say, added to what it is.

.. math:: h_i \leftarrow \mathrm{normalise}\big(h_i + \mathrm{dropout}(\mathrm{ReLU}(W_m\, p_i))\big)

with :math:`p_i` from :mod:`sphunc.nn.attention`. ReLU acts inside the message only: applied to the state it would
confine all latents to the positive orthant. An agent without company keeps its direction.
"""

from __future__ import annotations

import torch
from torch import nn

from sphunc._typing import Directions, Float, Tensor
from sphunc.errors import ArgumentError
from sphunc.hypergraph.buckets import Buckets
from sphunc.nn.attention import angular_attention, angular_attention_with_self, dot_product_attention
from sphunc.nn.listening import drop, listen

INITIAL_SHARPNESS = 4.0


def message(pooled: Directions, weight: Float[Tensor, "dim dim"]) -> Directions:
    r"""What an agent hears, :math:`\mathrm{ReLU}(W_m\, p_i)`; 0 for an agent that hears nobody."""
    return torch.relu(pooled @ weight.mT)


class AngularLayer(nn.Module):
    r"""One layer of context by :func:`~sphunc.nn.attention.angular_attention`; owns :math:`W_m` and :math:`\kappa_a`.

    Args:
        dim: D.
        with_self: whether agents also attend to themselves, as the paper writes it
            (:func:`~sphunc.nn.attention.angular_attention_with_self`).
        dropout: probability of dropping an entry of a message while training.
        generator: source of the initial weights.
    """

    def __init__(
        self, dim: int, *, with_self: bool = False, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.weight = _message_weight(dim, generator)
        self.log_sharpness = nn.Parameter(torch.tensor(INITIAL_SHARPNESS).log())
        self.with_self = with_self
        self.dropout = _checked_rate(dropout)

    def forward(self, h: Directions, groups: Buckets, *, generator: torch.Generator | None = None) -> Directions:
        """Return the directions after one round of listening ``[N, D]``."""
        attend = angular_attention_with_self if self.with_self else angular_attention
        pooled = attend(h, self.log_sharpness.exp(), groups)
        return listen(h, pooled, self.weight, _rate(self, generator), generator)


class DotProductLayer(nn.Module):
    """One layer of context for vectors that are not normalised, before and after; owns the message weights only."""

    def __init__(self, dim: int, *, dropout: float = 0.0, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = _message_weight(dim, generator)
        self.dropout = _checked_rate(dropout)

    def forward(self, x: Directions, groups: Buckets, *, generator: torch.Generator | None = None) -> Directions:
        """Return the vectors after one round of listening ``[N, D]``, of any length."""
        heard, rate = message(dot_product_attention(x, groups), self.weight), _rate(self, generator)
        return x + (heard if generator is None or rate == 0.0 else drop(heard, rate, generator))


ContextLayer = AngularLayer | DotProductLayer


class Context(nn.Module):
    """Layers of context, one after the other."""

    def __init__(self, *layers: ContextLayer) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, h: Directions, groups: Buckets, *, generator: torch.Generator | None = None) -> Directions:
        """Return the result of the last layer ``[N, D]``; ``h`` itself when there are no layers."""
        for layer in self.layers:
            h = layer(h, groups, generator=generator)
        return h


def _message_weight(dim: int, generator: torch.Generator | None) -> nn.Parameter:
    return nn.Parameter(torch.randn(dim, dim, generator=generator) / dim**0.5)


def _checked_rate(dropout: float) -> float:
    if not 0.0 <= dropout < 1.0:
        raise ArgumentError(f"dropout is {dropout}; choose a probability from 0 up to, but not, 1")
    return dropout


def _rate(layer: ContextLayer, generator: torch.Generator | None) -> float:
    """Dropout that is due now: none when forecasting."""
    if not layer.training or layer.dropout == 0.0:
        return 0.0
    if generator is None:
        raise ArgumentError(
            f"{type(layer).__name__} trains with dropout={layer.dropout} but got no generator; "
            "pass generator=torch.Generator(), or call .eval() to forecast"
        )
    return layer.dropout
