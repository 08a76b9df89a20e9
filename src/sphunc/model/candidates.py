"""Candidate parents of every agent: those it met most, at most 60, padded to one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array

from sphunc.hypergraph import Incidence
from sphunc.model.dynamics import Links

MOST_CANDIDATES = 60
LARGEST_GROUP = 500
"""Members up to which all pairs of a group are candidates; of larger groups each member considers
60 at random."""


def meeting_scores(groups: Sequence[Incidence], seed: int) -> csr_array:
    """How much every two agents met: the sum over shared groups of 1 / (members - 1), ``[target,
    source]``.

    Args:
        groups: memberships at each time.
        seed: of the pairs that are drawn in very large groups.
    """
    agents = groups[0].num_agents
    rng = np.random.default_rng(seed)
    scores = csr_array((agents, agents))
    for meeting in groups:
        agent = meeting.agent.cpu().numpy()
        group = meeting.group.cpu().numpy()
        size = np.bincount(group, minlength=max(1, meeting.num_groups))
        is_small = (size[group] <= LARGEST_GROUP) & (size[group] > 1)
        share = 1.0 / np.sqrt(np.maximum(size[group[is_small]] - 1, 1))
        shape = (agents, max(1, meeting.num_groups))
        attendance = coo_array((share, (agent[is_small], group[is_small])), shape=shape).tocsr()
        scores = scores + attendance @ attendance.T
        for large in np.flatnonzero(size > LARGEST_GROUP):
            members = agent[group == large]
            partners = rng.choice(members, size=(len(members), MOST_CANDIDATES))
            target = np.repeat(members, MOST_CANDIDATES)
            weight = np.full(len(target), 1.0 / (len(members) - 1))
            drawn = coo_array((weight, (target, partners.ravel())), shape=(agents, agents))
            scores = scores + drawn.tocsr()
    return scores


def make_candidates(
    groups: Sequence[Incidence],
    seed: int,
    forbidden: Sequence[tuple[int, int]] = (),
    required: Sequence[tuple[int, int]] = (),
) -> Links | None:
    """Return the candidate links of every target, or None where nobody ever met.

    Args:
        groups: memberships at each time.
        seed: of the pairs that are drawn in very large groups.
        forbidden: (source, target) positions that are no candidates.
        required: (source, target) positions that are candidates whether or not they met.
    """
    agents = groups[0].num_agents
    scores = meeting_scores(groups, seed).tocoo()
    target, source = scores.coords
    value = scores.data
    apart = target != source
    target = target[apart]
    source = source[apart]
    value = value[apart]
    if forbidden:
        banned = {s * agents + t for s, t in forbidden}
        kept = ~np.isin(source.astype(np.int64) * agents + target, list(banned))
        target = target[kept]
        source = source[kept]
        value = value[kept]
    if required:
        pairs = np.array(required, dtype=np.int64)
        target = np.concatenate([pairs[:, 1], target])
        source = np.concatenate([pairs[:, 0], source])
        value = np.concatenate([np.full(len(pairs), np.inf), value])
        _, first = np.unique(source.astype(np.int64) * agents + target, return_index=True)
        target = target[first]
        source = source[first]
        value = value[first]
    if not len(target):
        return None
    order = np.lexsort((source, np.negative(value), target))
    target = target[order]
    source = source[order]
    count = np.bincount(target, minlength=agents)
    rank = np.arange(len(target)) - (np.cumsum(count) - count)[target]
    kept = rank < MOST_CANDIDATES
    return _padded(source[kept], target[kept], rank[kept], agents, groups[0].weight.device)


def _padded(source: np.ndarray, target: np.ndarray, slot: np.ndarray, agents: int, device: torch.device) -> Links:
    width = int(slot.max()) + 1
    table = torch.zeros(agents, width, dtype=torch.long)
    there = torch.zeros(agents, width, dtype=torch.bool)
    rows = torch.from_numpy(target.astype(np.int64))
    columns = torch.from_numpy(slot.astype(np.int64))
    table[rows, columns] = torch.from_numpy(source.astype(np.int64))
    there[rows, columns] = True
    nothing = torch.zeros(agents, width, dtype=torch.float64, device=device)
    return Links(table.to(device), there.to(device), nothing, nothing.clone(), nothing.clone())
