"""Simulation of interventions: limits, shared noise, what acts and what does not; entropies."""

import math

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import FittedPaper, simulation
from sphunc.model.paper.simulation import class_entropy, number_entropy, simulate
from sphunc.model.paper.training import inputs_for


def certain(fitted: FittedPaper) -> FittedPaper:
    """The same model with links that are certainly there or certainly not."""
    document, tensors = fitted.to_tensors()
    odds = torch.full_like(tensors["network.log_odds"], -1e4)
    odds[::3] = 1e4
    coefficient = torch.full_like(tensors["network.coefficient"], 0.5)
    changed = {"network.log_odds": odds, "network.coefficient": coefficient}
    return FittedPaper.from_tensors(document, {**tensors, **changed})


def test_the_first_step_without_intervention_is_the_forecast(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    model = certain(fitted)
    samples = model.rollout(data, horizon=2, samples=3, seed=0)
    expected = model.forecast(data).log_probabilities.exp()
    for sample in samples[:, 0]:
        torch.testing.assert_close(sample, expected)
    assert float(samples[:, 1].std(0).max()) > 0  # noise acts from the second step on
    torch.testing.assert_close(samples.sum(-1), torch.ones(samples.shape[:-1]))


def test_arms_share_structures_and_noise(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    direction = torch.nn.functional.normalize(torch.ones(8), dim=0)
    factual = fitted.rollout(data, 2, 4, seed=5)
    assert torch.equal(factual, fitted.rollout(data, 2, 4, seed=5))
    assert not torch.equal(factual, fitted.rollout(data, 2, 4, seed=6))
    acted = fitted.rollout(data, 2, 4, seed=5, hold={3: direction})
    changed = (factual != acted).any(-1)
    assert bool(changed[:, 0, 3].all())
    # One step on: only agents with a link from 3, or a group in common, can have changed.
    links, _, _ = fitted.influence()
    inputs = inputs_for(fitted.network, data, fitted.agents)
    near = {3} | set(links[1, links[0] == 3].tolist())
    for _ in range(fitted.config.layers):
        for rectangle in inputs.last_groups.rectangles():
            for group in rectangle.tolist():
                if near & set(group):
                    near |= set(group)
    assert set(changed[:, 0].any(0).nonzero().flatten().tolist()) <= near
    assert bool(changed[:, 0].any(0)[links[1, links[0] == 3]].any())


def test_holding_an_agent_where_it_is_changes_nothing_at_the_first_step(
    fitted: FittedPaper, data: TemporalHypergraph
) -> None:
    model = certain(fitted)
    here = model.forecast(data).directions[3]
    factual = model.rollout(data, 1, 1, seed=0)
    acted = model.rollout(data, 1, 1, seed=0, hold={3: here})
    others = [agent for agent in range(data.num_nodes) if agent != 3]
    torch.testing.assert_close(acted[:, :, others], factual[:, :, others])


def test_samples_do_not_depend_on_which_are_simulated_together(
    fitted: FittedPaper, data: TemporalHypergraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The streams differ, the distribution does not: means agree within their standard error.
    together = fitted.rollout(data, 2, 200, seed=0)
    monkeypatch.setattr(simulation, "BATCH", 40 * 8 * 16)
    apart = fitted.rollout(data, 2, 200, seed=0)
    error = (together.var(0) / 200 + apart.var(0) / 200).sqrt()
    gap = (together.mean(0) - apart.mean(0)).abs()
    assert float((gap / (error + 1e-4)).max()) < 6.0


def test_faulty_interventions_are_refused(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    with pytest.raises(ArgumentError, match="hold names agent 40, but there are 40"):
        fitted.rollout(data, 1, 1, seed=0, hold={40: torch.ones(8)})
    with pytest.raises(ArgumentError, match=r"shape \(3,\); give a direction of shape \(8,\)"):
        fitted.rollout(data, 1, 1, seed=0, hold={0: torch.ones(3)})
    with pytest.raises(ArgumentError, match="horizon is 0"):
        fitted.rollout(data, 0, 1, seed=0)


def test_variance_of_classes_is_not_reported(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    inputs = inputs_for(fitted.network, data, fitted.agents)
    _, variance = simulate(fitted.network, inputs, horizon=1, samples=1, seed=0)
    assert not variance.any()


def test_entropy_of_classes_is_corrected_for_few_samples(generator: torch.Generator) -> None:
    p = torch.tensor([[0.5, 0.3, 0.2]])
    entropy = -float((p * p.log()).sum())
    assert float(class_entropy(p.unsqueeze(0))) == pytest.approx(entropy, rel=1e-6)
    gamma = torch._standard_gamma(10 * p.expand(400, 20, 1, 3), generator=generator)
    draws = gamma / gamma.sum(-1, keepdim=True)
    plain = torch.special.entr(draws.mean(1)).sum(-1).mean()
    found = torch.stack([class_entropy(sample) for sample in draws]).mean()
    assert abs(float(found) - entropy) < abs(float(plain) - entropy)
    sure = torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]])
    assert float(class_entropy(sure)) == 0.0
    split = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert float(class_entropy(split)) == pytest.approx(math.log(2.0))


def test_entropy_of_numbers_is_that_of_a_normal_law() -> None:
    means = torch.tensor([[[1.0]], [[3.0]]])  # variance 2
    found = number_entropy(means, torch.tensor([0.5]), torch.tensor([2.0]))
    expected = torch.distributions.Normal(0.0, math.sqrt(2.0 + 0.5 * 4.0)).entropy()
    assert float(found) == pytest.approx(float(expected), rel=1e-6)
