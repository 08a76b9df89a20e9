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
from torch import nn

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.model.following import Following, find_table
from sphunc.nn.concentration import HIGHEST, cap
from sphunc.nn.outcome import Readout
from sphunc.nn.projection import normalise
from sphunc.sphere import log_normalizer

# What was expected decides what outcomes say about states: an opening is found again for the states that it gives, and
# more often where a table from class to class leaves less to noise.
OPENINGS, MOST_OPENINGS = 2, 4
# Outcomes of newcomers at which half of their own frequencies is granted, in place of those of everybody.
NEWCOMERS = 10.0
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


def class_frequencies(
    y: Int[Tensor, "time agent"], later: Bool[Tensor, "time agent"], first: Bool[Tensor, "time agent"], classes: int
) -> tuple[Float[Tensor, " class"], Float[Tensor, " class"]]:
    """How frequent classes are: among ``later`` outcomes, and among the ``first`` of newcomers.

    Of newcomers nothing is known but this.
    """
    count, begun = (
        torch.bincount(y[known], minlength=classes).to(torch.get_default_dtype()) for known in (later, first)
    )
    frequency = (count + 1.0) / (count + 1.0).sum()
    return frequency, (begun + NEWCOMERS * frequency) / (begun.sum() + NEWCOMERS)


@dataclass(frozen=True, eq=False)
class Rows:
    """Outcomes to open with: class at the origin ``[M, C]`` (or None), class that came ``[M]``, whose it is ``[M]``."""

    told: Tensor | None
    truth: Tensor
    agent: Tensor


@torch.no_grad()
def open_readout(
    readout: Readout, noise: nn.Parameter, following: Following, settled: Callable[[], Tensor], rows: Rows, law: Law
) -> None:
    """Begin with scale, lean, noise and table under which outcomes are likeliest.

    Args:
        readout: whose weights point the right way.
        noise: raw output of the noise head.
        following: the table from class to class.
        settled: gives the states ``[M, D]`` to read, which hang on all of this where outcomes are evidence.
        rows: outcomes.
        law: how logits and noise become log probabilities.
    """
    weight, offset = readout.weight.clone(), readout.bias.double()
    begun = Opening(1.0, readout.lean.clone(), float(noise))
    for turn in range(1, MOST_OPENINGS + 1):
        states = settled()
        z, length = states @ weight.mT * readout.scale, states.norm(dim=-1)
        table = following.table.double() if bool(following.counts) else None
        known = offset if rows.told is None or table is None else offset + rows.told.double() @ table
        found = find_opening(z, length, rows.truth, lambda logits, raw, known=known: law(logits + known, raw), begun)
        readout.weight.copy_(found.scale * weight)
        readout.lean.copy_(found.lean)
        noise.fill_(found.noise)
        if rows.told is None:
            return
        if turn == 1 or table is not None:
            read, raw = found.scale * z + length.unsqueeze(1) * found.lean + offset, noise.detach().double()
            following.take(
                find_table(read, rows.told, rows.truth, rows.agent, lambda logits, raw=raw: law(logits, raw))
            )
        if turn == OPENINGS and not bool(following.counts):
            return


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
