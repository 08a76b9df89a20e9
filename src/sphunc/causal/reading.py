r"""From simulated states to outcome laws that average to the forecast.

The factual arm of a simulation is a forecast too, but not the calibrated one. Class weights w per agent and step,

.. math:: q_s = \mathrm{normalise}(w \odot p_s), \qquad \frac1S \sum_s q_s^{factual} = p^{forecast},

make it so, and the same weights read the other arm: calibration carries over, and Monte Carlo error that both arms
share is gone. The dual problem :math:`\max_w \sum_c p_c \log w_c - \frac1S \sum_s \log \sum_c w_c p_{sc}` is concave in
log w; a few Newton steps solve it. What they leave is added, so that no tolerance enters the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Float, Tensor
from sphunc.causal.noise import row_sums

TOLERANCE = 1e-3
"""Of the mean of the samples. It touches no result: what is left is added, and both arms share it."""
NEWTON_STEPS = 12
LONGEST_STEP = 3.0
RIDGE = 1e-7


@dataclass(frozen=True, eq=False)
class ClassReading:
    r"""How logits of one step become class probabilities.

    Attributes:
        sharpness: factor of the logits ``[N]``: one over noise and temperature.
        share: of outcomes that are drawn from all that occur ``[N]``, or None.
        frequency: of the classes among those ``[C]``.
        power: exponent of the calibration, used with ``share`` (else it is part of the sharpness) ``[N]``.
        target: calibrated forecast ``[N, C]``.
    """

    sharpness: Tensor
    share: Tensor | None
    frequency: Tensor
    power: Tensor
    target: Tensor

    def rows(self, part: slice | Tensor) -> ClassReading:
        """Return the reading of some agents."""
        share = None if self.share is None else self.share[part]
        return ClassReading(self.sharpness[part], share, self.frequency, self.power[part], self.target[part])

    def probabilities(self, logits: Float[Tensor, "agent sample class"]) -> Float[Tensor, "agent sample class"]:
        """Class probabilities of every sample, before weights; up to a factor, which weights take out."""
        p = torch.softmax(logits * self.sharpness[:, None, None], -1)
        if self.share is None:
            return p
        share = self.share[:, None, None]
        p = p.mul_(1.0 - share).add_(share * self.frequency).log_().mul_(self.power[:, None, None]).exp_()
        return p.div_(row_sums(p).unsqueeze(-1))


@dataclass(frozen=True, eq=False)
class NumberReading:
    """How standardised numbers of one step become means.

    Attributes:
        centre: of the numbers ``[K]``.
        scale: of the numbers ``[K]``.
        target: forecast mean ``[N, K]``.
        variance: forecast variance ``[N, K]``.
    """

    centre: Tensor
    scale: Tensor
    target: Tensor
    variance: Tensor

    def rows(self, part: slice | Tensor) -> NumberReading:
        """Return the reading of some agents."""
        return NumberReading(self.centre, self.scale, self.target[part], self.variance[part])

    def means(self, numbers: Float[Tensor, "agent sample number"]) -> Float[Tensor, "agent sample number"]:
        """Mean of the outcome in every sample."""
        return self.centre + self.scale * numbers


def class_weights(
    p: Float[Tensor, "agent sample class"],
    target: Float[Tensor, "agent class"],
    start: Float[Tensor, "agent class"] | None = None,
) -> Float[Tensor, "agent class"]:
    """Logs of the weights under which the samples average to ``target``, up to 1e-3 or what can be reached.

    Args:
        p: probabilities of the samples.
        target: their wanted mean.
        start: logs to begin with; those of the step before save iterations.
    """
    x = torch.zeros_like(target) if start is None else start.clone()
    todo = torch.arange(len(x))
    for _ in range(NEWTON_STEPS):
        q = weighted(p if len(todo) == len(x) else p[todo], x[todo])
        gap = target[todo] - q.mean(1)
        far = gap.abs().amax(-1) >= TOLERANCE
        if not bool(far.any()):
            break
        todo, q, gap = todo[far], q[far], gap[far]
        step = x[todo] + _newton_step(q, gap)
        x[todo] = step - step.mean(-1, keepdim=True)
    return x


def _newton_step(q: Tensor, gap: Tensor) -> Tensor:
    C = q.shape[-1]
    curvature = torch.diag_embed(q.mean(1)) - q.mT @ q / q.shape[1]
    # The weights have one degree of freedom too many, and a class that no sample can reach has no curvature.
    free = curvature.double() + 1.0 / C + RIDGE * torch.eye(C, dtype=torch.float64)
    step = torch.linalg.solve(free, gap.double().unsqueeze(-1)).squeeze(-1)
    longest = step.abs().amax(-1, keepdim=True)
    return (step * (LONGEST_STEP / longest.clamp(min=LONGEST_STEP))).to(q.dtype)


def weighted(
    p: Float[Tensor, "agent sample class"], log_weights: Float[Tensor, "agent class"]
) -> Float[Tensor, "agent sample class"]:
    """Probabilities of the samples under class weights."""
    q = p * log_weights.exp().unsqueeze(1)
    return q.div_(row_sums(q).clamp_(min=torch.finfo(p.dtype).tiny).unsqueeze(-1))
