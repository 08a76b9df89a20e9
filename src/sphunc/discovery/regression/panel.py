"""What the regressions read: standardised states and neighbourhood means of all agents, agent axis first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Links
from sphunc.discovery.regression.covariance import (
    effective_dimension,
    inverse_root,
    ledoit_wolf,
    own_lag_residuals,
)
from sphunc.hypergraph import TemporalHypergraph

FEWEST_FOR_TIME_MEANS = 20
"""With fewer agents the mean over agents at a time is mostly the agent itself, and stays in."""


@dataclass(frozen=True, eq=False)
class Panel:
    """States of N agents at T times, ready for regression.

    Attributes:
        values: ``[N, T, D]`` standardised states, 0 where an agent was not observed.
        present: ``[N, T]`` False where an agent was not observed.
        neighbourhood: ``[N, T, D]`` mean state of an agent's co-members, or of its candidates.
        silent: ``[N]`` True for agents that never change.
        effective: independent coordinates that the D are worth.
        has_groups: whether neighbourhoods are groups that meet; else only their first state is used.
    """

    values: Tensor
    present: Tensor
    neighbourhood: Tensor
    silent: Tensor
    effective: float
    has_groups: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, T, D."""
        agents, times, dim = self.values.shape
        return agents, times, dim

    def reversed(self) -> Panel:
        """The same panel with time running backwards."""
        return replace(
            self,
            values=self.values.flip(1),
            present=self.present.flip(1),
            neighbourhood=self.neighbourhood.flip(1),
        )

    def between(self, start: int, stop: int) -> Panel:
        """The times ``start`` up to ``stop``, which is left out.

        Args:
            start: first time index.
            stop: index after the last one.
        """
        return replace(
            self,
            values=self.values[:, start:stop],
            present=self.present[:, start:stop],
            neighbourhood=self.neighbourhood[:, start:stop],
        )


def build_panel(
    latents: Float[Tensor, "time agent dim"],
    present: Bool[Tensor, "time agent"],
    links: Links,
    data: TemporalHypergraph | None,
    *,
    replicates: bool,
) -> Panel:
    """Standardise states, take out what all agents share at a time, and average over neighbourhoods.

    Args:
        latents: states, or scalar series with their replicates.
        present: where an agent was observed.
        links: candidate links; without data they define the neighbourhoods.
        data: groups, or None.
        replicates: the last axis holds repetitions of scalar series.
    """
    values = latents.transpose(0, 1).contiguous()
    observed = present.T
    silent = never_changes(values, observed)
    is_scalar = replicates or values.shape[2] == 1
    if is_scalar:
        values = _scale_each_agent(values, observed)
    values = _without_time_means(values, observed, silent)
    effective = float(values.shape[2])
    if not is_scalar:
        values, effective = _whiten(values, observed, silent)
    values = values * observed.unsqueeze(-1).to(values.dtype)
    if data is None:
        neighbourhood = candidate_mean(values, observed, links)
    else:
        neighbourhood = group_mean(values, observed, data)
    return Panel(values, observed, neighbourhood, silent, effective, data is not None)


def never_changes(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"]
) -> Bool[Tensor, " agent"]:
    """True for agents whose observed states are all the same, up to rounding.

    Args:
        values: states.
        present: where an agent was observed.
    """
    observed = present.unsqueeze(-1)
    low = torch.where(observed, values, torch.inf).amin(1)
    high = torch.where(observed, values, -torch.inf).amax(1)
    size = torch.where(observed, values.abs(), 0.0).amax((1, 2)).unsqueeze(-1)
    return (high - low <= 8 * torch.finfo(values.dtype).eps * size).all(-1)


