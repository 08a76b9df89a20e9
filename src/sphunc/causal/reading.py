r"""From simulated states to outcome laws that average to the forecast.

The factual arm of a simulation is a forecast too, but not the calibrated one. Class weights w per agent and step,

.. math:: q_s = \mathrm{normalise}(w \odot p_s), \qquad \frac1S \sum_s q_s^{factual} = p^{forecast},

make it so, and the same weights read the other arm: calibration carries over, and Monte Carlo error that both arms
share is gone. The dual problem :math:`\max_w \sum_c p_c \log w_c - \frac1S \sum_s \log \sum_c w_c p_{sc}` is concave in
log w; a few Newton steps solve it. What they leave is added, so that no tolerance enters the result.

Work is done class by class, ``[C, S, N]`` with agents side by side: sums over the few classes, and products with what
belongs to an agent, then run along long rows, several times faster than the other way round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from sphunc._typing import Float, Int, Tensor

TOLERANCE = 1e-3
"""Of the mean of the samples. It touches no result: what is left is added, and both arms share it."""
LOG2_E = math.log2(math.e)
"""Powers of 2 take two thirds of the time of powers of e."""
NEWTON_STEPS = 12
OLD_STEPS = 3
"""Steps with the curvature of the time before, which changes little and is dear to make, before it is made anew."""
LONGEST_STEP = 3.0
LARGEST_LOG_WEIGHT = 60.0
"""Weights of a class that no sample reaches grow with every step; single precision ends at exp(88)."""
RIDGE = 1e-7
LEAST_TARGET = 1e-2
FEW = 0.25
"""Share of a block below which the agents that are not done yet are taken out of it."""


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
        """Class probabilities of every sample, before weights."""
        p = self.odds(logits.permute(2, 1, 0))
        return p.div_(p.sum(0)).permute(2, 1, 0).contiguous()

    def odds(
        self, logits: Float[Tensor, "class sample agent"], room: Tensor | None = None
    ) -> Float[Tensor, "class sample agent"]:
        """The same class by class, up to a factor per sample, which weights take out.

        Args:
            logits: of every sample.
            room: memory for the result; many results in turn take far less time in the same memory than in new one.
        """
        flat = torch.empty(logits.numel()) if room is None else room[: logits.numel()]
        p = torch.mul(logits, self.sharpness * LOG2_E, out=flat.view(logits.shape))
        p.sub_(p.amax(0)).exp2_()
        if self.share is None:
            return p
        drawn = p.sum(0).mul_(self.share)
        p.mul_(1.0 - self.share).addcmul_(self.frequency[:, None, None], drawn)
        return p.log2_().mul_(self.power).exp2_()


@dataclass(frozen=True, eq=False)
class NumberReading:
    """How standardised numbers of one step become means.

    Attributes:
        centre: of the numbers ``[K]``.
        scale: of the numbers ``[K]``.
        target: forecast mean ``[N, K]``.
        variance: forecast variance ``[N, K]``, of standardised numbers.
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

    def standard(self, means: Float[Tensor, "agent sample number"]) -> Float[Tensor, "agent sample number"]:
        """Standardised numbers of which these are the means."""
        return (means - self.centre) / self.scale

    def variances(self, standard: Float[Tensor, "agent number"]) -> Float[Tensor, "agent number"]:
        """Variances of outcomes, from those of standardised numbers; the square of a small scale takes doubles."""
        return standard.double() * self.scale.double().square()


@dataclass(frozen=True, eq=False)
class Anchor:
    """What ties samples to the forecast; a step begins with that of the step before.

    Attributes:
        log_weights: of the classes ``[N, C]``.
        inverse: of the curvature that they were found with ``[N, C, C]``.
    """

    log_weights: Tensor
    inverse: Tensor

    def rows(self, part: slice) -> Anchor:
        """Return the anchor of some agents."""
        return Anchor(self.log_weights[part], self.inverse[part])


