"""Features far from those that training saw: refused where no network could compute with them, else set aside.

A value far out makes a long vector, and length counts as evidence: forecasts would become surer by a unit mistaken.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.nn.encoder import standardise

FARTHEST = 1e12
"""Standard deviations from the mean of the training times: sums of squares, and of squares of these, stay finite."""
UNLIKE = 20.0
"""Standard deviations: at most one training value in 400 lies beyond, whatever the law of the feature (Chebyshev)."""
UNSEEN = 1000.0
"""Standard deviations: of n training values none lies beyond the root of n, so that this takes a million of them."""
REMEDY = "Give them in the unit that fit saw, leave their cells empty, or fit again with data like these"
FEWEST_AGENTS = 5
"""Agents that tell a feature in another unit from one agent who is far out for good."""


def check_extremes(
    data: TemporalHypergraph, mean: Float[Tensor, " feature"], deviation: Float[Tensor, " feature"]
) -> None:
    """Refuse features that are not finite once standardised, or farther out than any unit explains.

    Args:
        data: features in the order of the statistics.
        mean: of each feature in the training times.
        deviation: of each feature there.
    """
    standard = standardise(data.x, data.x_mask, mean, deviation)
    far = ~(standard.abs() <= FARTHEST)
    if not bool(far.any()):
        return
    time, agent, feature = far.nonzero()[0].tolist()
    raise DataError(
        f"feature {data.feature_names[feature]!r} of agent {data.node_ids[agent]!r} at time {data.times[time]!r} is "
        f"{float(data.x[time, agent, feature]):g}, but training saw mean {float(mean[feature]):g} and deviation "
        f"{float(deviation[feature]):g} ({int(far.sum())} such values); features up to {FARTHEST:g} deviations from "
        "the mean are taken: correct the value, leave its cell empty, or give the feature in another unit"
    )


def set_aside(
    data: TemporalHypergraph, mean: Float[Tensor, " feature"], deviation: Float[Tensor, " feature"]
) -> TemporalHypergraph:
    """Take values that training saw nothing like as not observed, and warn of them by the name of the feature.

    All values of a feature at a time, or at all times, where most of them, from five agents or more, lie more than 20
    deviations from the mean of the training times; and any value more than 1000 of them away. Other data is returned
    as it is. Data of which nothing would be left is refused: forecasts without any feature are surer than they may be.

    Args:
        data: features in the order of the statistics.
        mean: of each feature in the training times.
        deviation: of each feature there.
    """
    distance = standardise(data.x, data.x_mask, mean, deviation).abs()
    in_another_unit = _in_another_unit(distance, data.x_mask)
    unlike = data.x_mask & ((distance > UNSEEN) | in_another_unit.unsqueeze(1))
    if not bool(unlike.any()):
        return data
    faults = [
        _described(data.feature_names[k], data.x[..., k][unlike[..., k]], float(mean[k]), float(deviation[k]))
        for k in unlike.any(0).any(0).nonzero().flatten().tolist()
    ]
    shown = "; ".join(faults[:3]) + (f"; and {len(faults) - 3} more such features" if len(faults) > 3 else "")
    if torch.equal(unlike, data.x_mask):
        raise DataError(f"training saw no features like those of the data: {shown}. {REMEDY}")
    warnings.warn(
        f"training saw nothing like some values, which count as not observed: {shown}. {REMEDY}",
        UserWarning,
        stacklevel=4,
    )
    return replace(data, x=torch.where(unlike, 0.0, data.x), x_mask=data.x_mask & ~unlike)


def _in_another_unit(distance: Tensor, mask: Tensor) -> Bool[Tensor, "time feature"]:
    """Whether the median distance of a feature's values, at a time or at all, is beyond what is likely.

    Five agents tell a unit from few who are far out for good.
    """
    far = distance > UNLIKE
    everywhere = (2 * far.sum((0, 1)) > mask.sum((0, 1))) & (mask.any(0).sum(0) >= FEWEST_AGENTS)
    at_a_time = (2 * far.sum(1) > mask.sum(1)) & (mask.sum(1) >= FEWEST_AGENTS)
    return at_a_time | everywhere


def _described(name: str, values: Float[Tensor, " value"], mean: float, deviation: float) -> str:
    """How many values of a feature are set aside, and how far out they lie in the median."""
    distance = ((values.double() - mean) / deviation).abs().median()
    return (
        f"feature {name!r}: {len(values)} value{'s' * (len(values) != 1)}, such as {float(values[0]):g}, in the median "
        f"{float(distance):.3g} deviations from the mean of training (mean {mean:g}, deviation {deviation:g})"
    )
