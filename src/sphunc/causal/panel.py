"""What the regressions read: whitened states, messages and group pull of all agents, agent axis first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sphunc._typing import Bool, Float
from sphunc.causal.whitening import effective_dimension, inverse_root, ledoit_wolf, own_lag_residuals
from sphunc.hypergraph import TemporalHypergraph

UNIT_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Panel:
    """States of N agents at T times, ready for regression.

    Attributes:
        values: ``[N, T, D]`` centred and whitened states.
        messages: ``[N, T, D]`` what an agent sends; the states themselves unless a message map is given.
        present: ``[N, T]`` False where an agent was not seen.
        pull: ``[N, T, D]`` mean of the other members of the agent's groups, or None.
        intercept: whether each regression has a constant (scalar series do).
        effective: coordinates that the whitened D are worth; the likelihood counts that many.
        raw_effective: the same before whitening.
        shrinkage: share of shrinkage in the pooled covariance.
        root: ``[D, D]`` map that was applied to the centred states.
        centre: what was subtracted first: ``[1, 1, D]``, or ``[N, 1, 1]`` for scalar series.
        route: ``[D, D]`` messages are ``values @ route``; None is the identity.
        unit: whether the raw states are unit vectors.
        groups: the data that the pull was computed from, or None.
    """

    values: Tensor
    messages: Tensor
    present: Tensor
    pull: Tensor | None
    intercept: bool
    effective: float
    raw_effective: float
    shrinkage: float
    root: Tensor
    centre: Tensor
    route: Tensor | None = None
    unit: bool = False
    groups: TemporalHypergraph | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, T, D."""
        agents, times, dim = self.values.shape
        return agents, times, dim

    def reversed(self) -> Panel:
        """The same panel with time running backwards."""
        flipped = [None if x is None else x.flip(1) for x in (self.values, self.messages, self.present, self.pull)]
        return replace(self, values=flipped[0], messages=flipped[1], present=flipped[2], pull=flipped[3])


def vector_panel(
    latents: Float[Tensor, "time agent dim"],
    present: Bool[Tensor, "time agent"],
    data: TemporalHypergraph | None,
    *,
    whiten: bool = True,
    message_map: Float[Tensor, "dim dim"] | None = None,
) -> Panel:
    """Centre and whiten vector-valued states; one covariance serves all agents."""
    values = latents.transpose(0, 1).contiguous()
    seen = present.T
    weight = seen.unsqueeze(-1).to(values.dtype)
    centre = (values * weight).sum((0, 1), keepdim=True) / weight.sum()
    values = (values - centre) * weight
    residuals = own_lag_residuals(values, seen)
    degrees = float(max(_free_rows(seen), 1))
    dim = values.shape[-1]
    raw_effective = effective_dimension(residuals, degrees) if len(residuals) > 1 else float(dim)
    root, share = torch.eye(dim, dtype=values.dtype, device=values.device), 1.0
    if whiten and dim > 1 and len(residuals) > 1:
        covariance, share = ledoit_wolf(residuals, degrees)
        root = inverse_root(covariance)
    whitened = values @ root
    effective = effective_dimension(residuals @ root, degrees) if len(residuals) > 1 else float(dim)
    back = torch.linalg.pinv(root, hermitian=True)
    route = None if message_map is None else back @ message_map.T.to(values) @ root
    length = latents[present].square().sum(-1)
    panel = Panel(
        values=whitened,
        messages=whitened,
        present=seen,
        pull=None,
        intercept=dim == 1,
        effective=effective,
        raw_effective=raw_effective,
        shrinkage=share,
        root=root,
        centre=centre,
        route=route,
        unit=bool(((length - 1).abs() < UNIT_TOLERANCE).all()),
        groups=data,
    )
    return with_values(panel, whitened)


def with_values(panel: Panel, values: Float[Tensor, "agent time dim"]) -> Panel:
    """The panel with other states: messages and pull follow, absent states become zero."""
    values = values * panel.present.unsqueeze(-1).to(values.dtype)
    sent = values if panel.route is None else values @ panel.route
    pull = None if panel.groups is None else group_pull(sent, panel.present, panel.groups)
    return replace(panel, values=values, messages=sent, pull=pull)


def scalar_panel(
    series: Float[Tensor, "time agent replicate"],
    present: Bool[Tensor, "time agent"],
    data: TemporalHypergraph | None,
) -> Panel:
    """Scale each agent's scalar series to unit variance; the last axis holds replicates that share the coefficients."""
    values = series.transpose(0, 1).contiguous()
    seen = present.T
    weight = seen.unsqueeze(-1).to(values.dtype)
    count = (weight.sum((1, 2), keepdim=True) * values.shape[-1]).clamp(min=1)
    centre = (values * weight).sum((1, 2), keepdim=True) / count
    values = (values - centre) * weight
    scale = (values.square().sum((1, 2), keepdim=True) / count).sqrt()
    values = torch.where(scale > 0, values / scale.clamp(min=torch.finfo(values.dtype).tiny), values)
    dim = values.shape[-1]
    panel = Panel(
        values=values,
        messages=values,
        present=seen,
        pull=None,
        intercept=True,
        effective=float(dim),
        raw_effective=float(dim),
        shrinkage=1.0,
        root=torch.eye(dim, dtype=values.dtype, device=values.device),
        centre=centre,
        groups=data,
    )
    return with_values(panel, values)


def group_pull(
    values: Float[Tensor, "agent time dim"], present: Bool[Tensor, "agent time"], data: TemporalHypergraph
) -> Float[Tensor, "agent time dim"]:
    """Mean state of the other members, averaged over the groups in which an agent meets at each time.

    The mean of unit vectors is short when they disagree, so that a group pulls by its cohesion. Agents that meet
    nobody at a time are pulled by nothing: zero.
    """
    times = range(values.shape[1])
    return torch.stack([pull_at(values[:, time], present[:, time], data, time) for time in times], 1)


def pull_at(
    states: Float[Tensor, "agent dim"], present: Bool[Tensor, " agent"], data: TemporalHypergraph, time: int
) -> Float[Tensor, "agent dim"]:
    """The pull at one time."""
    index = data.hyperedge_index.to(states.device)
    nodes, edges = index[:, (data.hyperedge_time.to(states.device) == time)[index[1]]]
    seen = present[nodes]
    nodes, edges = nodes[seen], edges[seen]
    if not nodes.numel():
        return torch.zeros_like(states)
    _, edges = torch.unique(edges, return_inverse=True)
    size = torch.bincount(edges).to(states.dtype)
    total = states.new_zeros(len(size), states.shape[1]).index_add_(0, edges, states[nodes])
    met = size[edges] > 1
    nodes, edges = nodes[met], edges[met]
    others = (total[edges] - states[nodes]) / (size[edges] - 1).unsqueeze(-1)
    count = torch.bincount(nodes, minlength=len(states)).clamp(min=1).to(states.dtype)
    return torch.zeros_like(states).index_add_(0, nodes, others) / count.unsqueeze(-1)


def _free_rows(present: Tensor) -> int:
    rows = (present[:, 1:] & present[:, :-1]).sum(1)
    return int((rows - 1).clamp(min=0).sum())
