"""Identification confidence: how much of the prior's entropy over parent sets the data have taken away."""

from __future__ import annotations

import torch

from sphunc._typing import Float, Tensor


def binary_entropy(probability: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Entropy of a coin, in nats; 0 at both ends."""
    return torch.special.entr(probability) + torch.special.entr(1 - probability)


def identification_confidence(
    entropy: Float[Tensor, "*batch"], prior_entropy: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    r"""How concentrated the posterior over parent sets is, between 0 and 1.

    .. math:: C = 1 - H / H_{prior}

    The paper's score "quantifies posterior concentration over candidate parent sets". It is 0 where the prior leaves
    nothing to identify, as for an agent without candidates. High values can be confidently wrong: it does not protect
    against confounding.

    Args:
        entropy: H of the posterior over parent sets, per agent or summed over agents, in nats.
        prior_entropy: of the prior, alike.

    Example:
        >>> identification_confidence(torch.tensor([0.5, 0.0]), torch.tensor([2.0, 0.0]))
        tensor([0.7500, 0.0000])
    """
    has_candidates = prior_entropy > 0
    share = entropy / torch.where(has_candidates, prior_entropy, torch.ones_like(prior_entropy))
    return torch.where(has_candidates, (1 - share).clamp(0, 1), torch.zeros_like(share))
