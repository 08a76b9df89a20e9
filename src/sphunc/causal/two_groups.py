r"""How many links there are and how strong, read off all estimates at once (empirical Bayes, two groups).

.. math:: \hat\beta_k \sim (1-\pi) N(0, w_0^2 + s_k^2) + \pi\,[\,q N(m, w^2 + s_k^2) + (1-q) N(-m, w^2 + s_k^2)]

Five numbers for thousands of estimates. The first group has a width of its own (an empirical null, Efron 2004):
small misfits of the model are not links. The second has a typical size m, so that it is not drawn towards zero to
explain what the first group should.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Float

SIZES = 16  # grid of m up to the largest estimates
SPREADS = (0.15, 0.3, 0.5)  # w as a share of m; larger ones imitate the first group
NULL_WIDTHS = (0.0, 0.3, 0.6, 1.0)  # w_0 in standard errors, beyond the minimal effect
ROUNDS = 60
PRIOR_WEIGHT = 0.1  # pseudo-links of the prior share, per link: decides only where the data cannot


@dataclass(frozen=True)
class TwoGroups:
    """Share of links ``share``, of them positive ``positive``, typical size ``size``, widths of both groups."""

    share: float
    positive: float
    size: float
    spread: float
    null_width: float

    def membership(self, estimate: Tensor, error: Tensor) -> Float[Tensor, "link group"]:
        """Probability of no link, a positive and a negative one, per link."""
        density = _log_densities(estimate, error, self.size, self.spread, self.null_width)
        return torch.softmax(density + _log_weights(self.share, self.positive, estimate), 1)

    def log_ratio(self, estimate: Tensor, error: Tensor, tau: float, min_effect: float, prior_share: float) -> Tensor:
        """Log factor by which these two groups change the odds that a Gaussian slab and spike gave to a link.

        ``prior_share`` is the share of links that those odds already contain, on average over candidates.
        """
        density = _log_densities(estimate, error, self.size, self.spread, self.null_width)
        side = torch.logsumexp(density[:, 1:] + _log_weights(1.0, self.positive, estimate)[1:], 1)
        slab, spike = tau**2 + error.square(), min_effect**2 + error.square()
        gaussian = -0.5 * (estimate.square() / slab + slab.log() - estimate.square() / spike - spike.log())
        share = min(max(self.share, 1e-6), 1 - 1e-6)
        shift = math.log(share / (1 - share)) - math.log(prior_share / (1 - prior_share))
        return side - density[:, 0] - gaussian + shift

    def effect(self, estimate: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the coefficient, given that it is a link."""
        member = self.membership(estimate, error)[:, 1:]
        member = member / member.sum(1, keepdim=True).clamp(min=torch.finfo(member.dtype).tiny)
        gain = self.spread**2 / (self.spread**2 + error.square())
        means = torch.tensor([self.size, -self.size], dtype=estimate.dtype, device=estimate.device)
        centre = means + gain.unsqueeze(1) * (estimate.unsqueeze(1) - means)
        mean = (member * centre).sum(1)
        square = (member * centre.square()).sum(1) + gain * error.square()
        return mean, (square - mean.square()).clamp(min=0).sqrt()

    def draw(self, estimate: Tensor, error: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """One coefficient per link from its posterior, and whether it is a link; the first group has small ones too."""
        member = self.membership(estimate, error).cpu()
        which = torch.multinomial(member, 1, generator=generator).squeeze(1).to(estimate.device)
        like = {"dtype": estimate.dtype, "device": estimate.device}
        mean = torch.tensor([0.0, self.size, -self.size], **like)[which]
        width = torch.tensor([self.null_width, self.spread, self.spread], **like)[which]
        gain = width.square() / (width.square() + error.square())
        noise = torch.randn(len(estimate), generator=generator, dtype=torch.double).to(estimate)
        return mean + gain * (estimate - mean) + (gain.sqrt() * error) * noise, which > 0


def fit_two_groups(
    estimate: Float[Tensor, " link"], error: Float[Tensor, " link"], min_effect: float, prior_share: float
) -> TwoGroups:
    """Maximise the likelihood over a grid of sizes and widths, with EM for the shares."""
    reach = float(estimate.abs().quantile(min(0.999, 1 - 1 / max(len(estimate), 2))))
    typical = float(error.median())
    low = max(2 * min_effect, 0.5 * typical, 1e-3 * reach, 1e-9)
    best, best_value = None, -float("inf")
    for size in torch.logspace(0, 1, SIZES, base=max(reach / low, 1.5), dtype=torch.double).tolist():
        for spread in SPREADS:
            for width in NULL_WIDTHS:
                null = max((min_effect**2 + (width * typical) ** 2) ** 0.5, 1e-9)
                found, value = _shares(estimate, error, low * size, spread * low * size, null, prior_share)
                if value > best_value:
                    best, best_value = found, value
    assert best is not None
    return best


def _shares(
    estimate: Tensor, error: Tensor, size: float, spread: float, null: float, prior_share: float
) -> tuple[TwoGroups, float]:
    density = _log_densities(estimate, error, size, spread, null)
    top = density.amax(1, keepdim=True)
    scaled = (density - top).exp()
    weight = torch.tensor([1 - prior_share, 0.5 * prior_share, 0.5 * prior_share], dtype=density.dtype)
    pseudo = PRIOR_WEIGHT * len(estimate)
    weight = weight.to(scaled)
    for _ in range(ROUNDS):
        joint = scaled * weight
        total = (joint / joint.sum(1, keepdim=True)).sum(0)
        links = total[1:] / total[1:].sum().clamp(min=1e-300)
        total = total + pseudo * torch.cat([total.new_tensor([1 - prior_share]), prior_share * links])
        weight = (total / total.sum()).clamp(min=1e-12)
    share = float(weight[1:].sum())
    pull = pseudo * ((1 - prior_share) * math.log(1 - share) + prior_share * math.log(share))
    value = ((scaled * weight).sum(1).log() + top.squeeze(1)).sum() + pull
    return TwoGroups(share, float(weight[1]) / max(share, 1e-12), size, spread, null), float(value)


def unshrunk(strength: Tensor, deviation: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    r"""Undo the slab: the estimate and standard error whose posterior under :math:`N(0, \tau^2)` was given."""
    room = (tau**2 - deviation.square()).clamp(min=1e-3 * tau**2)
    return strength * tau**2 / room, (deviation.square() * tau**2 / room).sqrt().clamp(min=1e-9)


def _log_densities(estimate: Tensor, error: Tensor, size: float, spread: float, null: float) -> Tensor:
    means = torch.tensor([0.0, size, -size], dtype=estimate.dtype, device=estimate.device)
    widths = torch.tensor([null, spread, spread], dtype=estimate.dtype, device=estimate.device)
    variance = widths.square() + error.square().unsqueeze(1)
    return -0.5 * ((estimate.unsqueeze(1) - means).square() / variance + variance.log())


def _log_weights(share: float, positive: float, like: Tensor) -> Tensor:
    weights = torch.tensor([1 - share, share * positive, share * (1 - positive)], dtype=like.dtype, device=like.device)
    return weights.clamp(min=1e-12).log()
