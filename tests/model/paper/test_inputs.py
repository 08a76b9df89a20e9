"""What the network reads: carried features, hyperedges by time, links placed by id."""

import pytest
import torch

from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph, comembers
from sphunc.model.paper import inputs as module
from sphunc.model.paper.inputs import (
    candidate_links,
    carry_forward,
    make_inputs,
    memberships,
    place_links,
    replicate_groups,
    replicate_links,
)


def test_missing_values_are_the_last_observed_ones_or_zero() -> None:
    values = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(4, 1, 1)
    mask = torch.tensor([False, True, False, True]).view(4, 1, 1)
    assert carry_forward(values, mask).flatten().tolist() == [0.0, 2.0, 2.0, 4.0]


def test_inputs_of_a_window_do_not_depend_on_later_times(data: TemporalHypergraph) -> None:
    links = candidate_links(data.window(0, 3))
    mean = torch.zeros(data.num_features)
    deviation = torch.ones(data.num_features)
    kind = {
        "mean": mean,
        "deviation": deviation,
        "grouping": "hyperedges",
        "links": links,
        "known_agents": data.node_ids,
    }
    short = make_inputs(data.window(0, 3), **kind)
    long = make_inputs(data, **kind)
    assert torch.equal(short.x, long.x[:3])
    assert torch.equal(short.has_features, long.has_features[:3])
    assert long.last_groups.num_nodes == data.num_nodes
    last = data.window(data.num_times - 1, data.num_times)
    assert len(long.last_groups.node) == int((last.hyperedge_size[last.hyperedge_index[1]] > 1).sum())


def test_features_that_are_not_those_of_the_fit_are_refused(data: TemporalHypergraph) -> None:
    with pytest.raises(DataError, match="data has 24 features, but the model was fitted to 3"):
        make_inputs(
            data,
            mean=torch.zeros(3),
            deviation=torch.ones(3),
            grouping="hyperedges",
            links=candidate_links(data),
            known_agents=data.node_ids,
        )


def test_pairs_are_every_two_agents_who_share_a_group_at_a_time(data: TemporalHypergraph) -> None:
    index = memberships(data, "pairs")
    expected = set()
    for edge in range(data.num_hyperedges):
        members = data.hyperedge_index[0, data.hyperedge_index[1] == edge].tolist()
        time = int(data.hyperedge_time[edge])
        for low in members:
            for high in members:
                if low < high:
                    expected.add((time * data.num_nodes + low, time * data.num_nodes + high))
    found = {}
    for node, edge in index.mT.tolist():
        found.setdefault(edge, []).append(node)
    assert {tuple(sorted(pair)) for pair in found.values()} == expected
    assert len(found) == len(expected)


def test_candidates_are_the_comembers_sorted_by_target(data: TemporalHypergraph) -> None:
    links = candidate_links(data)
    everyone = {tuple(pair) for pair in comembers(data).mT.tolist()}
    assert {tuple(pair) for pair in links.mT.tolist()} == everyone
    keys = links[1] * data.num_nodes + links[0]
    assert bool((keys.diff() > 0).all())


def test_of_many_candidates_those_count_who_meet_most(
    data: TemporalHypergraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CANDIDATES", 2)
    links = candidate_links(data)
    times = torch.zeros(data.num_nodes, data.num_nodes)
    for time in range(data.num_times):
        pairs = comembers(data.window(time, time + 1))
        times[pairs[0], pairs[1]] += 1
    for agent in range(data.num_nodes):
        chosen = times[links[0, links[1] == agent], agent].sort(descending=True).values
        expected = times[:, agent].sort(descending=True).values[:2]
        torch.testing.assert_close(chosen, expected[expected > 0])


def test_links_are_placed_by_id() -> None:
    links = torch.tensor([[1, 2, 0], [0, 1, 2]])
    placed, rows = place_links(links, ("a", "b", "c"), ("c", "new", "b"))
    assert placed.tolist() == [[0], [2]]  # c -> b; links of a are gone
    assert rows.tolist() == [1]
    same, rows = place_links(links, ("a", "b", "c"), ("a", "b", "c"))
    assert same is links
    assert rows.tolist() == [0, 1, 2]


def test_replicates_are_blocks_of_agents(data: TemporalHypergraph) -> None:
    links = torch.tensor([[1, 0], [0, 2]])
    assert replicate_links(links, 3, 2).tolist() == [[1, 0, 4, 3], [0, 2, 3, 5]]
    mean = torch.zeros(data.num_features)
    inputs = make_inputs(
        data,
        mean=mean,
        deviation=mean + 1.0,
        grouping="hyperedges",
        links=candidate_links(data),
        known_agents=data.node_ids,
    )
    twice = replicate_groups(inputs.last_groups, 2)
    assert twice.num_nodes == 2 * data.num_nodes
    nodes = sorted(inputs.last_groups.node.tolist())
    assert sorted(twice.node.tolist()) == nodes + [node + data.num_nodes for node in nodes]


def test_data_without_groups_have_no_links() -> None:
    index = torch.zeros(2, 0, dtype=torch.long)
    data = TemporalHypergraph(
        x=torch.zeros(2, 3, 1),
        x_mask=torch.ones(2, 3, 1, dtype=torch.bool),
        hyperedge_index=index,
        hyperedge_time=index[0],
        y=torch.zeros(2, 3, dtype=torch.long),
        y_mask=torch.ones(2, 3, dtype=torch.bool),
        num_nodes=3,
        num_hyperedges=0,
        node_ids=("a", "b", "c"),
        hyperedge_ids=(),
        feature_names=("f",),
        class_names=("k",),
        times=(0, 1),
    )
    assert candidate_links(data).shape == (2, 0)
    assert memberships(data, "pairs").shape == (2, 0)
