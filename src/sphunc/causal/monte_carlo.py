r"""Error of a mean over structures and draws of the noise.

Within a block every structure meets every draw: samples are a two-way layout,
:math:`x_{qr} = \mu + a_q + b_r + e_{qr}`, and their mean over B blocks of Q structures and R draws has variance

.. math:: \frac{\sigma_a^2}{BQ} + \frac{\sigma_b^2}{BR} + \frac{\sigma_e^2}{BQR}.

Draws alone would tell the second part only: an uncertain link makes the first one the largest. What too few of either
cannot tell is NaN, and never 0.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.causal.design import FEWEST_SHARING, Layout
from sphunc.causal.weighting import FEWEST_EFFECTIVE, effective_size, influence

FEWEST_FREEDOM = 3
"""Degrees of freedom of an error, for structures and for draws: with two, one in ten is below a third of the truth."""
TELLING = FEWEST_SHARING
"""Structures whose agreement counts: a link with a probability of one in fewer may be missing in all of them."""
ROUNDING = 1e-6
"""Of a unit: structures that differ by less agree."""


def variance_of_mean(
    values: Float[Tensor, "*batch sample agent"],
    layout: Layout,
    order: Int[Tensor, "structure agent"] | None = None,
    unit: float = 1.0,
) -> Float[Tensor, "*batch agent"]:
    """Variance of the mean over samples, NaN where they do not tell it: see :func:`where_told`.

    Args:
        values: ordered by block, structure and draw.
        layout: how many there are of each.
        order: as for :func:`estimated_variance`.
        unit: size of what differs by rounding only where it differs by a millionth; that of probabilities by default.
    """
    return where_told(estimated_variance(values, layout, order), values, layout, order, unit)


def weighted_error(
    values: Float[Tensor, "agent sample output"],
    weights: Float[Tensor, "agent sample"],
    layout: Layout,
    order: Int[Tensor, "structure agent"] | None = None,
) -> Float[Tensor, "agent output"]:
    """Standard error of a weighted mean; NaN also where the weights leave fewer than four effective samples."""
    error = variance_of_mean(influence(values, weights), layout, order).mT.sqrt()
    return error.masked_fill((effective_size(weights) < FEWEST_EFFECTIVE).unsqueeze(-1), torch.nan)


def where_told(
    variance: Float[Tensor, "*batch agent"],
    values: Float[Tensor, "*batch sample agent"],
    layout: Layout,
    order: Int[Tensor, "structure agent"] | None = None,
    unit: float = 1.0,
) -> Float[Tensor, "*batch agent"]:
    """Put NaN in place of variances that would be far too small too often.

    All of them, unless there are at least four draws and four structures (one, if it is known), or as many degrees of
    freedom in blocks; with fewer than 20 structures also those of agents in whom all structures agree.
    """
    B, Q, R = layout.shape
    freedom = B * (R - 1) if _is_known(layout, order) else min(B * (R - 1), B * Q - 1)
    if freedom < FEWEST_FREEDOM:
        return torch.full_like(variance, torch.nan)
    if is_agreement_telling(layout, order):
        return variance
    means = values.unflatten(-2, (B * Q, R)).mean(-2)
    return variance.masked_fill(means.amax(-2) - means.amin(-2) <= ROUNDING * unit, torch.nan)


def is_agreement_telling(layout: Layout, order: Tensor | None) -> bool:
    """Say whether an agent in whom structures do not differ has no error from them: they are many, or one is known."""
    return _is_known(layout, order) or layout.blocks * layout.structures >= TELLING


def _is_known(layout: Layout, order: Tensor | None) -> bool:
    """A single structure that was given; one that was drawn has an order."""
    return layout.blocks * layout.structures == 1 and order is None


def estimated_variance(
    values: Float[Tensor, "*batch sample agent"], layout: Layout, order: Int[Tensor, "structure agent"] | None = None
) -> Float[Tensor, "*batch agent"]:
    r"""Best estimate of the variance of the mean over samples, however bad; NaN with a single draw.

    .. math:: \frac{(M_a - M_e)_+ + (M_b - M_e)_+ + M_e}{BQR}

    with the mean squares M of structures, draws and what both leave, pooled over blocks. A single structure counts as
    known. Structures that were stratified vary less in the mean: with their ``order``, :math:`M_a` is that of
    differences between successive ones, the usual estimate for systematic samples.

    Args:
        values: ordered by block, structure and draw.
        layout: how many there are of each.
        order: structures of all blocks by stratum, for every agent; without it they count as independent.
    """
    B, Q, R = layout.shape
    if R == 1:
        return torch.full_like(values[..., 0, :], torch.nan)
    split = values.unflatten(-2, layout.shape)
    by_structure, by_draw = split.mean(-2), split.mean(-3)
    centre = by_draw.mean(-2, keepdim=True)
    drawn = _mean_square(by_draw - centre, Q, B * (R - 1))
    if Q == 1:
        return drawn / layout.samples
    left = (split - by_structure.unsqueeze(-2)).sub_((by_draw - centre).unsqueeze(-3))
    rest = _mean_square(left.flatten(-3, -2), 1, B * (Q - 1) * (R - 1))
    shared = (drawn - rest).clamp(min=0.0)
    if order is None:
        chosen = _mean_square(by_structure - centre, R, B * (Q - 1))
    else:
        # Neighbours from different blocks also differ by the draws that they met.
        chosen = R * _successive(by_structure.flatten(-3, -2), order) - (1.0 - 1.0 / B) * shared / Q
    return ((chosen - rest).clamp(min=0.0) + shared + rest) / layout.samples


def _successive(means: Tensor, order: Tensor) -> Tensor:
    """Variance of structures around those next to them."""
    lined = means.gather(-2, order.expand(*means.shape[:-2], -1, -1))
    return lined.diff(dim=-2).square().sum(-2) / (2 * (len(order) - 1))


def _mean_square(gaps: Tensor, times: int, freedom: int) -> Tensor:
    """Sum of squares over blocks and what differs within them, each met ``times``, over degrees of freedom."""
    return gaps.square().sum((-3, -2)).mul_(times / freedom)
