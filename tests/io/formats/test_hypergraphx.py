"""hypergraphx temporal hypergraphs both ways."""

import datetime as dt
from dataclasses import replace

import hypergraphx as hgx

from sphunc.hypergraph import assemble
from sphunc.io import from_hgx, to_hgx

DATA = assemble(
    times=[dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
    node_ids=["a", "b", "isolated"],
    features=([0, 1], [0, 1], [[1.0], [2.0]]),
    feature_names=["mood"],
    hyperedge_ids=["g", "twin", "last", "empty", "g"],
    hyperedge_time=[0, 0, 1, 1, 1],
    memberships=([0, 0, 1, 1, 2, 4], [0, 1, 0, 1, 0, 1], [0.5, 1.5, 2.0, 3.0, 4.0, 5.0]),
    outcomes=([0, 1], [0, 1], [0, 1]),
    class_names=["calm", "upset"],
    influence=[[0], [1]],
    influence_kind="reply",
)


def test_there_and_back_gives_the_same_even_with_twins_and_empty_groups():
    assert from_hgx(to_hgx(DATA)).same_as(DATA)
    assert from_hgx(to_hgx(replace(DATA, incidence_weight=None))).incidence_weight is None


def test_hypergraphx_sees_time_as_an_index():
    hypergraph = to_hgx(DATA)
    assert set(hypergraph.get_edges()) == {(0, ("a", "b")), (1, ("a",)), (1, ("b",))}
    assert set(hypergraph.get_nodes()) == {"a", "b", "isolated"}


def test_a_foreign_hypergraph_keeps_its_times_and_agents():
    foreign = hgx.TemporalHypergraph(edge_list=[(1, 2), (2, 3, 4), (1, 2)], time_list=[5, 5, 9])
    data = from_hgx(foreign)
    assert data.times == (5, 9)
    assert data.node_ids == (1, 2, 3, 4)
    assert data.hyperedge_size.tolist() == [2, 3, 2]
