r"""What every peer sees: standardised features, outcomes known so far and groups, at every time up to the origin.

The evidence is that of SphUnc. Per agent and time

.. math:: \big[\tilde x,\; m,\; \bar x,\; \mathbf 1_y,\; \bar y,\; n_y / (n_y + 1)\big]

with standardised features :math:`\tilde x` (0 where not observed) and their mask m, the mean :math:`\bar x` of the
agent's features so far, the outcome now, the shares :math:`\bar y` of the outcomes so far, and how many there were.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.hypergraph.buckets import Buckets, group_over_time


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and deviation of each feature ``[F]``, from the times that were learned from."""

    mean: Tensor
    deviation: Tensor

    def apply(self, x: Tensor, mask: Tensor) -> Float[Tensor, "time agent feature"]:
        """Return standardised features, 0 (the mean) where not observed."""
        return torch.where(mask, (x - self.mean) / self.deviation, 0.0)


@dataclass(frozen=True, eq=False)
class Panel:
    """Inputs of T times; a group joins agents at its own time only.

    Attributes:
        inputs: all evidence per agent and time ``[T, N, P]``.
        features: the standardised features alone ``[T, N, F]``.
        present: True where an agent was seen ``[T, N]``.
        groups: groups of two or more of all times, agent i at time t being node ``t * N + i``; read ``groups.node``,
            ``groups.hyperedge`` (one entry per membership) or ``groups.rectangles()``.
        group_time: time of each group ``[M]``.
        agents: ids ``[N]``.
    """

    inputs: Tensor
    features: Tensor
    present: Bool[Tensor, "time agent"]
    groups: Buckets
    group_time: Int[Tensor, " edge"]
    agents: tuple

    @property
    def num_times(self) -> int:
        """T."""
        return self.inputs.shape[0]

    @property
    def num_agents(self) -> int:
        """N."""
        return self.inputs.shape[1]

    @property
    def num_inputs(self) -> int:
        """P."""
        return self.inputs.shape[2]

    @property
    def flat(self) -> Float[Tensor, "node input"]:
        """Inputs by node ``[T * N, P]``, the axis that ``groups`` speaks of."""
        return self.inputs.flatten(0, 1)


def learn_scale(data: TemporalHypergraph, stop: int) -> Scale:
    """Learn mean and deviation of each feature from the times before ``stop``; constant features keep deviation 1."""
    x, mask = data.x[:stop].double(), data.x_mask[:stop]
    count = mask.sum((0, 1)).clamp(min=1)
    mean = torch.where(mask, x, 0.0).sum((0, 1)) / count
    variance = torch.where(mask, (x - mean).square(), 0.0).sum((0, 1)) / count
    deviation = torch.where(variance > 0, variance, 1.0).sqrt()
    return Scale(mean.to(data.x.dtype), deviation.to(data.x.dtype))


def inputs_of(num_features: int, num_classes: int) -> int:
    """P, the inputs per agent and time: three per feature, two per class, and the number of outcomes seen."""
    return 3 * num_features + 2 * num_classes + 1


def make_panel(data: TemporalHypergraph, scale: Scale, num_classes: int) -> Panel:
    """Lay out all that may be seen in ``data``; cut the data with ``until`` or ``window`` first."""
    if data.y is not None and data.y.ndim > 2:
        raise DataError("data has numbers as outcomes, but the peers forecast classes; bin the outcomes, or use SphUnc")
    features = scale.apply(data.x, data.x_mask)
    mask = data.x_mask.to(features.dtype)
    y = torch.zeros(data.y_mask.shape, dtype=torch.long, device=data.device) if data.y is None else data.y
    now = torch.nn.functional.one_hot(y, num_classes).to(features.dtype) * data.y_mask.unsqueeze(-1)
    seen = data.y_mask.to(features.dtype).cumsum(0).unsqueeze(-1)
    past = now.cumsum(0) / seen.clamp(min=1.0)
    average = features.cumsum(0) / mask.cumsum(0).clamp(min=1.0)
    inputs = torch.cat([features, mask, average, now, past, seen / (seen + 1.0)], -1)
    return Panel(inputs, features, data.present, group_over_time(data), data.hyperedge_time, data.node_ids)
