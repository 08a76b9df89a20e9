r"""Where the readout begins: how sure it is, how frequent classes are and how noisy, before any pass of training.

Logits z that point the right way may still be far too faint, or far too sure, for the outcomes at hand. With

.. math:: \min_{s, b, v} \; -\sum \log p(y \mid e^s z + b, v) + \tfrac12 \Big(s^2 + \|b - b_0\|^2
          + \tfrac14 (v - v_0)^2\Big)

a network begins at the likeliest scale, offset and noise, which a hundred passes would hardly reach where outcomes are
nearly certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

from sphunc._typing import Float, Int, Tensor

NOISE_DEVIATION = 2.0
MOST_STEPS = 100

Law = Callable[[Tensor, Tensor], Tensor]
"""From logits ``[M, C]`` and the raw noise to log probabilities ``[M, C]``."""


@dataclass(frozen=True, eq=False)
class Opening:
    """Factor of the logits, their offset ``[C]``, and the raw output of the noise head."""

    scale: float
    bias: Tensor
    noise: float


def find_opening(
    logits: Float[Tensor, "row class"],
    truth: Int[Tensor, " row"],
    law: Law,
    bias: Float[Tensor, " class"],
    noise: float,
) -> Opening:
    """Find the opening under which outcomes are likeliest; few of them leave it near 1, ``bias`` and ``noise``.

    Args:
        logits: without offset.
        truth: classes that came.
        law: how logits with an offset, and noise, become log probabilities.
        bias: b_0.
        noise: v_0.
    """
    z, wanted, device = logits.double(), truth.unsqueeze(1), logits.device
    centre = torch.cat([torch.zeros(1), bias.detach().cpu(), torch.tensor([noise])]).double().to(device)
    spread = torch.ones_like(centre)
    spread[-1] = NOISE_DEVIATION

    @torch.enable_grad()
    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        free = torch.tensor(point, dtype=torch.float64, device=device, requires_grad=True)
        chosen = law(free[0].exp() * z + free[1:-1], free[-1]).gather(1, wanted)
        loss = ((free - centre) / spread).square().sum() / 2.0 - chosen.sum()
        (gradient,) = torch.autograd.grad(loss, free)
        return float(loss.detach()), gradient.cpu().numpy()

    found: Any = minimize(objective, centre.cpu().numpy(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    best = torch.tensor(found.x)
    return Opening(float(best[0].exp()), best[1:-1].to(bias), float(best[-1]))
