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
from sphunc.discovery.checks.received import panel_of, received_influence
from sphunc.discovery.graph import InfluenceGraph
from sphunc.discovery.regression.panel import Panel
from sphunc.hypergraph import TemporalHypergraph

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

    def figures(self) -> dict[str, float]:
        """Entries of ``InfluenceGraph.diagnostics``."""
        return {"first_half": self.first, "second_half": self.second, "halves_p_value": self.p_value}


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
    return stability_on_panel(graph, panel_of(graph, latents, data, mask, replicates=replicates))


def stability_on_panel(graph: InfluenceGraph, panel: Panel) -> InfluenceStability:
    """Test whether the influence of a graph is the same in both halves of a panel.

    Args:
        graph: links.
        panel: states.
    """
    received = received_influence(graph, panel)
    if received is None:
        return InfluenceStability(torch.nan, torch.nan, torch.nan, torch.nan, 0)
    total = received.sum_over_sources(panel.values)
    times = received.rows.times
    late = (times >= (panel.shape[1] + int(times[0])) / 2).to(total)[None, :, None]
    theta, covariance = received.regress([total * (1 - late), total * late])
    return stability_of(theta, covariance, len(received.targets))


def stability_of(
    theta: Float[Tensor, " half"], covariance: Float[Tensor, "half half"], agents: int
) -> InfluenceStability:
    """Compare the coefficients of both halves.

    Args:
        theta: coefficients of the first and the second half.
        covariance: of both.
        agents: number of agents that receive influence.
    """
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    error = float(variance.clamp(min=0).sqrt())
    gap = float(theta[1] - theta[0])
    p_value = torch.nan
    if error > 0:
        p_value = float(2 * stats.t.sf(abs(gap) / error, agents - 1))
    return InfluenceStability(float(theta[0]), float(theta[1]), error, p_value, agents)
