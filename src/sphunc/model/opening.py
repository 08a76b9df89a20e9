r"""Where training begins: how sure states and readout are, how frequent classes and how noisy, before any pass.

Logits z that point the right way may still be far too faint, or far too sure, for the outcomes at hand. With

.. math:: \min_{s, l, v} \; -\sum \log p(y \mid e^s z + r\, l, v) + \tfrac12 \Big(s^2 + \|l - l_0\|^2
          + \tfrac14 (v - v_0)^2\Big)

where r is the length of the state, a network begins at the likeliest scale, lean and noise, which a hundred passes
would hardly reach where outcomes are nearly certain. What a state is worth as a concentration is found likewise, from
the next sight of each agent, and stays: left to training it would still be on its way when training ends, and tell how
many passes there were.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar

from sphunc._typing import Float, Int, Tensor
from sphunc.nn.concentration import HIGHEST, cap
from sphunc.nn.projection import normalise
from sphunc.sphere import log_normalizer

NOISE_DEVIATION = 2.0
MOST_STEPS = 100
# A state of mean length is worth from e^-5 to e times the largest concentration.
LEAST_WORTH, MOST_WORTH = -5.0, 1.0

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


def likeliest_sureness(states: Float[Tensor, "row dim"], sights: Float[Tensor, "row dim"], begun: float) -> float:
    r"""Find the factor from lengths of states to concentrations under which the next sights are likeliest.

    .. math:: \max_s \sum \log C_D(\kappa) + \kappa\, \mu^\top h, \qquad \kappa = s \|\eta\| \text{ inside } [1, 200]

    Args:
        states: :math:`\eta = \|\eta\|\mu`, before the next sight.
        sights: h, the next sight of the same agent.
        begun: what to begin with, returned where no state points anywhere.
    """
    length = states.double().norm(dim=-1)
    if not bool(length.any()):
        return begun
    cosine = (normalise(states.double()) * sights).sum(-1)

    def loss(log_factor: float) -> float:
        kappa = cap(math.exp(log_factor) * length)
        return -float((log_normalizer(kappa, states.shape[-1], validate=False) + kappa * cosine).mean())

    largest = math.log(HIGHEST / float(length.mean()))
    found: Any = minimize_scalar(loss, bounds=(largest + LEAST_WORTH, largest + MOST_WORTH), method="bounded")
    return math.exp(float(found.x))
