"""xgi hypergraphs both ways."""

import pytest
import xgi

from sphunc.errors import DataError
from sphunc.hypergraph import assemble
from sphunc.io import from_xgi, to_xgi

DATA = assemble(
    times=[1, 2],
    node_ids=["a", "b", "isolated"],
    features=([0, 1], [0, 1], [[1.0], [2.0]]),
    feature_names=["mood"],
    hyperedge_ids=["g", "twin", "empty", "g"],
    hyperedge_time=[0, 0, 1, 1],
    memberships=([0, 0, 1, 1, 3], [0, 1, 0, 1, 1], [0.5, 1.5, 2.0, 3.0, 4.0]),
    outcomes=([0, 1], [0, 1], [0, 1]),
    class_names=["calm", "upset"],
    influence=[[0], [1]],
    influence_kind="reply",
    attributes={"licence": "CC0"},
)


def test_there_and_back_gives_the_same():
    assert from_xgi(to_xgi(DATA)).same_as(DATA)


def test_xgi_sees_groups_times_and_isolated_agents():
    hypergraph = to_xgi(DATA)
    assert hypergraph.num_edges == 4
    assert hypergraph.edges.members("g @ 1") == {"a", "b"}
    assert hypergraph.edges["g @ 2"]["timestamp"] == 2
    assert list(hypergraph.nodes.isolates()) == ["isolated"]


def test_a_plain_hypergraph_meets_at_time_zero():
    data = from_xgi(xgi.Hypergraph([[1, 2, 3], [3, 4]]))
    assert (data.times, data.num_hyperedges, data.num_nodes) == ((0,), 2, 4)


def test_ids_of_other_types_are_refused():
    with pytest.raises(DataError, match="Write a text or an integer"):
        from_xgi(xgi.Hypergraph([[1.5, 3]]))