def anchored(
    p: Float[Tensor, "class sample agent"],
    target: Float[Tensor, "agent class"],
    start: Anchor | None = None,
    weights: Float[Tensor, "sample agent"] | None = None,
) -> tuple[Float[Tensor, "class sample agent"], Anchor]:
    """Probabilities that average to ``target``, up to 1e-3 or what can be reached, and the weights that make them so.

    Args:
        p: probabilities of the samples, up to a factor each; the result takes their place.
        target: their wanted mean.
        start: anchor to begin with; that of the step before saves iterations.
        weights: of the samples in the mean, adding up to 1 for every agent; equal if None.
    """
    x = torch.zeros_like(target) if start is None else start.log_weights.clone()
    # Without samples that tell more, the curvature that bounds every other: steps are short, but never too long.
    inverse = torch.diag_embed(1.0 / target.clamp(min=LEAST_TARGET)) if start is None else start.inverse.clone()
    q = weighted(p, x)
    for count in range(NEWTON_STEPS):
        gap = target - _mean(q, weights).mT
        whom = (gap.abs().amax(-1) >= TOLERANCE).nonzero().flatten()
        if not len(whom):
            break
        few = len(whom) < FEW * len(x)
        some = columns(q, whom) if few else q
        if count >= OLD_STEPS or start is None:
            whose = None if weights is None else weights[:, whom]
            inverse[whom] = _inverse_curvature(some if few else columns(some, whom), whose)
        step = _limited((inverse[whom] @ gap[whom].unsqueeze(-1)).squeeze(-1))
        moved = (x[whom] + step).clamp(-LARGEST_LOG_WEIGHT, LARGEST_LOG_WEIGHT)
        step = moved - x[whom]
        x[whom] = moved
        if few:
            put_columns(q, whom, weighted(some, step))
        else:
            weighted(q, torch.zeros_like(x).index_copy_(0, whom, step))
    return q, Anchor(x, inverse)


def _mean(q: Float[Tensor, "class sample agent"], weights: Tensor | None) -> Float[Tensor, "class agent"]:
    return q.mean(1) if weights is None else (q * weights).sum(1)


def _inverse_curvature(
    q: Float[Tensor, "class sample agent"], weights: Float[Tensor, "sample agent"] | None
) -> Float[Tensor, "agent class class"]:
    C, S = q.shape[:2]
    rows = q.permute(2, 0, 1).contiguous()
    if weights is None:
        curvature = torch.diag_embed(rows.mean(-1)) - rows @ rows.mT / S
    else:
        counted = rows * weights.mT.unsqueeze(1)
        curvature = torch.diag_embed(counted.sum(-1)) - counted @ rows.mT
    # The weights have one degree of freedom too many, and a class that no sample can reach has no curvature.
    free = curvature.double() + 1.0 / C + RIDGE * torch.eye(C, dtype=torch.float64)
    return torch.linalg.inv(free).to(q.dtype)


def _limited(step: Float[Tensor, "agent class"]) -> Float[Tensor, "agent class"]:
    step = step - step.mean(-1, keepdim=True)
    longest = step.abs().amax(-1, keepdim=True)
    return step * (LONGEST_STEP / longest.clamp(min=LONGEST_STEP))


def weighted(
    p: Float[Tensor, "class sample agent"], log_weights: Float[Tensor, "agent class"]
) -> Float[Tensor, "class sample agent"]:
    """Probabilities of the samples under class weights, in place of those without."""
    q = p.mul_(log_weights.exp().mT.contiguous().unsqueeze(1))
    return q.div_(q.sum(0).clamp_(min=torch.finfo(q.dtype).tiny))


def columns(values: Float[Tensor, "class sample agent"], rows: Int[Tensor, " some"]) -> Tensor:
    """What belongs to some agents; a quarter of the time that indexing takes."""
    return values.gather(2, rows.expand(*values.shape[:2], -1))


def put_columns(values: Float[Tensor, "class sample agent"], rows: Int[Tensor, " some"], some: Tensor) -> None:
    """Put what belongs to some agents in its place."""
    values.scatter_(2, rows.expand(*values.shape[:2], -1), some)
