"""The fitted model: same seed same result, storage, unseen agents, odd data, numbers."""

import json
from dataclasses import replace

import pytest
import torch
from tests.model.paper.conftest import SMALL

from sphunc.errors import CheckpointError, DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model.paper import ABLATIONS, FittedPaper, PaperConfig, fit_paper


def reordered(data: TemporalHypergraph, order: list[int]) -> TemporalHypergraph:
    """The same data with agents in another order; agents left out are gone."""
    place = {agent: position for position, agent in enumerate(order)}
    inside = torch.tensor([int(agent) in place for agent in data.hyperedge_index[0]])
    agent = torch.tensor([place[int(a)] for a in data.hyperedge_index[0, inside]], dtype=torch.long)
    edge = data.hyperedge_index[1, inside]
    rank = torch.argsort(edge * len(order) + agent)
    return replace(
        data,
        x=data.x[:, order],
        x_mask=data.x_mask[:, order],
        y=data.y[:, order],
        y_mask=data.y_mask[:, order],
        hyperedge_index=torch.stack([agent[rank], edge[rank]]),
        num_nodes=len(order),
        node_ids=tuple(data.node_ids[i] for i in order),
        influence=None,
        influence_kind="",
    )


def with_numbers(data: TemporalHypergraph) -> TemporalHypergraph:
    values = torch.stack([10.0 + 2.0 * data.x[..., 0], -data.x[..., 1]], -1)
    return replace(data, y=values * data.y_mask.unsqueeze(-1), class_names=())


def test_a_forecast_has_every_part_for_every_agent(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    forecast = fitted.forecast(data)
    N = data.num_nodes
    assert forecast.log_probabilities.shape == (N, 3)
    torch.testing.assert_close(forecast.log_probabilities.exp().sum(-1), torch.ones(N))
    assert forecast.mean is None
    assert forecast.directions.shape == (N, 8)
    assert bool(((forecast.kappa >= 1) & (forecast.kappa <= 200)).all())
    assert bool(((forecast.total > 0) & (forecast.total < 1)).all())
    assert bool((forecast.aleatoric >= 0).all())
    assert bool(((forecast.epistemic_scaled >= 0) & (forecast.epistemic_scaled <= 1)).all())


def test_the_same_seed_gives_the_same_model_and_another_seed_another(
    fitted: FittedPaper, data: TemporalHypergraph, small: PaperConfig
) -> None:
    again = fit_paper(data, small, seed=0)
    other = fit_paper(data, small, seed=1)
    _, tensors = fitted.to_tensors()
    _, repeated = again.to_tensors()
    assert all(torch.equal(tensors[name], repeated[name]) for name in tensors)
    assert not torch.equal(other.network.weight, fitted.network.weight)


def test_influence_and_confidence_are_in_the_order_of_training(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    links, probability, strength = fitted.influence()
    assert links.shape == (2, len(probability))
    assert strength.shape == probability.shape
    assert bool(((probability >= 0) & (probability <= 1)).all())
    confidence = fitted.confidence()
    assert confidence.shape == (data.num_nodes,)
    assert bool(((confidence >= 0) & (confidence <= 1)).all())


@pytest.mark.parametrize("name", list(ABLATIONS))
def test_every_ablation_fits_forecasts_simulates_and_survives_storage(name: str, data: TemporalHypergraph) -> None:
    model = fit_paper(data, PaperConfig.ablation(name, **{**SMALL, "epochs": 1}), seed=0)
    document, tensors = model.to_tensors()
    restored = FittedPaper.from_tensors(json.loads(json.dumps(document)), tensors)
    one = model.forecast(data)
    other = restored.forecast(data)
    assert torch.equal(one.log_probabilities, other.log_probabilities)
    assert torch.equal(one.total, other.total)
    assert torch.equal(model.rollout(data, 2, 3, 0), restored.rollout(data, 2, 3, 0))
    assert restored.history == model.history
    assert restored.agents == model.agents
    assert restored.config == model.config


def test_storage_that_is_incomplete_is_refused(fitted: FittedPaper) -> None:
    document, tensors = fitted.to_tensors()
    del tensors["network.weight"]
    with pytest.raises(CheckpointError, match="cannot be read: 'weight'"):
        FittedPaper.from_tensors(document, tensors)


def test_agents_are_matched_by_id_in_any_order(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0)).tolist()
    found = fitted.forecast(reordered(data, order))
    expected = fitted.forecast(data)
    # Sums over parents and groups run in another order.
    torch.testing.assert_close(found.log_probabilities, expected.log_probabilities[order], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.total, expected.total[order])


def test_unseen_agents_are_forecast_without_links(data: TemporalHypergraph, small: PaperConfig) -> None:
    model = fit_paper(reordered(data, list(range(30))), small, seed=0)
    forecast = model.forecast(data)
    assert forecast.log_probabilities.shape == (40, 3)
    assert bool(forecast.log_probabilities.isfinite().all())
    assert model.rollout(data, 2, 2, 0, hold={39: torch.ones(8)}).shape == (2, 2, 40, 3)
    renamed = replace(data, node_ids=tuple(f"new {i}" for i in range(40)))
    assert not torch.allclose(model.forecast(renamed).log_probabilities, forecast.log_probabilities)


def test_two_times_are_enough(data: TemporalHypergraph, small: PaperConfig) -> None:
    model = fit_paper(data.window(0, 2), small, seed=0)
    assert bool(model.forecast(data.window(0, 2)).log_probabilities.isfinite().all())
    assert bool(model.forecast(data.window(0, 1)).log_probabilities.isfinite().all())
    assert model.rollout(data.window(0, 1), 2, 2, 0).shape == (2, 2, 40, 3)


def test_no_groups_mean_no_links(data: TemporalHypergraph, small: PaperConfig) -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    alone = replace(data, hyperedge_index=none, hyperedge_time=none[0], num_hyperedges=0, hyperedge_ids=())
    model = fit_paper(alone, small, seed=0)
    links, probability, strength = model.influence()
    assert links.shape == (2, 0)
    assert len(probability) == len(strength) == 0
    assert model.history[0].confidence is None
    assert not model.confidence().any()
    assert bool(model.rollout(alone, 2, 2, 0).isfinite().all())


def test_missing_features_and_absent_agents_are_forecast(data: TemporalHypergraph, small: PaperConfig) -> None:
    mask = data.x_mask & (torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0)) > 0.4)
    mask[:, 0] = False  # nothing is ever known of the first agent
    mask[-1, 1] = False  # the second is absent at the end
    holes = replace(data, x_mask=mask, x=torch.where(mask, data.x, 0.0))
    model = fit_paper(holes, small, seed=0)
    forecast = model.forecast(holes)
    assert bool(forecast.log_probabilities.isfinite().all())
    assert not forecast.directions[0].any()
    assert float(forecast.kappa[0]) == 1.0
    assert bool(forecast.directions[1].any())
    assert bool(model.rollout(holes, 3, 4, 0).isfinite().all())


