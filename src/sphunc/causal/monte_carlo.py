r"""Error of a mean over structures and draws of the noise.

Within a block every structure meets every draw: samples are a two-way layout,
:math:`x_{qr} = \mu + a_q + b_r + e_{qr}`, and their mean over B blocks of Q structures and R draws has variance

.. math:: \frac{\sigma_a^2}{BQ} + \frac{\sigma_b^2}{BR} + \frac{\sigma_e^2}{BQR}.

Draws alone would tell the second part only: an uncertain link makes the first one the largest.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Int, Tensor
from sphunc.causal.design import Layout


def variance_of_mean(
    values: Float[Tensor, "*batch sample agent"], layout: Layout, order: Int[Tensor, "structure agent"] | None = None
) -> Float[Tensor, "*batch agent"]:
    r"""Estimated variance of the mean over samples; NaN with a single draw, which shows no spread.

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