def _scale_each_agent(values: Tensor, present: Tensor) -> Tensor:
    """Centre every series; divide by its standard deviation, shrunk as far as sampling error asks.

    Log variances are normal around a common mean, with the sampling variance psi'(d/2) of d degrees of freedom.
    """
    weight = present.unsqueeze(-1).to(values.dtype)
    rows = weight.sum(1, keepdim=True).clamp(min=1)
    values = (values - (values * weight).sum(1, keepdim=True) / rows) * weight
    squares = values.square().sum((1, 2))
    degrees = ((rows[:, 0, 0] - 1).clamp(min=1) * values.shape[2]).double()
    changing = squares > 0
    if not bool(changing.any()):
        return values
    log_variance = torch.log(squares[changing].double() / degrees[changing])
    sampling = torch.special.polygamma(1, degrees[changing] / 2)
    centre = log_variance.mean()
    between = ((log_variance - centre).square().mean() - sampling.mean()).clamp(min=0)
    shrunk = centre + between / (between + sampling) * (log_variance - centre)
    scale = torch.ones_like(squares)
    scale[changing] = (0.5 * shrunk).exp().to(scale)
    return values / scale[:, None, None]


def _without_time_means(values: Tensor, present: Tensor, silent: Tensor) -> Tensor:
    """Take out the mean over agents at each time, or over everything where agents are few."""
    weight = (present & ~silent[:, None]).unsqueeze(-1).to(values.dtype)
    agents = weight.sum(0, keepdim=True)
    overall = (values * weight).sum((0, 1), keepdim=True) / weight.sum().clamp(min=1)
    if int((~silent).sum()) < FEWEST_FOR_TIME_MEANS:
        return values - overall
    means = (values * weight).sum(0, keepdim=True) / agents.clamp(min=1)
    return values - torch.where(agents > 0, means, overall)


def _whiten(values: Tensor, present: Tensor, silent: Tensor) -> tuple[Tensor, float]:
    residuals = own_lag_residuals(values[~silent], present[~silent])
    rows = (present[:, 1:] & present[:, :-1])[~silent].sum(1)
    degrees = float((rows - 1).clamp(min=0).sum().clamp(min=1))
    if len(residuals) < 2 or not float(residuals.square().sum()) > 0:
        return values, 1.0
    covariance, _ = ledoit_wolf(residuals, degrees)
    root = inverse_root(covariance)
    return values @ root, effective_dimension(residuals @ root, degrees)


def candidate_mean(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"], links: Links
) -> Float[Tensor, "agent time dim"]:
    """Mean state of the candidates of each agent; zero where none was observed.

    Args:
        values: states, 0 where not observed.
        present: where an agent was observed.
        links: candidate links, source and target.
    """
    total = torch.zeros_like(values)
    count = torch.zeros(present.shape, dtype=values.dtype, device=values.device)
    step = max(1, 20_000_000 // max(values[0].numel(), 1))
    for start in range(0, links.shape[1], step):
        source = links[0, start : start + step]
        target = links[1, start : start + step]
        total.index_add_(0, target, values[source])
        count.index_add_(0, target, present[source].to(values.dtype))
    return total / count.clamp(min=1).unsqueeze(-1)


def group_mean(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"], data: TemporalHypergraph
) -> Float[Tensor, "agent time dim"]:
    """Mean state of the other members, averaged over the groups in which an agent meets at each time.

    Agents that meet nobody at a time have the mean of nothing: zero.

    Args:
        values: states, 0 where not observed.
        present: where an agent was observed.
        data: groups and their times.
    """
    index = data.hyperedge_index.to(values.device)
    time_of_membership = data.hyperedge_time.to(values.device)[index[1]]
    means = torch.zeros_like(values)
    for time in range(values.shape[1]):
        agent, group = index[:, time_of_membership == time]
        observed = present[agent, time]
        agent = agent[observed]
        if not agent.numel():
            continue
        _, group = torch.unique(group[observed], return_inverse=True)
        size = torch.bincount(group).to(values.dtype)
        states = values[:, time]
        total = states.new_zeros(len(size), states.shape[1]).index_add_(0, group, states[agent])
        others = (total[group] - states[agent]) / (size[group] - 1).clamp(min=1).unsqueeze(-1)
        met = (size[group] > 1).to(values.dtype)
        count = torch.zeros_like(states[:, 0]).index_add_(0, agent, met)
        summed = torch.zeros_like(states).index_add_(0, agent, others * met.unsqueeze(-1))
        means[:, time] = summed / count.clamp(min=1).unsqueeze(-1)
    return means
