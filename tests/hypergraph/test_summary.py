"""The summary counts what a person would count."""

import json

import numpy as np
import pytest

from sphunc.hypergraph import assemble, summarise

DATA = assemble(
    times=[2020, 2021],
    node_ids=["a", "b", "c", "d"],
    features=([0, 0, 1], [0, 1, 0], [[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]]),
    feature_names=["mood", "age"],
    hyperedge_ids=["x", "y", "z"],
    hyperedge_time=[0, 0, 1],
    memberships=([0, 0, 0, 1], [0, 1, 2, 1]),
    outcomes=([0, 0, 1], [0, 1, 0], [0, 1, 1]),
    class_names=["calm", "upset"],
    influence=[[0], [1]],
    influence_kind="reply",
)


def test_counts():
    summary = summarise(DATA)
    assert (summary.agents, summary.times, summary.groups, summary.memberships) == (4, 2, 3, 4)
    assert (summary.size_min, summary.size_median, summary.size_max, summary.empty_groups) == (0, 1.0, 3, 1)
    assert summary.groups_per_time == (2, 1)
    assert summary.missing_share == pytest.approx(1 / 6)
    assert summary.absent_share == 5 / 8
    assert (summary.absent_agents, summary.isolated_agents) == (2, 1)
    assert summary.classes_per_time == ((1, 1), (0, 1))
    assert (summary.links, summary.links_kind) == (1, "reply")


def test_text_tells_all_of_it():
    assert str(summarise(DATA)).splitlines() == [
        "agents       4 (2 never seen) (1 in no group)",
        "times        2 (2020 ... 2021)",
        "features     2, 16.7% of cells missing, agents absent at 62.5% of their times",
        "groups       3 (1 empty), 1 ... 2 per time",
        "group size   0 ... 3, median 1",
        "memberships  4",
        "outcome      2 classes, known for 37.5% of times and agents",
        "links        1 reply",
        "class  agents at each time",
        "calm        1      0",
        "upset       1      1",
    ]


def test_dictionary_is_json():
    assert json.loads(json.dumps(summarise(DATA).to_dict()))["classes"] == ["calm", "upset"]


def test_bare_data_and_numbers():
    bare = summarise(assemble(times=[0], node_ids=[]))
    assert (bare.agents, bare.outcome, bare.size_median) == (0, "none", 0.0)
    assert "none known" in str(bare)
    numbers = assemble(times=[0], node_ids=["a"], outcomes=([0], [0], [0.5]))
    assert "numbers, known for 100.0%" in str(summarise(numbers))
    assert "features     0 (a model needs at least one), agents absent" in str(summarise(numbers))
    two = assemble(times=[0], node_ids=["a"], outcomes=([0], [0], [[0.5, 1.5]]), outcome_names=["joy", "fear"])
    assert "numbers (joy, fear), known for 100.0%" in str(summarise(two))


def test_long_lists_of_classes_are_cut():
    names = [f"class-{i:02}" for i in range(20)]
    many = assemble(times=[0], node_ids=range(20), outcomes=([0] * 20, range(20), range(20)), class_names=names)
    assert str(summarise(many)).endswith("... and 8 more classes")
