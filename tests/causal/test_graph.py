from dataclasses import replace

import networkx
import numpy as np
import pytest
import torch

import sphunc
from sphunc.errors import ArgumentError, SphuncError


@pytest.fixture
def graph(latents):
    return sphunc.causal.discover(latents, diagnose=False, calibrate=False)


def test_frame_is_sorted_and_top_is_its_head(graph):
    frame = graph.to_frame()
    assert frame.columns == ["source", "target", "probability", "strength", "lag"]
    assert frame["probability"].is_sorted(descending=True)
    assert graph.top(3).equals(frame.head(3))
    assert graph.top(np.int64(3)).equals(frame.head(3))
    assert torch.equal(graph.sample(np.int64(5), np.int64(2)).gates, graph.sample(5, 2).gates)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda graph: graph.top(True), "count=True must be a whole number, got bool"),
        (lambda graph: graph.top(-2), "count=-2 must be at least 1"),
        (lambda graph: graph.sample(3, True), "seed=True must be a whole number, got bool"),
        (lambda graph: graph.sample(3, -1), "seed=-1 must be at least 0"),
    ],
)
def test_counts_and_seeds_are_checked(graph, ask, words):
    with pytest.raises(SphuncError, match=words):
        ask(graph)


def test_confidence_is_between_zero_and_one(graph):
    assert 0 < graph.confidence < 1
    assert bool(((graph.agent_confidence >= 0) & (graph.agent_confidence <= 1)).all())
    assert bool(((graph.link_confidence >= 0) & (graph.link_confidence <= 1)).all())
    assert "1 - H" not in graph.assumptions
    assert "Granger" in graph.assumptions


def test_networkx_keeps_every_agent(graph):
    found = graph.to_networkx()
    assert isinstance(found, networkx.DiGraph)
    assert set(found.nodes) == set(range(6))
    assert found.edges[2, 3]["probability"] > 0.5


def test_gates_are_posterior_means(graph):
    torch.testing.assert_close(graph.gates, graph.probability * graph.strength)


def test_agents_frame_has_a_row_per_agent(graph):
    frame = graph.agents_to_frame()
    assert frame.height == 6
    assert frame["candidates"].to_list() == [5] * 6


def test_unknown_agent_is_refused(graph):
    with pytest.raises(ArgumentError, match="unknown agent 'x'; the 6 known ones begin 0, 1, 2"):
        graph.parents("x")


def test_varied_strengths_scatter_around_the_mean(graph):
    drawn = graph.sample(400, seed=1, vary_strength=True)
    sure = int(graph.probability.argmax())
    values = drawn.strengths[drawn.gates[:, sure], sure]
    assert float(values.mean()) == pytest.approx(float(graph.strength[sure]), abs=0.2 * float(graph.deviation[sure]))


def test_agents_of_mixed_types_stay_apart_in_frames(graph):
    mixed = replace(graph, agents=(1, "1", *range(2, graph.num_agents)))
    assert mixed.agents_to_frame()["agent"].n_unique() == graph.num_agents
    assert set(mixed.to_frame()["source"]) == set(mixed.agents_to_frame()["agent"])
