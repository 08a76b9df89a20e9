"""The graph that users see, in the order of their agents."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.discovery.verdict import READINGS
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


def test_without_meetings_there_is_a_graph_without_links_that_says_why():
    data = sphunc.simulate("snare", agents=24, times=6, seed=0).data
    none = torch.zeros(2, 0, dtype=torch.long)
    alone = replace(
        data,
        hyperedge_index=none,
        hyperedge_time=none[0],
        num_hyperedges=0,
        hyperedge_ids=(),
        influence=None,
        influence_kind="",
    )
    graph = SphUnc(seed=0).fit(alone, verbose=False).influence()
    assert graph.links.shape == (2, 0)
    assert "nobody ever meets" in graph.notes[0]
    assert "no candidate links" in graph.verdict
    assert graph.top(3).height == 0
    assert graph.confidence == 0.0
    assert graph.sample(2).exists.shape == (2, 0)


def test_a_fit_checks_its_links():
    data = sphunc.simulate("snare", agents=60, times=10, seed=0).data
    graph = SphUnc(seed=0).fit(data, verbose=False).influence()
    assert [check.name for check in graph.checks] == list(READINGS)
    values = {check.name: check.value for check in graph.checks}
    assert values["placebo_links"] < 0.3 * float(graph.probability[graph.probability > 0.5].sum())
    assert values["shock_response"] > 0.7
    assert values["simulated_precision"] > 0.7
    assert all(check.reading for check in graph.checks)
