r"""Where the readout begins: how sure it is, how frequent classes are and how noisy, before any pass of training.

Logits z that point the right way may still be far too faint, or far too sure, for the outcomes at hand. With

.. math:: \min_{s, l, v} \; -\sum \log p(y \mid e^s z + r\, l, v) + \tfrac12 \Big(s^2 + \|l - l_0\|^2
          + \tfrac14 (v - v_0)^2\Big)

where r is the length of the state, a network begins at the likeliest scale, lean and noise, which a hundred passes
would hardly reach where outcomes are nearly certain.
"""

from __future__ import annotations

import math
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
    """Factor of the logits, the lean ``[C]`` of known states, and the raw output of the noise head."""

    scale: float
    lean: Tensor
    noise: float


def find_opening(
    logits: Float[Tensor, "row class"],
    length: Float[Tensor, " row"],
    truth: Int[Tensor, " row"],
    law: Law,
    begun: Opening,
) -> Opening:
    """Find the opening under which outcomes are likeliest; few of them leave it near the one it begins with.

    Args:
        logits: z, without lean and offset.
        length: r, of the states they were read from.
        truth: classes that came.
        law: how logits and noise become log probabilities.
        begun: scale, lean and noise to begin with.
    """
    z, r, wanted, device = logits.double(), length.double().unsqueeze(1), truth.unsqueeze(1), logits.device
    first, last = (torch.tensor([value], dtype=torch.float64) for value in (math.log(begun.scale), begun.noise))
    centre = torch.cat([first, begun.lean.detach().cpu().double(), last]).to(device)
    spread = torch.ones_like(centre)
    spread[-1] = NOISE_DEVIATION

    @torch.enable_grad()
    def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
        free = torch.tensor(point, dtype=torch.float64, device=device, requires_grad=True)
        chosen = law(free[0].exp() * z + r * free[1:-1], free[-1]).gather(1, wanted)
        loss = ((free - centre) / spread).square().sum() / 2.0 - chosen.sum()
        (gradient,) = torch.autograd.grad(loss, free)
        return float(loss.detach()), gradient.cpu().numpy()

    found: Any = minimize(objective, centre.cpu().numpy(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    best = torch.tensor(found.x)
    return Opening(float(best[0].exp()), best[1:-1].to(begun.lean), float(best[-1]))
