"""Groups as they are, or torn into pairs: what a model sees that knows graphs but no hypergraphs."""

from __future__ import annotations

from dataclasses import replace

import torch

from sphunc._typing import Tensor
from sphunc.hypergraph import TemporalHypergraph


def regroup(data: TemporalHypergraph, grouping: str) -> TemporalHypergraph:
    """Return the data as the setting ``grouping`` says: "hyperedges" leaves them, "pairs" tears them."""
    return tear_into_pairs(data) if grouping == "pairs" else data


def tear_into_pairs(data: TemporalHypergraph) -> TemporalHypergraph:
    """Replace every group by all pairs of its members, at the same time; groups of one vanish, weights are left out.

    Who met whom is kept, in how large a company is not.
    """
    first, second, group = _pairs(data)
    count = len(group)
    return replace(
        data,
        hyperedge_index=torch.stack(
            [torch.stack([first, second], 1).flatten(), torch.arange(count, device=data.device).repeat_interleave(2)]
        ),
        hyperedge_time=data.hyperedge_time[group],
        num_hyperedges=count,
        hyperedge_ids=tuple((data.hyperedge_ids[g], k) for k, g in enumerate(group.tolist())),
        incidence_weight=None,
    )


def _pairs(data: TemporalHypergraph) -> tuple[Tensor, Tensor, Tensor]:
    # Members of a group stand together in ascending order: the partners of a row are the rows after it in its group.
    agent, group = data.hyperedge_index
    ends = data.hyperedge_size.cumsum(0)[group] if agent.numel() else agent
    rows = torch.arange(agent.numel(), device=agent.device)
    partners = ends - rows - 1
    left = rows.repeat_interleave(partners)
    before = (partners.cumsum(0) - partners).repeat_interleave(partners)
    right = left + torch.arange(left.numel(), device=left.device) - before + 1
    return agent[left], agent[right], group[left]
