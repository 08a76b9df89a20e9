"""Features so far from those that training saw that no network could compute with them, refused by name."""

from __future__ import annotations

from sphunc._typing import Float, Tensor
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.nn.encoder import standardise

FARTHEST = 1e12
"""Standard deviations from the mean of the training times: sums of squares, and of squares of these, stay finite."""


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
