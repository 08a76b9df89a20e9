r"""Do agents follow the shocks of their sources? Natural experiments in place of interventions.

The shock of a source is what its own past does not explain, :math:`\epsilon^j_t = h^j_t - a h^j_{t-1} - u_j`. It is as
near to an intervention as observed data come. What an agent receives over the links of a graph is split into shocks
and the rest, and gets one coefficient each, beside the agent's own past and mean:

.. math:: h^i_t = a h^i_{t-1} + b \sum_j p_{ij}\beta_{ij} \epsilon^j_{t-l}
          + b' \sum_j p_{ij}\beta_{ij} (h^j_{t-l} - \epsilon^j_{t-l})
          + b_0 \sum_j p_{ij}\beta_{ij} \epsilon^j_{t} + u_i + e_t

Under influence b is near 1: shocks are followed as the links say. Where links stand for slow causes that agents share,
shocks are not followed and b is near 0. The shock of the same time comes too late to have acted: :math:`b_0` is near 0
unless agents are shocked together. Errors are clustered by agent (Jorda 2005 on responses to shocks).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.discovery.checks.received import panel_of, received_influence
from sphunc.discovery.graph import InfluenceGraph
from sphunc.discovery.regression.panel import Panel
from sphunc.hypergraph import TemporalHypergraph

CLEAR = 2.0
"""Standard errors that count as a difference."""
FOLLOWED = 0.5
"""Response below which shocks count as not followed."""


@dataclass(frozen=True)
class ShockResponse:
    """How far agents follow the shocks of their sources, in units of what the links say.

    Attributes:
        following: b; near 1 under influence.
        following_error: its standard error; NaN where there is nothing to compare.
        same_time: b_0; near 0 unless agents are shocked together.
        same_time_error: its standard error.
        agents: number of agents that receive influence.
    """

    following: float
    following_error: float
    same_time: float
    same_time_error: float
    agents: int

    @property
    def reading(self) -> str:
        """How to read the check, in one sentence."""
        if not self.following_error > 0:
            return "no comparison: the graph has too few links, or the panel too few times"
        sizes = f"{self.following:.2f} +- {self.following_error:.2f} of what the links say"
        if self.is_shared:
            shared = f"{self.same_time:.2f} +- {self.same_time_error:.2f}"
            return f"agents move with their sources at the same time ({shared}): shared shocks may pass for influence"
        if not self.is_followed:
            return f"shocks of sources are not followed ({sizes}): shared slow causes may pass for influence"
        return f"shocks of sources are followed ({sizes}), and not anticipated"

    @property
    def is_followed(self) -> bool:
        """False where the response is clearly below half of what the links say."""
        return not self.following + CLEAR * self.following_error < FOLLOWED

    @property
    def is_shared(self) -> bool:
        """True where agents clearly move at the same time as their sources, by at least half of the response."""
        is_clear = abs(self.same_time) > CLEAR * self.same_time_error
        return is_clear and abs(self.same_time) > FOLLOWED * abs(self.following)

    def figures(self) -> dict[str, float]:
        """Entries of ``InfluenceGraph.diagnostics``."""
        return {
            "shock_response": self.following,
            "shock_response_error": self.following_error,
            "same_time_response": self.same_time,
            "same_time_error": self.same_time_error,
        }


def shock_response(
    graph: InfluenceGraph,
    latents: Float[Tensor, "time agent dim"],
    data: TemporalHypergraph | None = None,
    *,
    mask: Bool[Tensor, "time agent"] | None = None,
    replicates: bool = False,
) -> ShockResponse:
    """Regress agents on the shocks of their sources.

    Args:
        graph: result of :func:`sphunc.discover` on the same states.
        latents: states ``[T, N, D]``.
        data: groups, as given to ``discover``.
        mask: ``[T, N]`` True where an agent was observed; default ``data.present`` or everywhere.
        replicates: the last axis holds repetitions of scalar series.
    """
    return response_on_panel(graph, panel_of(graph, latents, data, mask, replicates=replicates))


def response_on_panel(graph: InfluenceGraph, panel: Panel) -> ShockResponse:
    """Regress the agents of a panel on the shocks of their sources.

    Args:
        graph: links.
        panel: states.
    """
    received = received_influence(graph, panel)
    if received is None:
        return ShockResponse(torch.nan, torch.nan, torch.nan, torch.nan, 0)
    shocks = own_shocks(panel)
    followed = received.sum_over_sources(shocks)
    rest = received.sum_over_sources(panel.values) - followed
    same_time = received.sum_over_sources(shocks, int(graph.lag[received.links].max()))
    # A shock needs two times: sources are read from the second time on.
    is_late = received.rows.times > received.rows.times[0]
    theta, covariance = received.regress([followed, same_time, rest], is_late)
    return response_of(theta, covariance, len(received.targets))


def response_of(
    theta: Float[Tensor, " column"], covariance: Float[Tensor, "column column"], agents: int
) -> ShockResponse:
    """Read the first two coefficients, of shocks at the lag of the links and at the same time.

    Args:
        theta: coefficients.
        covariance: of them.
        agents: number of agents that receive influence.
    """
    error = covariance.diagonal().clamp(min=0).sqrt()
    return ShockResponse(float(theta[0]), float(error[0]), float(theta[1]), float(error[1]), agents)


def own_shocks(panel: Panel) -> Float[Tensor, "agent time dim"]:
    """States less what one pooled regression on the agent's last state and mean explains; 0 at the first time.

    Args:
        panel: states.
    """
    both = (panel.present[:, 1:] & panel.present[:, :-1]).unsqueeze(-1).to(panel.values)
    count = both.sum(1, keepdim=True).clamp(min=1)
    after = (panel.values[:, 1:] - (panel.values[:, 1:] * both).sum(1, keepdim=True) / count) * both
    before = (panel.values[:, :-1] - (panel.values[:, :-1] * both).sum(1, keepdim=True) / count) * both
    slope = (after * before).sum() / before.square().sum().clamp(min=torch.finfo(before.dtype).tiny)
    return torch.cat([torch.zeros_like(panel.values[:, :1]), after - slope * before], 1)
