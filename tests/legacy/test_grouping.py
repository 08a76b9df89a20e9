"""Pairs are those of the groups, at their times, and nothing else changes."""

from itertools import combinations

import torch

from sphunc.hypergraph import assemble, comembers
from sphunc.legacy.grouping import regroup, tear_into_pairs
from sphunc.worlds import simulate


def members(data):
    node, edge = data.hyperedge_index
    return [(int(data.hyperedge_time[e]), node[edge == e].tolist()) for e in range(data.num_hyperedges)]


def test_pairs_are_those_of_a_slow_transcription():
    data = simulate("snare", agents=25, times=3, seed=1).data
    expected = [(t, list(pair)) for t, group in members(data) for pair in combinations(group, 2)]
    assert members(tear_into_pairs(data)) == expected


def test_who_met_whom_stays():
    data = simulate("snare", agents=25, times=3, seed=1).data
    torn = regroup(data, "pairs")
    assert torch.equal(comembers(torn), comembers(data))
    assert regroup(data, "hyperedges") is data
    assert torch.equal(torn.x, data.x)


def test_pairs_stay_pairs():
    data = tear_into_pairs(simulate("snare", agents=25, times=3, seed=1).data)
    assert members(tear_into_pairs(data)) == members(data)


def test_groups_of_one_vanish_and_no_groups_are_fine():
    alone = assemble(times=[0], node_ids="ab", hyperedge_ids="g", hyperedge_time=[0], memberships=([0], [1]))
    assert tear_into_pairs(alone).num_hyperedges == 0
    assert tear_into_pairs(assemble(times=[0], node_ids="ab")).num_hyperedges == 0
