"""The graph that users see, in the order of their agents."""

from dataclasses import replace

import pytest
import torch

import sphunc
from sphunc.discovery.verdict import READINGS
from sphunc.errors import ArgumentError
from sphunc.estimator import SphUnc
from sphunc.forecasting import canonical_order
from sphunc.model import influence_graph


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


@pytest.fixture(scope="module")
def fitted():
    data = sphunc.simulate("snare", agents=60, times=10, seed=0).data
    names = tuple(f"n{k:02d}" for k in reversed(range(60)))
    renamed = replace(data, node_ids=names, influence=None, influence_kind="")
    return SphUnc(seed=0).fit(renamed, verbose=False)


def test_structure_draws_agree_with_the_probabilities(fitted):
    graph = fitted.influence()
    draws = graph.structure_draws
    assert draws.dtype == torch.bool
    assert draws.shape[1] == graph.links.shape[1]
    count = len(draws)
    assert count >= 50
    # Draws of a Gibbs sampler are autocorrelated: three binomial errors of a fourth of them.
    error = (graph.probability * (1 - graph.probability) / (count / 4)).sqrt()
    gap = (draws.double().mean(0) - graph.probability).abs()
    assert float((gap < 3 * error + 2 / count).double().mean()) > 0.97
    frequency = graph.sample(400, seed=0).exists.double().mean(0)
    assert float((frequency - graph.probability).abs().max()) < 0.1


def test_structure_draws_are_those_of_the_sampler_link_by_link(fitted):
    model = fitted.model_
    structure = model.predictor.states.structure
    graph = fitted.influence()
    order = canonical_order(graph.agents)
    draws = structure.draws
    for k in (0, 17, graph.links.shape[1] - 1):
        source, target = (order.index(int(agent)) for agent in graph.links[:, k])
        slots = structure.slots[target]
        column = (structure.links.source[target, slots] == source) & structure.links.is_candidate[target, slots]
        assert torch.equal(graph.structure_draws[:, k], (draws[:, target, column] != 0).any(1))


def test_samples_respect_the_drawn_structures(fitted):
    model = fitted.model_
    states = model.predictor.states
    structure = states.structure
    target = int(structure.links.is_candidate.sum(1).argmax())
    usable = structure.links.is_candidate[target, structure.slots[target]].nonzero().flatten()[:2]
    first, second = structure.slots[target, usable].tolist()
    draws = structure.draws.clone()
    is_first = torch.arange(len(draws)) < len(draws) // 2
    draws[:, target] = 0.0
    draws[:, target, usable[0]] = is_first.to(draws)
    draws[:, target, usable[1]] = (~is_first).to(draws)
    probability = structure.links.probability.clone()
    probability[target] = 0.0
    probability[target, [first, second]] = draws[:, target, usable].mean(0).to(probability)
    links = replace(structure.links, probability=probability)
    states = replace(states, links=links, structure=replace(structure, links=links, draws=draws))
    excluding = replace(model, predictor=replace(model.predictor, states=states))
    graph = influence_graph(excluding, tuple(fitted.schema_.agents))
    position = int(canonical_order(graph.agents)[target])
    pair = ((graph.links[1] == position) & (graph.probability > 0)).nonzero().flatten()
    assert len(pair) == 2
    exists = graph.sample(300, seed=0).exists[:, pair]
    assert bool((exists[:, 0] ^ exists[:, 1]).all())
    assert float(exists[:, 0].double().mean()) == pytest.approx(0.5, abs=0.05)


def test_the_graph_of_the_paper_has_the_confidence_that_its_epochs_record():
    data = sphunc.simulate("snare", agents=24, times=6, seed=0).data
    model = SphUnc(sphunc.SphUncConfig.paper(epochs=4), seed=0).fit(data, verbose=False)
    graph = model.influence()
    best = min(model.history_, key=lambda record: record.validation)
    assert graph.confidence == pytest.approx(best.confidence, abs=1e-6)
    candidates = torch.bincount(graph.links[1], minlength=24)[graph.links[1]].double()
    torch.testing.assert_close(graph.prior, (2.0 / candidates).clamp(max=0.5))
