r"""The self-supervised task of SS-HGNN: tell the members of a group from agents that met elsewhere at the same time.

.. math::
    L_{mem} = -\frac1{|B|} \sum_{(i,e) \in B} \log \sigma(h_i^\top \Theta z_e)
              -\frac1{|B'|} \sum_{(j,e) \in B'} \log \sigma(-h_j^\top \Theta z_e)

The false members :math:`B'` are drawn from the memberships of the same time, so that an agent is drawn as often as it
meets (degree-matched); a draw that happens to be a member is left out. No group of a later time is ever looked at.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Float, Int
from sphunc.baselines.pairs import per_panel
from sphunc.baselines.panel import Panel


def false_members(panel: Panel, generator: torch.Generator) -> tuple[Int[Tensor, " row"], Int[Tensor, " row"]]:
    """Draw one false member per membership: nodes and the groups that they do not belong to."""
    node, group = panel.groups.node, panel.groups.hyperedge
    if not len(node):
        return node, group
    time = node // panel.num_agents
    by_time = torch.argsort(time, stable=True)
    count = torch.bincount(time, minlength=panel.num_times)
    start = count.cumsum(0) - count
    draw = torch.rand(len(node), generator=generator, device=node.device)
    place = start[time] + (draw * count[time]).long().clamp(max=count[time] - 1)
    drawn = node[by_time[place]]
    false = ~_are_members(drawn * panel.groups.num_hyperedges + group, member_keys(panel))
    return drawn[false], group[false]


@per_panel
def member_keys(panel: Panel) -> Int[Tensor, " nnz"]:
    """Return a sorted number per membership, made once per panel."""
    return (panel.groups.node * panel.groups.num_hyperedges + panel.groups.hyperedge).sort().values


def _are_members(keys: Tensor, members: Tensor) -> Tensor:
    return members[torch.searchsorted(members, keys).clamp(max=len(members) - 1)] == keys


def membership_loss(
    h: Float[Tensor, "node dim"],
    z: Float[Tensor, "edge dim"],
    theta: Float[Tensor, "dim dim"],
    true: tuple[Tensor, Tensor],
    false: tuple[Tensor, Tensor],
) -> Float[Tensor, ""]:
    """Return the loss above; 0 when nobody meets.

    Args:
        h: agents at times.
        z: groups.
        theta: bilinear form.
        true: nodes and their groups.
        false: nodes and groups they do not belong to.
    """
    loss = h.new_zeros(())
    for (node, group), sign in ((true, 1.0), (false, -1.0)):
        if len(node):
            score = ((h @ theta).index_select(0, node) * z.index_select(0, group)).sum(-1)
            loss = loss - torch.nn.functional.logsigmoid(sign * score).mean()
    return loss
