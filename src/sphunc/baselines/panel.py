r"""Inputs of a baseline: standardised features, outcomes so far and groups, up to the origin.

A baseline reads the same data as SphUnc. Per agent and time its inputs are

.. math:: \big[\tilde x,\; m,\; \bar x,\; \mathbf 1_y,\; \bar y,\; n_y / (n_y + 1)\big]

with standardised features :math:`\tilde x` (0 where not observed) and their mask m, the mean
:math:`\bar x` of the agent's features so far, the outcome now, the shares :math:`\bar y` of the
outcomes so far, and how many there were.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.errors import DataError
from sphunc.hypergraph import Buckets, TemporalHypergraph, group_over_time
from sphunc.nn import feature_statistics, standardise

Statistics = tuple[Tensor, Tensor]
"""Mean and deviation of each feature ``[F]``."""
Derived = TypeVar("Derived")


@dataclass(frozen=True, eq=False)
class Panel:
    """Inputs of T times; a group joins agents at its own time only.

    Attributes:
        inputs: all inputs per agent and time ``[T, N, P]``.
        features: the standardised features alone ``[T, N, F]``.
        present: True where an agent was observed ``[T, N]``.
        groups: groups of two or more of all times, agent i at time t being node ``t * N + i``; read
            ``groups.node``, ``groups.hyperedge`` (one entry per membership) or
            ``groups.rectangles()``.
        agents: ids, N of them.
    """

    inputs: Tensor
    features: Tensor
    present: Bool[Tensor, "time agent"]
    groups: Buckets
    agents: tuple[Hashable, ...]

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
        """Inputs by node ``[T * N, P]``, the axis that ``groups`` refers to."""
        return self.inputs.flatten(0, 1)


def statistics_of(data: TemporalHypergraph, stop: int) -> Statistics:
    """Mean and deviation of each feature at the times before ``stop``; 1 if it is constant.

    Args:
        data: T times.
        stop: times ``0 ... stop - 1`` count.
    """
    if data.num_features == 0:
        return data.x.new_zeros(0), data.x.new_ones(0)
    return feature_statistics(data.x[:stop], data.x_mask[:stop])


def count_inputs(num_features: int, num_classes: int) -> int:
    """P: three inputs per feature, two per class, and the number of outcomes so far.

    Args:
        num_features: F.
        num_classes: C.
    """
    return 3 * num_features + 2 * num_classes + 1


def make_panel(data: TemporalHypergraph, statistics: Statistics, num_classes: int) -> Panel:
    """Lay out the inputs of all times of ``data``; cut the data with ``until`` or ``window`` first.

    Args:
        data: T times.
        statistics: to standardise features with.
        num_classes: C.
    """
    if data.y is not None and data.y.ndim > 2:
        raise DataError("data has numbers as outcomes, but baselines forecast classes; bin them, or use SphUnc")
    features = standardise(data.x, data.x_mask, *statistics)
    observed = data.x_mask.to(features.dtype)
    mean_so_far = features.cumsum(0) / observed.cumsum(0).clamp(min=1.0)
    outcome = features.new_zeros(*data.y_mask.shape, num_classes)
    if data.y is not None:
        outcome = torch.nn.functional.one_hot(data.y, num_classes).to(features.dtype)
    outcome = outcome * data.y_mask.unsqueeze(-1)
    count = data.y_mask.to(features.dtype).cumsum(0).unsqueeze(-1)
    shares = outcome.cumsum(0) / count.clamp(min=1.0)
    parts = [features, observed, mean_so_far, outcome, shares, count / (count + 1.0)]
    return Panel(torch.cat(parts, -1), features, data.present, group_over_time(data), data.node_ids)


def per_panel(derive: Callable[..., Derived]) -> Callable[..., Derived]:
    """Remember ``derive(panel, *settings)`` as long as the panel lives: its groups never change."""
    known: WeakKeyDictionary[Panel, dict[tuple[Hashable, ...], Derived]] = WeakKeyDictionary()

    @wraps(derive)
    def remembered(panel: Panel, *settings: Hashable) -> Derived:
        values = known.setdefault(panel, {})
        if settings not in values:
            values[settings] = derive(panel, *settings)
        return values[settings]

    return remembered
