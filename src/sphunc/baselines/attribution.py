r"""Influence by occlusion: how far a forecast moves when a source becomes an average agent.

.. math:: S_{j \to i} = \frac1{|O|} \sum_{t \in O} \tfrac12 \big\| p_i(t) - p_i^{(j)}(t) \big\|_1

where :math:`p^{(j)}(t)` is the forecast from origin t with the features of j at t replaced by their
mean over all agents there, and the outcome of j at t left out. It needs ``predict`` alone.

Cost: one prediction per source and origin if each is occluded alone. Sources that share no
candidate target are occluded together, which takes as many predictions as colours of a greedy
colouring: a few dozen in place of N. What travels over two or more meetings may then mix;
``together=False`` keeps every source apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from sphunc._typing import Float, Int, Links
from sphunc.baselines.forecaster import Predictor
from sphunc.baselines.influence import InfluenceScores
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, comembers

KIND = "shift of the forecast when the source is average"


def attribute(
    model: Predictor,
    data: TemporalHypergraph,
    origins: Sequence[int] | None = None,
    *,
    candidates: Links | None = None,
    together: bool = True,
) -> InfluenceScores:
    """Score candidate links by occlusion, in the same way for every forecaster.

    Args:
        model: a fitted forecaster of classes.
        data: the past; nothing after an origin is read.
        origins: time indices to forecast from; the last one by default.
        candidates: ``[2, K]`` links (source, target); co-members in ``data`` by default.
        together: occlude sources without a common target at once.
    """
    if origins is None:
        origins = [data.num_times - 1]
    if len(origins) == 0:
        raise ArgumentError("origins is empty; give at least one time index to forecast from")
    if candidates is None:
        candidates = comembers(data)
    batch = torch.arange(data.num_nodes)
    if together:
        batch = colours(candidates, data.num_nodes)
    total = torch.zeros(candidates.shape[1])
    for origin in origins:
        total += _shifts(model, data.until_index(origin), candidates, batch)
    return InfluenceScores(candidates, total / len(origins), data.node_ids, KIND)


def _shifts(
    model: Predictor, past: TemporalHypergraph, links: Links, batch: Int[Tensor, " agent"]
) -> Float[Tensor, " link"]:
    """Total variation between the forecasts of each target with and without its source."""
    before = model.predict(past).probabilities
    shift = before.new_zeros(links.shape[1])
    batch_of_link = batch[links[0]]
    for number in batch_of_link.unique().tolist():
        chosen = batch_of_link == number
        after = model.predict(occlude(past, links[0, chosen].unique())).probabilities
        moved = 0.5 * (after - before).abs().sum(-1)
        shift[chosen] = moved[links[1, chosen]]
    return shift


def occlude(past: TemporalHypergraph, sources: Int[Tensor, " source"]) -> TemporalHypergraph:
    """Give agents average features and no outcome at the last time.

    Args:
        past: up to the origin.
        sources: agents.
    """
    observed = past.x_mask[-1]
    mean = torch.where(observed, past.x[-1], 0.0).sum(0) / observed.sum(0).clamp(min=1)
    x = past.x.clone()
    x[-1, sources] = torch.where(observed[sources], mean, 0.0)
    y_mask = past.y_mask.clone()
    y_mask[-1, sources] = False
    y = past.y
    if y is not None:
        y = y.clone()
        y[-1, sources] = 0
    return replace(past, x=x, y=y, y_mask=y_mask)


def colours(links: Links, num_agents: int) -> Int[Tensor, " agent"]:
    """Colour agents greedily: sources of one target differ from each other and from the target.

    Args:
        links: source and target.
        num_agents: N.
    """
    ones = np.ones(links.shape[1], dtype=np.int32)
    reach = csr_array(coo_array((ones, tuple(links.cpu().numpy())), shape=(num_agents, num_agents)))
    clash = csr_array(reach @ reach.T + reach + reach.T)
    colour = np.full(num_agents, -1, dtype=np.int64)
    for agent in np.argsort(-np.diff(clash.indptr), kind="stable").tolist():
        neighbours = clash.indices[clash.indptr[agent] : clash.indptr[agent + 1]]
        taken = colour[neighbours]
        free = np.setdiff1d(np.arange(len(taken) + 1), taken)
        colour[agent] = free[0]
    return torch.from_numpy(colour)
