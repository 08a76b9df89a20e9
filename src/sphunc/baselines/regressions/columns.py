r"""Covariates of a regression: a row per agent and time, known at that time.

Beside the inputs that all baselines share, a row holds the last three outcomes that were observed of
the agent (one-hot) and the age of the last one, the means over co-members of features and of last
outcomes, and how many groups and co-members there were:

.. math::
    m_{i,t} = \frac{1}{|E_{i,t}|} \sum_{e \in E_{i,t}} \frac{1}{|e| - 1} \sum_{j \in e, j \ne i} v_{j,t}

A mean is over what was observed, and 0 (the mean of a standardised feature) where nothing was; a
column says so.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float
from sphunc.baselines.panel import Panel, per_panel
from sphunc.hypergraph import Buckets

LAGS = 3
"""Outcomes of an agent that a row holds."""
Columns = Float[torch.Tensor, "time agent column"]


def count_columns(num_features: int, num_classes: int) -> int:
    """Q: the shared inputs, lags and age, means of features, their mask, and of outcomes, and three counts.

    Args:
        num_features: F.
        num_classes: C.
    """
    shared = 3 * num_features + 2 * num_classes + 1
    own = (LAGS - 1) * num_classes + num_classes + 1
    return shared + own + 2 * num_features + num_classes + 3


@per_panel
def covariate_columns(panel: Panel) -> Columns:
    """Lay out the rows of all times of a panel ``[T, N, Q]``."""
    F = panel.features.shape[-1]
    C = (panel.num_inputs - 3 * F - 1) // 2
    observed = panel.inputs[..., F : 2 * F]
    outcome = panel.inputs[..., 3 * F : 3 * F + C]
    lags, age = lagged_outcomes(outcome)
    last = lags[..., :C]
    seen = last.sum(-1, keepdim=True)
    values = torch.cat([panel.features, last], -1).flatten(0, 1)
    known = torch.cat([observed, seen.expand_as(last)], -1).flatten(0, 1)
    means, weight = comember_means(values, known, panel.groups)
    counts = meeting_counts(panel.groups, known[:, :0].new_zeros(len(values)))
    shape = panel.inputs.shape[:2]
    met = torch.cat([means, weight[:, :F], weight[:, -1:], counts], -1).view(*shape, -1)
    return torch.cat([panel.inputs, lags, age, met], -1)


def lagged_outcomes(
    outcome: Float[torch.Tensor, "time agent class"],
) -> tuple[Float[torch.Tensor, "time agent lag"], Float[torch.Tensor, "time agent 1"]]:
    """Last three outcomes that were observed up to each time, and the age of the last one.

    Args:
        outcome: one-hot; a row of zeros where none was observed.

    Returns:
        The outcomes side by side, the last one first, and ``a / (a + 1)`` of the age a (1 if never).
    """
    times, agents, classes = outcome.shape
    lag = outcome.new_zeros(LAGS, agents, classes)
    age = outcome.new_full((agents, 1), torch.inf)
    lags = []
    ages = []
    for time in range(times):
        is_new = outcome[time].sum(-1, keepdim=True) > 0
        shifted = torch.cat([outcome[time : time + 1], lag[:-1]])
        lag = torch.where(is_new, shifted, lag)
        age = torch.where(is_new, 0.0, age + 1.0)
        lags.append(lag.transpose(0, 1).flatten(1))
        ages.append(1.0 - 1.0 / (age + 1.0))
    return torch.stack(lags), torch.stack(ages)


def comember_means(
    values: Float[torch.Tensor, "node value"], known: Float[torch.Tensor, "node value"], groups: Buckets
) -> tuple[Float[torch.Tensor, "node value"], Float[torch.Tensor, "node value"]]:
    """Mean over the other members of a group, then over an agent's groups; and the share of groups that had one.

    Args:
        values: of every agent at every time; 0 where unknown.
        known: 1 where known, else 0.
        groups: groups of two or more.
    """
    node = groups.node
    edge = groups.hyperedge
    both = torch.cat([values * known, known], -1)
    total = both.new_zeros(groups.num_hyperedges, both.shape[1]).index_add(0, edge, both[node])
    others = total[edge] - both[node]
    sums, counts = others.chunk(2, -1)
    usable = (counts > 0.5).to(both.dtype)
    inside = usable * sums / counts.clamp(min=1.0)
    per_node = torch.zeros_like(both).index_add(0, node, torch.cat([inside, usable], -1))
    mean_sum, groups_with = per_node.chunk(2, -1)
    meetings = torch.bincount(node, minlength=len(values)).clamp(min=1).unsqueeze(-1)
    return mean_sum / groups_with.clamp(min=1.0), groups_with / meetings


def meeting_counts(groups: Buckets, zeros: Float[torch.Tensor, " node"]) -> Float[torch.Tensor, "node 2"]:
    """Logarithms of one plus the groups of an agent, and of one plus its co-members.

    Args:
        groups: groups of two or more.
        zeros: gives the number of nodes, device and type.
    """
    ones = torch.ones_like(groups.node, dtype=zeros.dtype)
    size = zeros.new_zeros(groups.num_hyperedges).index_add(0, groups.hyperedge, ones)
    meetings = zeros.index_add(0, groups.node, ones)
    others = zeros.index_add(0, groups.node, size[groups.hyperedge] - 1.0)
    return torch.stack([meetings, others], -1).log1p()
