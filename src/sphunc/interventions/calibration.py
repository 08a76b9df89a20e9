r"""The factual arm calibrated to the forecast: corrections of outcome distributions that both arms share.

The simulation draws states and coefficients where a forecast integrates over them, and its mean differs a little from
it. Classes: unnormalised probabilities of every sample are multiplied by factors :math:`f_c` of the agent, found by
iterative proportional fitting (Deming and Stephan 1940), so that their mean is the forecast. Numbers: means are
shifted, conditional variances multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sphunc._typing import Float, Tensor
from sphunc.forecasting.distribution import Categorical, PredictiveDistribution

ROUNDS = 12
SMALLEST = 1e-9
LARGEST_FACTOR = 10.0


@dataclass(frozen=True, eq=False)
class Correction:
    """What is applied to every sample of both arms at one step.

    Attributes:
        shift: added to log probabilities, or to means ``[N, C]``.
        factor: of conditional variances of numbers ``[N, C]``; ones for classes.
    """

    shift: Float[Tensor, "agent output"]
    factor: Float[Tensor, "agent output"]


def calibrate(
    samples: Float[Tensor, "sample agent output"],
    noise: Float[Tensor, "sample agent output"] | None,
    forecast: PredictiveDistribution,
) -> Correction:
    """Correction by which the mean of the samples becomes the forecast.

    Args:
        samples: class probabilities, or means of numbers, of the factual arm.
        noise: conditional variances of numbers; None for classes.
        forecast: of every agent.
    """
    if isinstance(forecast, Categorical):
        return _calibrate_classes(samples, forecast.probabilities)
    assert noise is not None
    wanted = forecast.variance - samples.double().var(0, correction=0)
    factor = (wanted / noise.double().mean(0)).clamp(1.0 / LARGEST_FACTOR, LARGEST_FACTOR)
    return Correction(forecast.mean - samples.double().mean(0), factor)


def _calibrate_classes(
    samples: Float[Tensor, "sample agent class"], wanted: Float[Tensor, "agent class"]
) -> Correction:
    factor = torch.ones_like(wanted).to(samples)
    for _ in range(ROUNDS):
        corrected = samples * factor
        mean = (corrected / corrected.sum(-1, keepdim=True)).mean(0)
        factor = factor * wanted.clamp(min=SMALLEST).to(mean) / mean.clamp(min=SMALLEST)
        factor = factor / factor.amax(-1, keepdim=True)
    shift = factor.double().clamp(min=SMALLEST).log()
    return Correction(shift, torch.ones_like(shift))
