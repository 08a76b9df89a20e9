r"""Groups as nodes: the line graph in which two groups of one time are joined by the members they share.

.. math:: L = \mathrm{offdiag}(B^\top B), \qquad \hat L = D^{-1/2} L D^{-1/2}
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from sphunc._typing import Float, Int, Links
from sphunc.baselines.influence import accumulate
from sphunc.baselines.pairs import per_panel
from sphunc.baselines.panel import Panel
from sphunc.hypergraph.buckets import Buckets


@dataclass(frozen=True, eq=False)
class LineGraph:
    r"""Entries of :math:`\hat L`, both directions: ``source``, ``target`` (groups), ``weight`` ``[E]``."""

    source: Int[Tensor, " entry"]
    target: Int[Tensor, " entry"]
    weight: Float[Tensor, " entry"]
    num_groups: int

    def spread(self, x: Float[Tensor, "edge dim"]) -> Float[Tensor, "edge dim"]:
        r""":math:`\hat L x`."""
        return torch.zeros_like(x).index_add(0, self.target, x.index_select(0, self.source) * self.weight.unsqueeze(-1))


def line_graph(groups: Buckets) -> LineGraph:
    """Join groups that share members; cost is the sum over agents of their squared number of groups."""
    product = csr_array(incidence(groups).T @ incidence(groups)).tocoo()
    apart = product.row != product.col
    source, target, shared = product.row[apart], product.col[apart], product.data[apart]
    degree = np.bincount(target, weights=shared, minlength=groups.num_hyperedges)
    weight = shared / np.sqrt(degree[source] * degree[target])
    parts = (torch.from_numpy(part) for part in (source.astype(np.int64), target.astype(np.int64)))
    device = groups.node.device
    first, second = (part.to(device) for part in parts)
    return LineGraph(first, second, torch.from_numpy(weight).float().to(device), groups.num_hyperedges)


@per_panel
def line_graph_of(panel: Panel) -> LineGraph:
    """Return the line graph of a panel, made once."""
    return line_graph(panel.groups)


def incidence(groups: Buckets, weight: Tensor | None = None) -> csr_array:
    """Return agents at times by groups ``[T * N, M]``, with ones or the given weight per membership ``[nnz]``."""
    value = np.ones(len(groups.node)) if weight is None else weight.double().cpu().numpy()
    place = groups.node.cpu().numpy(), groups.hyperedge.cpu().numpy()
    return csr_array(coo_array((value, place), shape=(groups.num_nodes, groups.num_hyperedges)))


def flow(
    panel: Panel, down: Float[Tensor, " nnz"], up: Float[Tensor, " nnz"], candidates: Links
) -> Float[Tensor, " link"]:
    r"""Influence through groups, :math:`S = B_b (I + \tfrac12 \hat L) B_a^\top`, summed over times, on candidates.

    Args:
        panel: whose groups.
        down: b, weight of a group for its member, per membership ``[nnz]``.
        up: a, weight of a member in its group.
        candidates: links (source j, target i).
    """
    line = line_graph_of(panel)
    place = line.target.cpu().numpy(), line.source.cpu().numpy()
    shape = (line.num_groups, line.num_groups)
    between = csr_array(coo_array((0.5 * line.weight.double().cpu().numpy(), place), shape=shape))
    receive, send = incidence(panel.groups, down), incidence(panel.groups, up)
    total = csr_array(receive @ send.T + receive @ between @ send.T).tocoo()
    device = candidates.device
    target = torch.from_numpy(total.row.astype(np.int64)).to(device) % panel.num_agents
    source = torch.from_numpy(total.col.astype(np.int64)).to(device) % panel.num_agents
    weight = torch.from_numpy(total.data).float().to(device)
    return accumulate(torch.stack([source, target]), weight, candidates, panel.num_agents)
