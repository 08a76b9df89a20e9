r"""Error of a mean over structures and draws of the noise.

Within a block every structure meets every draw: samples are a two-way layout,
:math:`x_{qr} = \mu + a_q + b_r + e_{qr}`, and their mean over B blocks of Q structures and R draws has variance

.. math:: \frac{\sigma_a^2}{BQ} + \frac{\sigma_b^2}{BR} + \frac{\sigma_e^2}{BQR}.

Draws alone would tell the second part only: an uncertain link makes the first one the largest.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.design import Layout


def variance_of_mean(values: Float[Tensor, "*batch sample agent"], layout: Layout) -> Float[Tensor, "*batch agent"]:
    r"""Estimated variance of the mean over samples; NaN with a single draw, which shows no spread.

    .. math:: \frac{(M_a - M_e)_+ + (M_b - M_e)_+ + M_e}{BQR}

    with the mean squares M of structures, draws and what both leave, pooled over blocks. Structures are taken as
    independent draws: their stratification makes it too large, never too small. A single structure counts as known.

    Args:
        values: ordered by block, structure and draw.
        layout: how many there are of each.
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
    chosen = _mean_square(by_structure - centre, R, B * (Q - 1))
    left = (split - by_structure.unsqueeze(-2)).sub_((by_draw - centre).unsqueeze(-3))
    rest = _mean_square(left.flatten(-3, -2), 1, B * (Q - 1) * (R - 1))
    return ((chosen - rest).clamp(min=0.0) + (drawn - rest).clamp(min=0.0) + rest) / layout.samples


def _mean_square(gaps: Tensor, times: int, freedom: int) -> Tensor:
    """Sum of squares over blocks and what differs within them, each met ``times``, over degrees of freedom."""
    return gaps.square().sum((-3, -2)).mul_(times / freedom)
