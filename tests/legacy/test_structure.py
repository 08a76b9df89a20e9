"""Structures move to other agents by id, survive a round trip, and are empty where nothing can be learned."""

import json
from dataclasses import replace

import pytest
import torch

from sphunc.causal import discover
from sphunc.hypergraph import assemble
from sphunc.legacy.signal import lasting_components
from sphunc.legacy.situation import posterior
from sphunc.legacy.structure import (
    Structure,
    learn_structure,
    no_structure,
    of_graph,
    place,
    structure_from,
)
from sphunc.legacy.structure import structure_state as state_of

LINKS = torch.tensor([[0, 1, 2], [1, 2, 0]])
ABC = Structure(LINKS, torch.tensor([0.1, 0.2, 0.3]), None)


def moving(T=5, N=4, seed=0):
    states = torch.randn(T, N, 6, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(states, dim=-1)


def together(T, N, size=2):
    return assemble(
        times=range(T),
        node_ids=[f"a{i}" for i in range(N)],
        features=([t for t in range(T) for _ in range(N)], list(range(N)) * T, [[1.0]] * (T * N)),
        feature_names=["seen"],
        hyperedge_ids=range(N // size),
        hyperedge_time=[0] * (N // size),
        memberships=([i // size for i in range(N // size * size)], range(N // size * size)),
    )


def once_each(T=5):
    """Pairs of agents, each of whom is seen at one time only."""
    return assemble(
        times=range(T),
        node_ids=[f"a{i}" for i in range(2 * T)],
        features=([i // 2 for i in range(2 * T)], range(2 * T), [[1.0]] * (2 * T)),
        feature_names=["seen"],
        hyperedge_ids=range(T),
        hyperedge_time=range(T),
        memberships=([i // 2 for i in range(2 * T)], range(2 * T)),
    )


def test_the_same_agents_keep_their_links():
    links, gates = place(ABC, ("a", "b", "c"), ("a", "b", "c"))
    assert torch.equal(links, LINKS)
    assert torch.equal(gates, ABC.gates)


def test_links_follow_ids_and_vanish_with_them():
    links, gates = place(ABC, ("a", "b", "c"), ("new", "c", "b"))
    assert links.tolist() == [[2], [1]]  # b -> c
    assert gates.tolist() == pytest.approx([0.2])


def test_strangers_have_no_links():
    assert place(ABC, ("a", "b", "c"), ("x", "y"))[0].shape == (2, 0)
    assert place(no_structure(), (), ("x",))[1].shape == (0,)


def test_ids_of_another_type_are_told_of():
    numbers = (1, 2, 3)
    with pytest.warns(
        UserWarning,
        match=r"3 of the 3 agents of the data are not known.*; 2 of them would .* as 1 \(int\) for '1' \(str",
    ):
        assert place(ABC, numbers, ("1", "2", "x"))[0].shape == (2, 0)
    with pytest.warns(UserWarning, match=r"2 of the 4 agents of the data are not known.*; 1 of them would be known"):
        assert place(ABC, numbers, ("1", 2, 3, "x"))[0].shape == (2, 1)  # also where some are known
    assert place(no_structure(), numbers, ("1", "2"))[0].shape == (2, 0)  # there is nothing to lose


def test_newcomers_whose_ids_look_like_those_of_others_are_no_matter():
    assert place(ABC, (1, 2, 3), (1, 2, 3, "3", "new"))[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("latents", "data"),
    [
        (moving(T=2), together(2, 4)),
        (moving(N=1), together(5, 1)),
        (moving(), together(5, 4, size=1)),
        (moving(T=1).expand(5, -1, -1), together(5, 4)),
        (moving(N=10), once_each()),
    ],
    ids=["two times", "one agent", "nobody meets", "nothing moves", "nobody seen twice"],
)
def test_too_little_to_see_leaves_no_links(latents, data):
    structure = learn_structure(latents, data, max_lag=None, seed=0)
    assert structure.graph is None
    assert structure.confidence == 0


def test_gates_are_posterior_means_and_survive_a_round_trip():
    data = together(5, 4)
    structure = learn_structure(moving(), data, max_lag=1, seed=0)
    components = lasting_components(moving().double(), data.present)
    graph = discover(components, data=data, max_lag=1, message_map="weigh", calibrate=False, diagnose=False)
    assert torch.allclose(structure.gates.double(), graph.gates)
    assert structure.gates.dtype == torch.float32
    words, tensors = state_of(structure)
    back = structure_from(json.loads(json.dumps(words)), tensors, data.node_ids, "cpu")
    assert torch.equal(back.gates, structure.gates)
    assert back.graph.to_frame().equals(structure.graph.to_frame())
    assert back.confidence == structure.confidence
    assert torch.equal(of_graph(back.graph).gates, structure.gates)


def test_links_at_a_longer_lag_do_not_act():
    data = together(5, 4)
    graph = discover(moving(), data=data, max_lag=1, calibrate=False, diagnose=False)
    structure = of_graph(replace(graph, lag=torch.tensor([1, 2, 1, 2])))
    graph = structure.graph
    late = graph.lag > 1
    assert not structure.gates[late].any()
    assert bool((structure.gates[~late] != 0).all())
    assert bool((graph.strength != 0).all())  # it is known all the same
    found = int((late & (graph.probability > 0.5)).sum())
    note = f"{int(late.sum())} candidate links, {found} of them above probability 0.5, are at a lag above 1: forecasts"
    assert [one for one in graph.notes if one.startswith(note)] == [graph.notes[-1]]
    assert of_graph(graph).graph.notes == graph.notes
    drawn = posterior(structure, data.node_ids, data.node_ids, 40, 0)
    assert not drawn.strengths[:, late].any()
    assert bool(drawn.strengths[:, ~late].any())


def test_no_structure_survives_a_round_trip():
    words, tensors = state_of(no_structure())
    assert structure_from(words, tensors, (), "cpu").graph is None
