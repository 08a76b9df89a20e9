r"""Does influence differ between the first and the second half of the times?

What every agent receives over the links of a graph, :math:`r^i_t = \sum_j p_{ij} \beta_{ij} h^j_{t-l}`, is given one
coefficient per half in a regression of the agents' states, beside their own past and means:

.. math:: h^i_t = a h^i_{t-1} + c\,\bar h^i_{t-1} + b_1 r^i_t [t \le T/2] + b_2 r^i_t [t > T/2] + u_i + e_t

The links were estimated on both halves alike, so that :math:`b_1 = b_2` if influence is constant. Errors are clustered
by agent.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy import stats
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.discovery.graph import InfluenceGraph
from sphunc.discovery.regression.design import Rows, target_rows
from sphunc.discovery.regression.panel import Panel, build_panel
from sphunc.hypergraph import TemporalHypergraph

FEWEST_TARGETS = 5
"""Agents with received influence that a clustered error needs."""
FEWEST_TIMES = 5
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class InfluenceStability:
    """Coefficients of received influence in both halves, and the test that they are equal.

    Attributes:
        first: b_1; near 1 where the graph describes the first half.
        second: b_2.
        standard_error: of their difference; NaN where there is nothing to compare.
        p_value: chance of such a difference if influence is constant; NaN where there is nothing to compare.
        agents: number of agents that receive influence.
    """

    first: float
    second: float
    standard_error: float
    p_value: float
    agents: int

    @property
    def reading(self) -> str:
        """How to read the test, in one sentence."""
        if not self.p_value >= 0:
            return "no comparison: the graph has too few links, or the panel too few times in each half"
        sizes = f"{self.first:.2f} in the first half, {self.second:.2f} in the second (1 is the graph's own)"
        if self.p_value < SIGNIFICANT:
            return f"influence differs between the halves: {sizes}, p = {self.p_value:.3f}; the graph is an average"
        return f"no sign that influence changed: {sizes}, p = {self.p_value:.2f}"


def influence_stability(
    graph: InfluenceGraph,
    latents: Float[Tensor, "time agent dim"],
    data: TemporalHypergraph | None = None,
    *,
    mask: Bool[Tensor, "time agent"] | None = None,
    replicates: bool = False,
) -> InfluenceStability:
    """Test whether the influence of a graph is the same in both halves of the times.

    Args:
        graph: result of :func:`sphunc.discover` on the same states.
        latents: states ``[T, N, D]``.
        data: groups, as given to ``discover``.
        mask: ``[T, N]`` True where an agent was observed; default ``data.present`` or everywhere.
        replicates: the last axis holds repetitions of scalar series.
    """
    present = mask
    if present is None:
        present = torch.ones(latents.shape[:2], dtype=torch.bool, device=latents.device)
        if data is not None:
            present = data.present.to(latents.device)
    latents = torch.where(present.unsqueeze(-1), latents.double(), 0.0)
    panel = build_panel(latents, present, graph.links, data, replicates=replicates)
    shown = graph.is_informative().nonzero().flatten()
    targets = torch.unique(graph.links[1, shown])
    if len(targets) < FEWEST_TARGETS or latents.shape[0] < FEWEST_TIMES:
        return InfluenceStability(torch.nan, torch.nan, torch.nan, torch.nan, len(targets))
    rows = target_rows(panel, targets, int(graph.lag[shown].max()))
    received = _received(panel, graph, shown, targets, rows)
    is_late = rows.times >= (latents.shape[0] + int(rows.times[0])) / 2
    late = is_late.to(received)[None, :, None]
    lagged = torch.cat([rows.nuisance[:, : rows.own_lags], rows.nuisance[:, -1:]], 1)
    halves = torch.stack([received * (1 - late), received * late], 1)
    columns = _without_agent_means(torch.cat([lagged, halves, rows.outcome.unsqueeze(1)], 1), rows.weight)
    return _test(columns.flatten(2), len(targets))


def _received(panel: Panel, graph: InfluenceGraph, shown: Tensor, targets: Tensor, rows: Rows) -> Tensor:
    """Sum over links of coefficient times the source's state at the link's lag ``[B, n, D]``."""
    place = torch.full((panel.shape[0],), -1, dtype=torch.long, device=targets.device)
    place[targets] = torch.arange(len(targets), device=targets.device)
    total = torch.zeros_like(rows.outcome)
    for lag in graph.lag[shown].unique().tolist():
        links = shown[graph.lag[shown] == lag]
        states = panel.values[graph.links[0, links]][:, rows.times - lag]
        sent = states * graph.coefficient[links].to(states)[:, None, None]
        total.index_add_(0, place[graph.links[1, links]], sent)
    return total * rows.weight.unsqueeze(-1)


def _without_agent_means(columns: Tensor, weight: Tensor) -> Tensor:
    count = weight.sum(1).clamp(min=1)[:, None, None, None]
    means = columns.sum(2, keepdim=True) / count
    return (columns - means) * weight[:, None, :, None]


def _test(columns: Float[Tensor, "agent column row"], agents: int) -> InfluenceStability:
    """Least squares with errors clustered by agent; the last two columns before the outcome are the halves."""
    design = columns[:, :-1]
    outcome = columns[:, -1]
    normal = (design @ design.mT).sum(0)
    inverse = torch.linalg.pinv(normal, hermitian=True)
    theta = inverse @ (design @ outcome.unsqueeze(-1)).sum(0).squeeze(-1)
    residual = outcome - torch.einsum("acr,c->ar", design, theta)
    score = (design @ residual.unsqueeze(-1)).squeeze(-1)
    covariance = inverse @ (score.T @ score) @ inverse * agents / (agents - 1)
    variance = covariance[-1, -1] + covariance[-2, -2] - 2 * covariance[-1, -2]
    error = float(variance.clamp(min=0).sqrt())
    gap = float(theta[-1] - theta[-2])
    p_value = torch.nan
    if error > 0:
        p_value = float(2 * stats.t.sf(abs(gap) / error, agents - 1))
    return InfluenceStability(float(theta[-2]), float(theta[-1]), error, p_value, agents)