def test_data_without_features_are_forecast_by_frequency(data: TemporalHypergraph, small: PaperConfig) -> None:
    bare = replace(data, x=data.x[..., :0], x_mask=data.x_mask[..., :0], feature_names=())
    forecast = fit_paper(bare, small, seed=0).forecast(bare)
    torch.testing.assert_close(forecast.log_probabilities, forecast.log_probabilities[:1].expand(40, 3))


@pytest.mark.parametrize("uncertainty", ["both", "epistemic"])
def test_numbers_have_means_and_variances_in_their_own_units(uncertainty: str, data: TemporalHypergraph) -> None:
    numbers = with_numbers(data)
    config = PaperConfig(**{**SMALL, "epochs": 12, "learning_rate": 2e-2}, uncertainty=uncertainty)
    model = fit_paper(numbers, config, seed=0)
    forecast = model.forecast(numbers)
    assert forecast.log_probabilities is None
    assert forecast.mean.shape == forecast.variance.shape == (40, 2)
    assert bool((forecast.variance > 0).all())
    assert float(forecast.mean[:, 0].mean()) == pytest.approx(10.0, abs=2.0)
    scores = [record.validation for record in model.history]
    assert min(scores) < scores[0]
    samples = model.rollout(numbers, 2, 3, 0)
    assert samples.shape == (3, 2, 40, 2)
    assert model.class_directions.shape == (0, 8)
    document, tensors = model.to_tensors()
    restored = FittedPaper.from_tensors(document, tensors)
    assert torch.equal(restored.forecast(numbers).variance, forecast.variance)


def test_numbers_may_be_in_any_unit(data: TemporalHypergraph, small: PaperConfig) -> None:
    numbers = with_numbers(data)
    scaled = replace(numbers, y=numbers.y * 1000.0)
    one = fit_paper(numbers, small, seed=0).forecast(numbers)
    other = fit_paper(scaled, small, seed=0).forecast(scaled)
    # The standardised outcomes are the same up to rounding, which training carries on.
    torch.testing.assert_close(other.mean, 1000.0 * one.mean, rtol=1e-2, atol=1.0)


def test_other_features_are_refused(fitted: FittedPaper, data: TemporalHypergraph) -> None:
    fewer = replace(data, x=data.x[..., :5], x_mask=data.x_mask[..., :5], feature_names=data.feature_names[:5])
    with pytest.raises(DataError, match="data has 5 features, but the model was fitted to 24"):
        fitted.forecast(fewer)
