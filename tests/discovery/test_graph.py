from dataclasses import replace
from datetime import date

import networkx
import numpy as np
import pytest
import torch

from sphunc.discovery import InfluenceGraph
from sphunc.discovery.graph import ASSUMPTIONS, stratified_uniform
from sphunc.errors import SphuncError

LINKS = torch.tensor([[1, 2, 0, 2], [0, 0, 1, 1]])


@pytest.fixture
def graph() -> InfluenceGraph:
    return InfluenceGraph(
        links=LINKS,
        agents=("ann", "bob", "cem"),
        probability=torch.tensor([0.9, 0.1, 0.52, 0.9], dtype=torch.double),
        strength=torch.tensor([0.2, 0.1, -0.4, -0.3], dtype=torch.double),
        deviation=torch.full((4,), 0.05, dtype=torch.double),
        prior=torch.tensor([0.1, 0.1, 0.5, 0.1], dtype=torch.double),
    )


def test_frame_is_sorted_and_ties_go_to_the_stronger_link(graph):
    frame = graph.to_frame()
    assert frame.columns == ["source", "target", "probability", "strength", "lag"]
    assert frame.rows()[0] == ("cem", "bob", 0.9, -0.3, 1)
    assert frame["probability"].is_sorted(descending=True)


def test_top_leaves_out_links_about_which_the_data_say_nothing(graph):
    assert graph.top(10).height == 2
    assert graph.top(1).rows() == graph.to_frame().rows()[:1]
    nothing = replace(graph, probability=graph.prior)
    assert nothing.top(5).height == 0
    assert nothing.top(5).schema == graph.top(5).schema


def test_entropy_and_confidence_follow_their_definition(graph):
    p = graph.probability
    h = -(p * p.log() + (1 - p) * (1 - p).log())
    torch.testing.assert_close(graph.entropy, torch.stack([h[0] + h[1], h[2] + h[3], h[0] * 0]))
    q = graph.prior
    prior = -(q * q.log() + (1 - q) * (1 - q).log())
    assert graph.confidence == pytest.approx(float(1 - h.sum() / prior.sum()))
    assert float(graph.agent_confidence[2]) == 0.0
    assert float(graph.link_confidence[0]) == pytest.approx(float(1 - h[0] / np.log(2)))


def test_set_entropy_is_used_up_to_that_of_independent_links(graph):
    given = replace(graph, set_entropy=torch.tensor([0.1, 9.0, 0.0], dtype=torch.double))
    assert float(given.entropy[0]) == pytest.approx(0.1)
    assert float(given.entropy[1]) == pytest.approx(float(graph.entropy[1]))


def test_defaults_are_one_lag_and_an_even_prior():
    bare = InfluenceGraph(LINKS, (0, 1, 2), torch.full((4,), 0.5), torch.zeros(4), torch.ones(4))
    assert bare.lag.tolist() == [1, 1, 1, 1]
    assert bare.prior.tolist() == [0.5] * 4
    assert bare.confidence == pytest.approx(0.0)


def test_links_of_another_length_are_refused():
    with pytest.raises(SphuncError, match=r"links has shape \(2, 4\); 3 probabilities ask for \[2, 3\]"):
        InfluenceGraph(LINKS, (0, 1, 2), torch.zeros(3), torch.zeros(3), torch.zeros(3))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda graph: graph.top(True), "count=True must be a whole number, got bool"),
        (lambda graph: graph.top(-2), "count=-2 must be at least 1"),
        (lambda graph: graph.sample(3, -1), "seed=-1 must be at least 0"),
        (lambda graph: graph.parents("x"), "unknown agent 'x'; the 3 known ones begin ann, bob, cem"),
    ],
)
def test_arguments_are_checked(graph, ask, words):
    with pytest.raises(SphuncError, match=words):
        ask(graph)


def test_parents_are_the_probable_ones(graph):
    assert graph.parents("bob") == [("cem", pytest.approx(0.9), pytest.approx(-0.3)), ("ann", 0.52, -0.4)]


def test_networkx_keeps_every_agent(graph):
    found = graph.to_networkx(0.6)
    assert isinstance(found, networkx.DiGraph)
    assert set(found.nodes) == {"ann", "bob", "cem"}
    assert set(found.edges) == {("bob", "ann"), ("cem", "bob")}


def test_independent_samples_have_the_stated_frequencies(graph):
    drawn = graph.sample(50, seed=3)
    expected = 50 * graph.probability
    assert bool(((drawn.exists.sum(0) - expected).abs() < 1).all())
    assert torch.equal(drawn.strengths != 0, drawn.exists)
    assert torch.equal(drawn.exists, graph.sample(np.int64(50), np.int64(3)).exists)
    assert drawn.strata.shape == (50, 3)


def test_samples_keep_the_joint_law_of_stored_draws(graph):
    # Parents of agent 1 exclude each other: exactly one of links 2 and 3 in every stored draw.
    first = torch.arange(40) % 2 == 0
    draws = torch.stack([first, ~first, first, ~first], 1)
    half = replace(graph, probability=torch.full((4,), 0.5, dtype=torch.double), structure_draws=draws)
    drawn = half.sample(200, seed=0).exists
    assert bool((drawn[:, 2] ^ drawn[:, 3]).all())


def test_samples_of_stored_draws_follow_the_probability(graph):
    generator = torch.Generator().manual_seed(0)
    draws = torch.rand(100, 4, generator=generator) < 0.5
    drawn = replace(graph, structure_draws=draws).sample(4000, seed=1)
    frequency = drawn.exists.double().mean(0)
    # Binomial error of 4,000 draws is 0.008.
    torch.testing.assert_close(frequency, graph.probability, atol=0.03, rtol=0)


def test_varied_strengths_scatter_around_the_mean(graph):
    drawn = graph.sample(4000, seed=1, vary_strength=True)
    values = drawn.strengths[drawn.exists[:, 0], 0]
    assert float(values.mean()) == pytest.approx(0.2, abs=0.005)
    assert float(values.std()) == pytest.approx(0.05, rel=0.1)


def test_agents_frame_has_a_row_per_agent(graph):
    frame = graph.agents_to_frame()
    assert frame["candidates"].to_list() == [2, 2, 0]
    assert frame["expected_parents"].to_list() == pytest.approx([1.0, 1.42, 0.0])


def test_repr_tells_sizes_and_verdict(graph):
    assert "3 agents, 4 candidate links, 3 above 0.5" in repr(graph)
    assert graph.verdict in repr(graph)
    assert graph.assumptions == ASSUMPTIONS


def test_coefficient_is_the_posterior_mean(graph):
    torch.testing.assert_close(graph.coefficient, graph.probability * graph.strength)


def test_ids_stay_apart_in_frames(graph):
    mixed = replace(graph, agents=(1, "1", date(2020, 1, 1)))
    assert mixed.agents_to_frame()["agent"].n_unique() == 3


def test_stratified_numbers_fill_every_stratum():
    uniform, strata = stratified_uniform(20, 3, torch.Generator().manual_seed(0))
    assert torch.equal((uniform * 20).long(), strata)
    assert torch.equal(strata.sort(0).values, torch.arange(20)[:, None].expand(20, 3))
