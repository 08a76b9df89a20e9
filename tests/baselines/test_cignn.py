"""CI-GNN: mask and layers against dense matrices, numbers by hand, and information terms that really train."""

import dataclasses
import math

import pytest
import torch

from sphunc import forecaster, simulate
from sphunc.baselines import cignn
from sphunc.baselines.cignn import (
    CIGNN,
    CIGNNEncoder,
    CIGNNSettings,
    adjacency_in,
    divergence,
    edge_score,
    edges_in,
    masked_mean,
    normalised,
)
from sphunc.baselines.panel import Panel, learn_scale, make_panel
from sphunc.baselines.targets import targets_of
from sphunc.hypergraph import TemporalHypergraph

SETTINGS = CIGNNSettings(width=16, causal=6, other=3)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small() -> tuple[TemporalHypergraph, Panel]:
    data = simulate("snare", agents=40, times=5, seed=0).data
    return data, make_panel(data, learn_scale(data, 5), data.num_classes)


def encoder(panel: Panel, settings: CIGNNSettings = SETTINGS) -> CIGNNEncoder:
    return CIGNNEncoder(panel.num_inputs, settings, generator())


def test_mask_by_hand() -> None:
    # alpha_1^T M alpha_0 / sqrt(4) = 2 * 3 * (log 3 / 3) / 2 = log 3, and sigmoid(log 3) = 3/4; the way back is 1/2.
    alpha = torch.tensor([[0.0, 3.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    mixing = torch.zeros(4, 4)
    mixing[0, 1] = math.log(3) / 3
    score = edge_score(alpha, mixing, torch.tensor([[0, 1], [1, 0]]))
    assert torch.allclose(torch.sigmoid(score), torch.tensor([0.75, 0.5]))


def test_masks_begin_at_one_half_and_one_for_all_would_forecast_otherwise() -> None:
    data = simulate("pheme", agents=60, times=8, seed=5).data
    model = forecaster("cignn", seed=0, epochs=60).fit(data, verbose=False)
    panel = make_panel(data, model.scale_, model.schema_.outputs)
    spatial, edges = model.network_.spatial, edges_in(panel, "now")
    fresh = CIGNNEncoder(panel.num_inputs, spatial.settings, generator())
    with torch.no_grad():
        fresh.prepare(panel)
        begun = edge_score(fresh._latent(panel)[0][:, :24], fresh.mixing, edges) + fresh.offset
        assert begun.mean().item() == pytest.approx(0.0, abs=1e-5)
        score = edge_score(spatial._latent(panel)[0][:, :24], spatial.mixing, edges) + spatial.offset
        assert torch.sigmoid(score).std() > 0.02
        before = model.predict(data).probabilities
        spatial.mixing.zero_()
        spatial.offset.copy_(torch.logit(torch.sigmoid(score).mean()))
        assert (model.predict(data).probabilities - before).abs().max() > 1e-3


def test_adjacency_and_masked_mean_against_dense_matrices() -> None:
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    dense = torch.eye(4)
    dense[pairs[1], pairs[0]] = 1.0
    root = dense.sum(1).rsqrt()
    x = torch.randn(4, 3, generator=generator())
    assert torch.allclose(normalised(pairs, 4) @ x, (root[:, None] * dense * root) @ x, atol=1e-6)
    mask = torch.tensor([0.1, 0.2, 0.3, 0.4])
    expected = torch.stack([0.2 * x[1], (0.1 * x[0] + 0.4 * x[2]) / 2, 0.3 * x[1], torch.zeros(3)])
    assert torch.allclose(masked_mean(x, mask, pairs), expected, atol=1e-6)


def test_divergence_agrees_with_torch() -> None:
    mu, log_sigma = torch.randn(2, 5, 3, generator=generator())
    theirs = torch.distributions.kl_divergence(
        torch.distributions.Normal(mu, log_sigma.exp()), torch.distributions.Normal(0.0, 1.0)
    )
    assert torch.allclose(divergence(mu, log_sigma), theirs.sum(-1), atol=1e-5)


def test_edges_run_from_the_co_members_of_now() -> None:
    _, panel = small()
    assert sorted(edges_in(panel, "now").T.tolist()) == sorted(adjacency_in(panel).pairs.T.tolist())


def test_edges_run_from_everybody_met_so_far_where_asked() -> None:
    _, panel = small()
    source, target = edges_in(panel, "met")
    agents = panel.num_agents
    assert bool((source // agents == target // agents).all())
    per_time = torch.bincount(target // agents, minlength=panel.num_times)
    assert bool((per_time.diff() > 0).all())
    now = adjacency_in(panel).pairs
    assert set(map(tuple, now.T.tolist())) <= set(zip(source.tolist(), target.tolist(), strict=True))


def test_evaluation_is_deterministic_and_training_samples() -> None:
    _, panel = small()
    model = encoder(panel)
    assert torch.equal(model(panel).state, model(panel).state)
    first, again, other = (model(panel, generator(seed)).extras["z"] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_information_terms_alone_reach_the_encoder() -> None:
    data, panel = small()
    model = encoder(panel)
    shared, told = model.information(model(panel, generator()), targets_of(data, 1), generator())
    for value in (shared, told):
        model.zero_grad()
        value.backward(retain_graph=True)
        for layer in (model.hidden, model.mean):
            assert layer.weight.grad is not None
            assert float(layer.weight.grad.abs().sum()) > 0


def test_information_is_learned_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cignn, "SAMPLES", 48)
    data, panel = small()
    targets, found = targets_of(data, 1), {}
    for weight in (0.0, 0.1):
        model = encoder(panel, dataclasses.replace(SETTINGS, relevance=weight, redundancy=weight / 10))
        optimizer, noise = torch.optim.Adam(model.parameters(), lr=5e-3), generator(1)
        before = [float(term.detach()) for term in model.information(model(panel), targets, generator(2))]
        for epoch in range(40):
            encoding = model(panel, noise)
            loss = model.objective(torch.zeros(()), encoding, panel, targets, epoch, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found[weight] = [float(term.detach()) for term in model.information(model(panel), targets, generator(2))]
    assert found[0.1][1] > before[1] + 0.3
    assert found[0.1][1] > found[0.0][1] + 0.3
    assert found[0.1][0] < before[0] - 0.3


def test_influence_is_the_mean_score_and_has_a_direction() -> None:
    _, panel = small()
    model = encoder(panel)
    with torch.no_grad():
        model.mixing.copy_(torch.randn(6, 6, generator=generator(3)))
        score = model.influence(panel, torch.tensor([[0, 1], [1, 0]]))
        alpha = model(panel).extras["mu"][:, :6].view(panel.num_times, panel.num_agents, 6)
        by_hand = torch.stack([a[1] @ model.mixing @ a[0] / 6**0.5 for a in alpha]).mean()
    assert abs(float(score[0] - by_hand)) < 1e-6
    assert float(score[0]) != float(score[1])


def test_an_agent_that_met_nobody_has_a_state() -> None:
    _, panel = small()
    model = encoder(panel)
    alone = torch.bincount(edges_in(panel, "now")[1], minlength=panel.groups.num_nodes) == 0
    assert bool(alone.any())
    assert torch.isfinite(model(panel).state[alone]).all()


def test_settings_reach_the_network() -> None:
    model = CIGNN(width=8, layers=1, causal=4, edges="met").make_spatial(10, 4, generator())
    assert isinstance(model, CIGNNEncoder)
    assert len(model.layers) == 1
    assert model.mixing.shape == (4, 4)
    _, panel = small()
    other = encoder(panel, dataclasses.replace(SETTINGS, edges="met"))
    assert not torch.allclose(other(panel).state, encoder(panel)(panel).state)
