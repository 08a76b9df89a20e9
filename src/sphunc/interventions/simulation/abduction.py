r"""Abduction: states, persistent effects and outcome noise given what was observed after the origin.

**States.** The path of every agent is drawn from its smoothed distribution, backwards from the last time that was
observed (Carter and Kohn 1994; Frühwirth-Schnatter 1994). What the drawn structure does not explain of a transition is
its noise, and is the same in both arms (additive coupling).

**Outcomes.** Of an outcome y that was observed the uniform number behind the inverse distribution function is known to
lie in :math:`[F(y - 1), F(y)]` under the factual probabilities; the same number decides the counterfactual outcome
(monotone coupling). Its distribution follows in closed form,

.. math:: P(y' = c \mid y) = \frac{|[F'(c - 1), F'(c)] \cap [F(y - 1), F(y)]|}{F(y) - F(y - 1)}.

The residual of a number is kept in units of its deviation. Other couplings would give other answers: data cannot
decide between them (Pearl, Causality, 2009, ch. 7; Oberst and Sontag, ICML 2019).
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Tensor
from sphunc.model import Filtered

COUPLING = "additive noise of states, monotone (inverse distribution function) noise of outcomes"
SMALLEST = 1e-12


def draw_paths(
    filtered: Filtered,
    inertia: Float[Tensor, " agent"],
    first: int,
    last: int,
    scale: float,
    draws: int,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> tuple[Float[Tensor, "time agent draw axis"], Float[Tensor, "agent draw axis"]]:
    """Draw states from ``first`` to ``last`` and persistent effects, given everything up to ``last``.

    Args:
        filtered: moments of states and effects at every time.
        inertia: lambda.
        first: time index of the first state, the origin.
        last: time index of the last one that observations tell of.
        scale: share of the claimed variance that is drawn.
        draws: R, of each agent.
        generator: of the draws.
        dtype: of the result.
    """
    shape = (filtered.mean.shape[1], draws, filtered.mean.shape[2])

    def normal() -> Tensor:
        return scale**0.5 * torch.randn(shape, generator=generator, dtype=dtype)

    def per_draw(values: Tensor) -> Tensor:
        return values.unsqueeze(1).to(dtype)

    # Moments are double precision: what is left of a variance may be small.
    effect_variance = filtered.effect_variance[last].clamp(min=SMALLEST)
    covariance = filtered.covariance[last]
    left = (filtered.variance[last] - covariance.square() / effect_variance).clamp(min=0.0)
    effect_normal = normal()
    effect = per_draw(filtered.effect_mean[last]) + per_draw(effect_variance.sqrt()) * effect_normal
    state = per_draw(filtered.mean[last]) + per_draw(covariance / effect_variance.sqrt()) * effect_normal
    state = state + per_draw(left.sqrt()) * normal()
    path = [state]
    rate = inertia.unsqueeze(1)
    for time in range(last - 1, first - 1, -1):
        # Moments of (s_t, c, s_{t+1}) given observations up to t; those of s_{t+1} as the filter predicted it.
        variance = filtered.variance[time]
        covariance = filtered.covariance[time]
        effect_variance = filtered.effect_variance[time]
        gain = filtered.gain[time + 1]
        next_variance = filtered.variance[time + 1] / (1.0 - gain).clamp(min=SMALLEST)
        next_mean = filtered.mean[time + 1] - gain * filtered.innovation[time + 1]
        with_next = rate * variance + covariance
        effect_with_next = rate * covariance + effect_variance
        # Regression of s_t on (c, s_{t+1}).
        determinant = effect_variance * next_variance - effect_with_next.square()
        determinant = determinant.clamp(min=SMALLEST**2)
        on_effect = (covariance * next_variance - with_next * effect_with_next) / determinant
        on_next = (with_next * effect_variance - covariance * effect_with_next) / determinant
        left = (variance - on_effect * covariance - on_next * with_next).clamp(min=0.0)
        by_effect = per_draw(on_effect) * (effect - per_draw(filtered.effect_mean[time]))
        by_next = per_draw(on_next) * (state - per_draw(next_mean))
        state = per_draw(filtered.mean[time]) + by_effect + by_next + per_draw(left.sqrt()) * normal()
        path.append(state)
    path.reverse()
    return torch.stack(path), effect


def coupled_probabilities(
    alternative: Float[Tensor, "*batch class"],
    factual: Float[Tensor, "*batch class"],
    outcome: Float[Tensor, "*batch2 class"],
) -> Float[Tensor, "*batch class"]:
    """Probabilities of a counterfactual outcome given the factual one, under the monotone coupling.

    Args:
        alternative: probabilities in the interventional arm.
        factual: probabilities in the factual arm.
        outcome: indicators of the outcome that was observed.
    """
    low, width = observed_cell(factual, outcome)
    high = low + width
    upper = alternative.cumsum(-1)
    lower = upper - alternative
    overlap = torch.minimum(upper, high.unsqueeze(-1)) - torch.maximum(lower, low.unsqueeze(-1))
    overlap = overlap.clamp(min=0.0) + SMALLEST * outcome
    return overlap / overlap.sum(-1, keepdim=True)


def observed_cell(
    factual: Float[Tensor, "*batch class"], outcome: Float[Tensor, "*batch2 class"]
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """Lower end and width of the interval of uniform numbers that give an outcome.

    Args:
        factual: probabilities.
        outcome: indicators.
    """
    width = (factual * outcome).sum(-1)
    high = (factual.cumsum(-1) * outcome).sum(-1)
    return high - width, width
