"""The graph that users see, in the order of their agents."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc


def test_links_name_the_same_agents_whatever_their_order():
    data = sphunc.simulate("snare", agents=24, times=6, seed=0).data
    names = [f"n{k:02d}" for k in range(24)]
    turned = replace(data, node_ids=tuple(reversed(names)), influence=None, influence_kind="")
    graph = SphUnc(seed=0).fit(turned, verbose=False).influence()
    met = set()
    node, edge = turned.hyperedge_index
    for group in edge.unique().tolist():
        members = node[edge == group].tolist()
        met |= {(i, j) for i in members for j in members if i != j}
    assert {tuple(pair) for pair in graph.links.T.tolist()} <= met
    assert bool((graph.probability >= 0).all())
    assert bool((graph.probability <= 1).all())
    assert graph.calibrated
    assert torch.equal(graph.links, graph.links.long())


def test_why_there_are_no_links_is_said():
    data = sphunc.simulate("snare", agents=24, times=5, seed=0).data
    quick = SphUnc(quick=True).fit(data, verbose=False)
    with pytest.raises(ArgumentError, match="no influence could be learned"):
        quick.influence()
