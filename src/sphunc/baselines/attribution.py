r"""One influence read-out for every forecaster: how far a forecast moves when a source becomes an average agent.

.. math:: S_{j \to i} = \frac1{|O|} \sum_{t \in O} \tfrac12 \big\| p_i(t) - p_i^{(j)}(t) \big\|_1

where :math:`p^{(j)}(t)` is the forecast from origin t with the features of j at t replaced by their mean over all
agents there, and the outcome of j at t hidden. It needs ``predict`` alone.

Cost: one prediction per source and origin if each is occluded alone. Sources that share no candidate target are
occluded together, which takes as many predictions as colours of a greedy colouring: a few dozen in place of N. What
travels over two or more meetings may then mix; ``together=False`` keeps every source apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from sphunc._typing import Float, Int, Links
from sphunc.baselines.influence import InfluenceScores
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, comembers

KIND = "shift of the forecast when the source is average"


def attribute(
    model: Any,
    data: TemporalHypergraph,
    origins: Sequence[int] | None = None,
    *,
    candidates: Links | None = None,
    together: bool = True,
) -> InfluenceScores:
    """Score candidate links by occlusion, in the same way for every forecaster.

    Args:
        model: a fitted forecaster of classes.
        data: the past; nothing after an origin is looked at.
        origins: time indices to forecast from; the last one by default.
        candidates: ``[2, K]`` links (source, target); co-members in ``data`` by default.
        together: occlude sources without a common target at once.
    """
    origins = [data.num_times - 1] if origins is None else list(origins)
    if not origins:
        raise ArgumentError("origins is empty; give at least one time index to forecast from")
    links = comembers(data) if candidates is None else candidates
    batch = colours(links, data.num_nodes) if together else torch.arange(data.num_nodes)
    total = torch.zeros(links.shape[1])
    for origin in origins:
        total += _shifts(model, data.until_index(origin), links, batch)
    return InfluenceScores(links, total / len(origins), data.node_ids, KIND)


def _shifts(model: Any, past: TemporalHypergraph, links: Tensor, batch: Tensor) -> Float[Tensor, " link"]:
    before = model.predict(past).probabilities
    shift = before.new_zeros(links.shape[1])
    of_link = batch[links[0]]
    for colour in of_link.unique().tolist():
        mine = of_link == colour
        after = model.predict(occlude(past, links[0, mine].unique())).probabilities
        shift[mine] = 0.5 * (after - before).abs().sum(-1)[links[1, mine]]
    return shift


def occlude(past: TemporalHypergraph, sources: Int[Tensor, " source"]) -> TemporalHypergraph:
    """Return the past in which ``sources`` have average features and no outcome at the last time."""
    x, y_mask = past.x.clone(), past.y_mask.clone()
    seen = past.x_mask[-1]
    mean = torch.where(seen, x[-1], 0.0).sum(0) / seen.sum(0).clamp(min=1)
    x[-1, sources] = torch.where(seen[sources], mean, 0.0)
    y_mask[-1, sources] = False
    y = None if past.y is None else past.y.clone()
    if y is not None:
        y[-1, sources] = 0
    return replace(past, x=x, y=y, y_mask=y_mask)


def colours(links: Links, num_agents: int) -> Int[Tensor, " agent"]:
    """Colour the agents greedily so that no two sources of a target have one colour, and none that of its target."""
    source, target = links.cpu().numpy()
    shape = (num_agents, num_agents)
    reach = csr_array(coo_array((np.ones(len(source), dtype=np.int32), (source, target)), shape=shape))
    clash = csr_array(reach @ reach.T + reach + reach.T)
    colour = np.full(num_agents, -1, dtype=np.int64)
    for agent in np.argsort(-np.diff(clash.indptr), kind="stable").tolist():
        taken = colour[clash.indices[clash.indptr[agent] : clash.indptr[agent + 1]]]
        free = np.setdiff1d(np.arange(len(taken) + 1), taken)
        colour[agent] = free[0]
    return torch.from_numpy(colour)
