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
from sphunc.forecasting import Categorical, PredictiveDistribution

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
    samples: Float[Tensor, "structure output agent draw"],
    noise: Float[Tensor, "structure output agent draw"] | None,
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
    mean = samples.double().mean((0, 3)).mT
    spread = samples.double().var((0, 3), correction=0).mT
    factor = (forecast.variance - spread) / noise.double().mean((0, 3)).mT
    return Correction(forecast.mean - mean, factor.clamp(1.0 / LARGEST_FACTOR, LARGEST_FACTOR))


def _calibrate_classes(
    samples: Float[Tensor, "structure class agent draw"], wanted: Float[Tensor, "agent class"]
) -> Correction:
    wanted = wanted.clamp(min=SMALLEST).mT.to(samples)
    factor = torch.ones_like(wanted)
    for _ in range(ROUNDS):
        corrected = samples * factor.unsqueeze(-1)
        corrected /= corrected.sum(1, keepdim=True)
        mean = corrected.mean(-1).mean(0)
        factor = factor * wanted / mean.clamp(min=SMALLEST)
        factor = factor / factor.amax(0)
    shift = factor.mT.double().clamp(min=SMALLEST).log()
    return Correction(shift, torch.ones_like(shift))
