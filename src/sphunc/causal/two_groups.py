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
LARGEST_TABLE = 500_000  # numbers held at once while fitting
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

    def draw(self, estimate: Tensor, error: Tensor, is_link: Tensor, generator: torch.Generator) -> Tensor:
        """One coefficient per candidate from its posterior, given whether it is a link; small ones where it is not."""
        side = self.membership(estimate, error)[:, 1:]
        positive = side[:, 0] / side.sum(1).clamp(min=torch.finfo(side.dtype).tiny)
        uniform = torch.rand(len(estimate), generator=generator, dtype=torch.double).to(estimate)
        size = torch.where(uniform < positive, self.size, -self.size)
        mean = torch.where(is_link, size, torch.zeros_like(size)).to(estimate)
        width = torch.where(is_link, self.spread, self.null_width).to(estimate)
        gain = width.square() / (width.square() + error.square())
        noise = torch.randn(len(estimate), generator=generator, dtype=torch.double).to(estimate)
        return mean + gain * (estimate - mean) + (gain.sqrt() * error) * noise


def fit_two_groups(
    estimate: Float[Tensor, " link"], error: Float[Tensor, " link"], min_effect: float, prior_share: float
) -> TwoGroups:
    """Maximise the likelihood over a grid of sizes and widths, with EM for the shares."""
    reach = float(estimate.abs().quantile(min(0.999, 1 - 1 / max(len(estimate), 2))))
    typical = float(error.median())
    low = max(2 * min_effect, 0.5 * typical, 1e-3 * reach, 1e-9)
    grid = [
        (low * size, spread * low * size, max((min_effect**2 + (width * typical) ** 2) ** 0.5, 1e-9))
        for size in torch.logspace(0, 1, SIZES, base=max(reach / low, 1.5), dtype=torch.double).tolist()
        for spread in SPREADS
        for width in NULL_WIDTHS
    ]
    chunk = max(1, LARGEST_TABLE // (3 * len(estimate)))
    found = [_shares(estimate, error, grid[k : k + chunk], prior_share) for k in range(0, len(grid), chunk)]
    weight, value = (torch.cat(part) for part in zip(*found, strict=True))
    best = int(value.argmax())
    share = float(weight[best, 1:].sum())
    return TwoGroups(share, float(weight[best, 1]) / max(share, 1e-12), *grid[best])


def _shares(
    estimate: Tensor, error: Tensor, grid: list[tuple[float, float, float]], prior_share: float
) -> tuple[Float[Tensor, "point 3"], Float[Tensor, " point"]]:
    """Weights of the groups by EM, and the penalised log likelihood, at each point of the grid."""
    # Groups first: sums over the three of them are then sums of whole tables.
    density = torch.stack([_log_densities(estimate, error, *point).T for point in grid], 1)
    top = density.amax(0)
    scaled = (density - top).exp()
    pseudo = PRIOR_WEIGHT * len(estimate)
    weight = scaled.new_tensor([1 - prior_share, 0.5 * prior_share, 0.5 * prior_share]).expand(len(grid), -1)
    for _ in range(ROUNDS):
        inverse = _mixed(scaled, weight).reciprocal_()
        total = weight * torch.einsum("gpl,pl->pg", scaled, inverse)
        links = total[:, 1:] / total[:, 1:].sum(1, keepdim=True).clamp(min=1e-300)
        none = torch.full_like(links[:, :1], 1 - prior_share)
        total = total + pseudo * torch.cat([none, prior_share * links], 1)
        weight = (total / total.sum(1, keepdim=True)).clamp(min=1e-12)
    share = weight[:, 1:].sum(1)
    pull = pseudo * ((1 - prior_share) * torch.log1p(-share) + prior_share * share.log())
    value = (_mixed(scaled, weight).log() + top).sum(1) + pull
    return weight, value


def _mixed(scaled: Float[Tensor, "3 point link"], weight: Float[Tensor, "point 3"]) -> Float[Tensor, "point link"]:
    mixed = scaled[0] * weight[:, :1]
    for group in (1, 2):
        mixed.addcmul_(scaled[group], weight[:, group : group + 1])
    return mixed


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
