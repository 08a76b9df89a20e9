"""CI-GNN: mask and layers against dense matrices, numbers by hand, and information terms that really train."""

import math

import numpy as np
import pytest
import torch

from sphunc import forecaster, simulate
from sphunc.baselines.holdout import targets_of
from sphunc.baselines.networks import cignn
from sphunc.baselines.networks.cignn import (
    CIGNN,
    CIGNNEncoder,
    CIGNNSettings,
    adjacency_in,
    class_kernel,
    divergence,
    edge_score,
    edges_in,
    gaussian_kernel,
    information_terms,
    masked_mean,
    renyi_entropy,
)
from sphunc.baselines.panel import Panel, make_panel, statistics_of
from sphunc.hypergraph import TemporalHypergraph

SETTINGS = CIGNNSettings(width=16, causal=6, other=3)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small() -> tuple[TemporalHypergraph, Panel]:
    data = simulate("snare", agents=40, times=5, seed=0).data
    return data, make_panel(data, statistics_of(data, 5), data.num_classes)


def encoder(panel: Panel, settings: CIGNNSettings = SETTINGS) -> CIGNNEncoder:
    return CIGNNEncoder(panel.num_inputs, panel.features.shape[-1], settings, generator())


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
    panel = make_panel(data, model.statistics_, model.schema_.outputs)
    spatial, edges = model.network_.spatial, edges_in(panel, "now")
    fresh = encoder(panel, spatial.settings)
    with torch.no_grad():
        fresh.prepare(panel)
        initial = fresh.scores(fresh.latent(panel)[0], edges) + fresh.offset
        assert initial.mean().item() == pytest.approx(0.0, abs=1e-5)
        score = spatial.scores(spatial.latent(panel)[0], edges) + spatial.offset
        assert torch.sigmoid(score).std() > 0.02
        before = model.predict(data).probabilities
        spatial.mixing.zero_()
        spatial.offset.copy_(torch.logit(torch.sigmoid(score).mean()))
        assert (model.predict(data).probabilities - before).abs().max() > 1e-3


def test_masked_mean_by_hand() -> None:
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.randn(4, 3, generator=generator())
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
    assert sorted(edges_in(panel, "now").T.tolist()) == sorted(adjacency_in(panel)[0].pairs.T.tolist())


