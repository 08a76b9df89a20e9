"""Candidate links: who may influence whom because they met in a group."""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc._typing import Links
from sphunc.errors import ArgumentError
from sphunc.hypergraph.temporal import TemporalHypergraph

DEFAULT_CHUNK = 4_000_000


def comembers(data: TemporalHypergraph, until: int | None = None, *, chunk: int = DEFAULT_CHUNK) -> Links:
    """Ordered pairs of agents that shared a group before time index ``until``.

    Args:
        data: N agents in M groups.
        until: groups with ``hyperedge_time < until`` count; None takes all of them.
        chunk: pairs worked on at once; memory beyond the result is a small multiple of it.

    Returns:
        ``[2, K]``, row 0 source, row 1 target, both directions, no agent with itself, each pair once, sorted by source
        then target. Never a matrix of N by N.
    """
    if chunk < 1:
        raise ArgumentError(f"chunk is {chunk}; give at least 1 pair")
    index = data.hyperedge_index
    if until is not None:
        index = index[:, (data.hyperedge_time < until)[index[1]]]
    one_way = _sorted_pairs(index, data.num_nodes, chunk)
    N = max(data.num_nodes, 1)
    low = one_way // N
    high = one_way % N
    keys = torch.cat([one_way, high * N + low]).sort().values
    return torch.stack([keys // N, keys % N])


def _sorted_pairs(index: Tensor, num_nodes: int, chunk: int) -> Tensor:
    # Members of a group stand next to each other in ascending order, so that the partners of a membership are the
    # rows after it up to the end of its group: each unordered pair arises once per shared group, as low * N + high.
    agent, group = index
    if agent.numel() == 0:
        return agent
    _, counts = group.unique_consecutive(return_counts=True)
    ends = counts.cumsum(0).repeat_interleave(counts)
    partners = ends - torch.arange(agent.numel(), device=agent.device) - 1
    found = agent[:0]
    pending: list[Tensor] = []
    held = 0
    for piece in _slices(partners, chunk):
        keys = _pair_keys(agent, partners, piece, num_nodes)
        pending.append(keys.unique())
        held += pending[-1].numel()
        if held > max(chunk, found.numel()):
            found = torch.cat([found, *pending]).unique()
            pending = []
            held = 0
    return torch.cat([found, *pending]).unique()


def _slices(partners: Tensor, chunk: int) -> list[tuple[int, int, int, int]]:
    total = partners.cumsum(0)
    slices: list[tuple[int, int, int, int]] = []
    done = 0
    everything = int(total[-1])
    while done < everything:
        stop_at = min(done + chunk, everything)
        start = int(torch.searchsorted(total, done, right=True))
        stop = int(torch.searchsorted(total, stop_at)) + 1
        before = 0
        if start:
            before = int(total[start - 1])
        slices.append((start, stop, done - before, stop_at - done))
        done = stop_at
    return slices


def _pair_keys(agent: Tensor, partners: Tensor, piece: tuple[int, int, int, int], num_nodes: int) -> Tensor:
    start, stop, skip, take = piece
    counts = partners[start:stop]
    rows = torch.arange(start, stop, device=agent.device).repeat_interleave(counts)[skip : skip + take]
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)[skip : skip + take]
    offset = torch.arange(skip, skip + take, device=agent.device) - first + 1
    return agent[rows] * num_nodes + agent[rows + offset]
