r"""Messages of Causal-SphHN: angular ones inside hyperedges, and those of Granger parents.

.. math::
    m_i = \frac{1}{|E_i|} \sum_{e \ni i} \sum_{j \in e \setminus i} \alpha^e_{ij} h_j, \qquad
    \alpha^e_{ij} \propto \exp(\kappa_a h_i^\top h_j)\, \rho_j

.. math:: c_i = \sum_{j \to i} \tau_{ij} \beta_{ij} h_j, \qquad \beta_{ij} \propto \exp(\lambda\, h_i^\top h_j)

:math:`\rho_j = A_D(\kappa_j)` is the mean resultant length of agent j's belief: a dispersed belief is heard less. The
sum over :math:`j \to i` runs over the Granger parents of i only, and :math:`\tau_{ij}` is the trust in a link. All
states are those at the origin t: for the outcome at t + 1, which is forecast, they are the past that a Granger test at
lag 1 speaks of.
"""

from __future__ import annotations

import torch

from sphunc._typing import Float, Int, Links, Tensor
from sphunc.hypergraph.buckets import Buckets


def dispersed_attention(
    h: Float[Tensor, "node dim"], reliability: Float[Tensor, " node"], sharpness: Float[Tensor, ""], groups: Buckets
) -> Float[Tensor, "node dim"]:
    r"""Mean over a node's groups of the other members, by angle and by how sure each of them is.

    Args:
        h: directions.
        reliability: :math:`\rho_j` in (0, 1].
        sharpness: :math:`\kappa_a`.
        groups: groups of two or more.

    Returns:
        :math:`m_i`; 0 for a node that meets nobody.
    """
    rows, start = [h.new_zeros(0, h.shape[1])], 0
    log_reliability = reliability.log()
    for members in groups.rectangles():
        states = h.index_select(0, members.flatten()).view(*members.shape, -1)
        heard = log_reliability.index_select(0, members.flatten()).view(-1, 1, members.shape[1])
        score = sharpness * (states @ states.mT) + heard
        score = score.masked_fill(torch.eye(members.shape[1], dtype=torch.bool, device=h.device), -torch.inf)
        pooled = (score.softmax(-1) @ states).flatten(0, 1)
        rows.append(pooled * groups.share[start : start + len(pooled), None].to(h.dtype))
        start += len(pooled)
    return torch.zeros_like(h).index_add(0, groups.node, torch.cat(rows))


def softmax_by_target(score: Float[Tensor, " link"], target: Int[Tensor, " link"], size: int) -> Float[Tensor, " link"]:
    """Softmax over the links that share a target."""
    top = score.new_full((size,), -torch.inf).scatter_reduce(0, target, score.detach(), "amax")
    weight = (score - top[target]).exp()
    return weight / score.new_zeros(size).index_add(0, target, weight).index_select(0, target)


def parent_weights(h: Float[Tensor, "node dim"], parents: Links, scale: float) -> Float[Tensor, " link"]:
    r"""Attention :math:`\beta_{ij}` of each link, a softmax over the parents of a target."""
    source, target = parents
    score = scale * (h.index_select(0, target) * h.index_select(0, source)).sum(-1)
    return softmax_by_target(score, target, len(h))


def parent_messages(
    h: Float[Tensor, "node dim"], parents: Links, trust: Float[Tensor, " link"], scale: float
) -> Float[Tensor, "node dim"]:
    r"""Messages :math:`c_i`; 0 for a node without parents."""
    weight = trust * parent_weights(h, parents, scale)
    return torch.zeros_like(h).index_add(0, parents[1], weight.unsqueeze(-1) * h.index_select(0, parents[0]))


def over_time(links: Links, times: int, agents: int) -> Int[Tensor, "2 repeated"]:
    """Repeat links between agents at every time, agent i at time t being node t * N + i; time varies slowest."""
    shift = agents * torch.arange(times, device=links.device)
    return (links[:, None, :] + shift[None, :, None]).flatten(1)
