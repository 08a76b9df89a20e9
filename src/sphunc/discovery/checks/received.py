"""What agents receive over the links of a graph, as columns of one regression of all agents."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int
from sphunc.discovery.checks.clustered import clustered_least_squares
from sphunc.discovery.graph import InfluenceGraph
from sphunc.discovery.regression.design import Rows, target_rows
from sphunc.discovery.regression.panel import Panel, build_panel
from sphunc.hypergraph import TemporalHypergraph

FEWEST_TARGETS = 5
"""Agents that receive influence which a clustered error needs."""
FEWEST_TIMES = 5


@dataclass(frozen=True, eq=False)
class Received:
    """Agents with links that the data speak for, and their regression on their own past.

    Attributes:
        panel: states.
        graph: links.
        links: which of them are used.
        targets: agents that receive influence.
        rows: outcome and nuisance of the targets.
    """

    panel: Panel
    graph: InfluenceGraph
    links: Int[Tensor, " link"]
    targets: Int[Tensor, " target"]
    rows: Rows

    def sum_over_sources(
        self, states: Float[Tensor, "agent time dim"], delay: int = 0
    ) -> Float[Tensor, "target row dim"]:
        r"""Sum over the links of :math:`p_{ij} \beta_{ij}` times the source's state at the link's lag.

        Args:
            states: of all agents.
            delay: times by which the sources are read later than the lag says, at most until the same time.
        """
        place = torch.full((self.panel.shape[0],), -1, dtype=torch.long, device=self.targets.device)
        place[self.targets] = torch.arange(len(self.targets), device=self.targets.device)
        total = torch.zeros_like(self.rows.outcome)
        lags = self.graph.lag[self.links]
        for lag in lags.unique().tolist():
            links = self.links[lags == lag]
            when = self.rows.times - max(lag - delay, 0)
            sent = states[self.graph.links[0, links]][:, when]
            sent = sent * self.graph.coefficient[links].to(sent)[:, None, None]
            total.index_add_(0, place[self.graph.links[1, links]], sent)
        return total * self.rows.weight.unsqueeze(-1)

    def regress(
        self, columns: list[Float[Tensor, "target row dim"]], rows: Bool[Tensor, " row"] | None = None
    ) -> tuple[Float[Tensor, " column"], Float[Tensor, "column column"]]:
        """Coefficients of some columns beside the agents' own past and means, and their covariance.

        Args:
            columns: regressors.
            rows: times that are used; all by default.
        """
        lagged = torch.cat([self.rows.nuisance[:, : self.rows.own_lags], self.rows.nuisance[:, -1:]], 1)
        stacked = torch.cat([lagged, torch.stack([*columns, self.rows.outcome], 1)], 1)
        weight = self.rows.weight
        if rows is not None:
            weight = weight * rows.to(weight)
        count = weight.sum(1).clamp(min=1)[:, None, None, None]
        used = weight[:, None, :, None]
        centred = (stacked - (stacked * used).sum(2, keepdim=True) / count) * used
        flat = centred.flatten(2)
        products = flat @ flat.mT
        theta, covariance = clustered_least_squares(products[:, :-1, :-1], products[:, :-1, -1])
        last = len(columns)
        return theta[-last:], covariance[-last:, -last:]


def received_influence(graph: InfluenceGraph, panel: Panel) -> Received | None:
    """Lay out the regression; None where too few agents receive influence, or times are too few.

    Args:
        graph: links between the agents of the panel.
        panel: states.
    """
    shown = graph.is_informative().nonzero().flatten()
    targets = torch.unique(graph.links[1, shown])
    if len(targets) < FEWEST_TARGETS or panel.shape[1] < FEWEST_TIMES:
        return None
    rows = target_rows(panel, targets, int(graph.lag[shown].max()))
    return Received(panel, graph, shown, targets, rows)


def panel_of(
    graph: InfluenceGraph,
    latents: Float[Tensor, "time agent dim"],
    data: TemporalHypergraph | None,
    mask: Bool[Tensor, "time agent"] | None,
    *,
    replicates: bool,
) -> Panel:
    """Panel on which a graph was discovered.

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
    return build_panel(latents, present, graph.links, data, replicates=replicates)
