r"""Forecasts that anybody would make without a model: frequencies of past outcomes, and what followed the last one.

Counts of classes are smoothed by one outcome of each class, counted transitions by one that is spread like the
frequencies, so that no class is impossible:

.. math:: p_c = \frac{n_c + 1}{n + C}, \qquad p_{c \mid y} = \frac{n_{yc} + p_c}{n_y + 1}
"""

from __future__ import annotations

import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.forecasting.distribution import Categorical, Gaussian

SMALLEST_VARIANCE = 1e-6
"""Of a forecast of numbers, where all past outcomes are alike."""


def class_forecasts(
    labels: Int[Tensor, "time agent"], mask: Bool[Tensor, "time agent"], horizon: int, num_classes: int
) -> tuple[Categorical, Categorical]:
    """Frequencies of all outcomes up to an origin, and what follows the last outcome as often as it did before.

    Args:
        labels: class of every outcome up to the origin, the last time.
        mask: True where one was observed.
        horizon: steps ahead.
        num_classes: C.

    Returns:
        Both forecasts of every agent ``[N, C]``; an agent without any outcome has the frequencies in both.

    Example:
        >>> frequencies, persistence = class_forecasts(torch.tensor([[0], [0]]), torch.ones(2, 1).bool(), 1, 2)
        >>> frequencies.probabilities
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
        >>> persistence.probabilities
        tensor([[0.8750, 0.1250]], dtype=torch.float64)
    """
    number = labels.shape[1]
    counts = torch.bincount(labels[mask], minlength=num_classes).double() + 1.0
    share = counts / counts.sum()
    is_pair = mask[horizon:] & mask[:-horizon]
    pair = labels[:-horizon][is_pair] * num_classes + labels[horizon:][is_pair]
    follow = torch.bincount(pair, minlength=num_classes**2).view(num_classes, num_classes) + share
    follow = follow / follow.sum(1, keepdim=True)
    place = _last_time(mask)
    last = labels.gather(0, place.clamp(min=0).unsqueeze(0))[0]
    everywhere = share.log().expand(number, -1)
    after = torch.where((place >= 0).unsqueeze(1), follow.log()[last.clamp(min=0)], everywhere)
    return Categorical(everywhere), Categorical(after)


def number_forecasts(
    values: Float[Tensor, "time agent output"], mask: Bool[Tensor, "time agent"], horizon: int
) -> tuple[Gaussian, Gaussian]:
    """Mean of all outcomes up to an origin, and the last one; each as uncertain as it was wrong before.

    Args:
        values: outcomes up to the origin, the last time.
        mask: True where one was observed.
        horizon: steps ahead.

    Returns:
        Both forecasts of every agent ``[N, K]``; an agent without any outcome has the mean in both. Without any
        outcome at all mean and variance are 0 and 1.
    """
    values = values.double()
    past = values[mask]
    mean = torch.zeros_like(values[0, 0])
    spread = torch.ones_like(mean)
    if len(past):
        mean = past.mean(0)
        spread = past.var(0, correction=0).clamp(min=SMALLEST_VARIANCE)
    is_pair = mask[horizon:] & mask[:-horizon]
    change = (values[horizon:] - values[:-horizon])[is_pair]
    moved = spread
    if len(change):
        moved = change.square().mean(0).clamp(min=SMALLEST_VARIANCE)
    place = _last_time(mask)
    last = values[place.clamp(min=0), torch.arange(values.shape[1], device=values.device)]
    everywhere = mean.expand_as(last)
    is_known = (place >= 0).unsqueeze(1)
    persistence = Gaussian(torch.where(is_known, last, everywhere), torch.where(is_known, moved, spread))
    return Gaussian(everywhere, spread.expand_as(everywhere)), persistence


def _last_time(mask: Bool[Tensor, "time agent"]) -> Int[Tensor, " agent"]:
    """Index of the last time at which an agent's outcome was observed, -1 for never."""
    times = torch.arange(len(mask), device=mask.device).unsqueeze(1)
    return torch.where(mask, times, -1).amax(0)
