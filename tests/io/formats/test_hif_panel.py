"""Panels as records of agents, there and back."""

import json

import torch

from sphunc.hypergraph import assemble
from sphunc.io.formats.hif_panel import panel_from_nodes, panel_to_nodes

DATA = assemble(
    times=[1, 2],
    node_ids=["a", "b"],
    features=([0, 1], [0, 0], [[1.0, float("nan")], [2.0, 3.0]]),
    feature_names=["f", "g"],
    outcomes=([1], [1], [[0.5, 1.5]]),
)


def test_times_without_anything_seen_are_left_out():
    assert panel_to_nodes(DATA) == [
        {"features": {"0": [1.0, None], "1": [2.0, 3.0]}},
        {"outcomes": {"1": [0.5, 1.5]}},
    ]


def test_records_give_the_panel_back():
    panel = json.loads(json.dumps(panel_to_nodes(DATA)))
    records = [{"node": node, "attrs": attrs} for node, attrs in zip(DATA.node_ids, panel, strict=True)]
    facts = {"features": ["f", "g"], "outcomes": 2, "influence": {"kind": "reply", "source": ["b"], "target": ["a"]}}
    again = panel_from_nodes(assemble(times=[1, 2], node_ids=["a", "b"]), records, facts)
    assert torch.equal(again.x, DATA.x)
    assert torch.equal(again.x_mask, DATA.x_mask)
    assert again.y is not None
    assert DATA.y is not None
    assert torch.equal(again.y, DATA.y)
    assert again.influence is not None
    assert again.influence.tolist() == [[1], [0]]