def test_edges_run_from_all_met_so_far_where_asked() -> None:
    _, panel = small()
    source, target = edges_in(panel, "met")
    agents = panel.num_agents
    assert bool((source // agents == target // agents).all())
    per_time = torch.bincount(target // agents, minlength=panel.num_times)
    assert bool((per_time.diff() > 0).all())
    now = adjacency_in(panel)[0].pairs
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
    shared, relevant = model.information(model(panel, generator()), targets_of(data, 1), generator())
    for value in (shared, relevant):
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
        model = encoder(panel, SETTINGS.model_copy(update={"relevance": weight, "redundancy": weight / 10}))
        optimizer, noise = torch.optim.Adam(model.parameters(), lr=5e-3), generator(1)
        before = [float(term.detach()) for term in model.information(model(panel), targets, generator(2))]
        for _ in range(40):
            loss = sum(model.extra_losses(model(panel, noise), panel, targets, noise))
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
    model = CIGNN(width=8, layers=1, causal=4, edges="met").make_network(4, 2, generator()).spatial
    assert isinstance(model, CIGNNEncoder)
    assert len(model.layers) == 1
    assert model.mixing.shape == (4, 4)
    _, panel = small()
    other = encoder(panel, SETTINGS.model_copy(update={"edges": "met"}))
    assert not torch.allclose(other(panel).state, encoder(panel)(panel).state)


def mutual_information(a, b):
    """I(a; b) by its definition."""
    return renyi_entropy(a) + renyi_entropy(b) - renyi_entropy(a, b)


def conditional_information(a, y, given):
    """I(a; y | given) by its definition."""
    return renyi_entropy(a, given) + renyi_entropy(y, given) - renyi_entropy(given) - renyi_entropy(a, y, given)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_moving_all_points_apart_is_not_informative():
    a, b, y = normal(64, 3), normal(64, 2, seed=1), class_kernel(torch.arange(64) % 3)
    size = torch.ones((), dtype=torch.float64, requires_grad=True)
    total = sum(information_terms(gaussian_kernel(size * a.double()), gaussian_kernel(b), y))
    (slope,) = torch.autograd.grad(total, size)
    assert abs(slope.item()) < 1e-9


def test_entropy_by_hand() -> None:
    # Kernel [[1, 1/2], [1/2, 1]] / 2 has eigenvalues 3/4 and 1/4; at order 2: -log2(9/16 + 1/16) = log2 1.6.
    kernel = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.double)
    assert abs(renyi_entropy(kernel, order=2.0).item() - math.log2(1.6)) < 1e-5
    assert abs(renyi_entropy(kernel).item() - (-0.75 * math.log2(0.75) + 0.5)) < 5e-3  # near Shannon at order 1.01


def test_entropy_of_equal_and_of_distant_points() -> None:
    assert abs(renyi_entropy(torch.ones(8, 8, dtype=torch.double)).item()) < 1e-3
    assert abs(renyi_entropy(torch.eye(8, dtype=torch.double)).item() - 3.0) < 1e-9


def test_kernels_against_plain_loops() -> None:
    u = normal(6, 3)
    distance = np.array([[np.linalg.norm(a - b) for b in u.numpy()] for a in u.numpy()])
    width = distance.sum() / 30
    assert np.allclose(gaussian_kernel(u).numpy(), np.exp(-((distance / width) ** 2)))
    assert class_kernel(torch.tensor([2, 0, 2])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_information_is_larger_for_dependent_samples() -> None:
    a, noise = normal(128, 4), normal(128, 4, seed=1)
    bound = mutual_information(gaussian_kernel(a), gaussian_kernel(a + 0.3 * noise))
    free = mutual_information(gaussian_kernel(a), gaussian_kernel(noise))
    assert bound > free + 0.3


def test_information_with_classes_is_at_most_their_entropy() -> None:
    y = torch.arange(60) % 3
    u = 10.0 * torch.nn.functional.one_hot(y, 3).double() + 0.01 * normal(60, 3)
    constant = torch.ones(60, 60, dtype=torch.double)
    assert abs(conditional_information(gaussian_kernel(u), class_kernel(y), constant).item() - math.log2(3)) < 0.05
    assert abs(conditional_information(constant, class_kernel(y), constant).item()) < 1e-3


def test_gradient_is_that_of_finite_differences() -> None:
    y, b = torch.arange(7) % 2, normal(7, 2, seed=2)
    kernel_b, kernel_y = gaussian_kernel(b), class_kernel(y)

    def value(a: torch.Tensor) -> torch.Tensor:
        kernel = torch.exp(-(a[:, None] - a[None, :]).square().sum(-1))
        return conditional_information(kernel, kernel_y, kernel_b) - mutual_information(kernel, kernel_b)

    assert torch.autograd.gradcheck(value, normal(7, 2).requires_grad_(), atol=1e-5)


def test_both_terms_at_once_are_the_two_terms() -> None:
    a, b, y = gaussian_kernel(normal(9, 2)), gaussian_kernel(normal(9, 2, seed=1)), class_kernel(torch.arange(9) % 3)
    shared, relevant = information_terms(a, b, y)
    assert torch.allclose(shared, mutual_information(a, b))
    assert torch.allclose(relevant, conditional_information(a, y, b))


def test_repeated_points_have_finite_gradients() -> None:
    u = torch.zeros(10, 3, requires_grad=True)
    mutual_information(gaussian_kernel(u), gaussian_kernel(normal(10, 3))).backward()
    assert u.grad is not None
    assert torch.isfinite(u.grad).all()


def test_descent_separates_and_ascent_informs() -> None:
    y = torch.arange(60) % 3
    z = normal(60, 4).requires_grad_()
    optimiser = torch.optim.Adam([z], lr=0.05)
    trace = []
    for _ in range(60):
        kernels = gaussian_kernel(z[:, :2]), class_kernel(y), gaussian_kernel(z[:, 2:])
        shared, relevant = mutual_information(kernels[0], kernels[2]), conditional_information(*kernels)
        optimiser.zero_grad()
        (shared - relevant).backward()
        optimiser.step()
        trace.append((shared.item(), relevant.item()))
    assert trace[-1][0] < trace[0][0] - 0.1
    assert trace[-1][1] > trace[0][1] + 0.1
