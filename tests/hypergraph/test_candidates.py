"""Co-members against the obvious dense transcription, and the traps of empty and very large groups."""

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import assemble, comembers


def random_groups(seed, N=60, M=40, rows=400):
    rng = np.random.default_rng(seed)
    group, agent = np.unique(np.stack([rng.integers(0, M, rows), rng.integers(0, N, rows)]), axis=1)
    return assemble(
        times=range(5),
        node_ids=range(N),
        hyperedge_ids=range(M),
        hyperedge_time=rng.integers(0, 5, M),
        memberships=(group, agent),
    )


def dense(data, until):
    incidence = torch.zeros(data.num_nodes, data.num_hyperedges)
    incidence[data.hyperedge_index[0], data.hyperedge_index[1]] = 1
    if until is not None:
        incidence = incidence[:, data.hyperedge_time < until]
    return (incidence @ incidence.T).fill_diagonal_(0).nonzero().T


@pytest.mark.parametrize("chunk", [1, 7, 100, 10**6])
@pytest.mark.parametrize("until", [None, 0, 1, 3, 5])
def test_equals_the_dense_transcription(until, chunk):
    data = random_groups(seed=3, N=30, M=20, rows=100)
    assert torch.equal(comembers(data, until, chunk=chunk), dense(data, until))


def test_nobody_meets_in_empty_or_single_groups():
    data = assemble(times=[0], node_ids="abc", hyperedge_ids="xy", hyperedge_time=[0, 0], memberships=([0], [1]))
    assert comembers(data).shape == (2, 0)
    assert comembers(assemble(times=[0], node_ids="abc")).shape == (2, 0)


def test_one_very_large_group_gives_every_ordered_pair_once():
    N = 600
    data = assemble(
        times=[0],
        node_ids=range(N),
        hyperedge_ids=[0],
        hyperedge_time=[0],
        memberships=(np.zeros(N, int), np.arange(N)),
    )
    pairs = comembers(data, chunk=1000)
    assert pairs.shape == (2, N * (N - 1))
    assert not (pairs[0] == pairs[1]).any()


def test_ids_of_a_million_agents_do_not_overflow():
    N = 1_000_000
    data = assemble(
        times=[0],
        node_ids=range(N),
        hyperedge_ids=[0],
        hyperedge_time=[0],
        memberships=([0, 0], [N - 1, 0]),
    )
    assert comembers(data).tolist() == [[0, N - 1], [N - 1, 0]]


def test_chunk_must_be_positive():
    with pytest.raises(ArgumentError, match="chunk is 0; give at least 1 pair"):
        comembers(random_groups(0), chunk=0)
