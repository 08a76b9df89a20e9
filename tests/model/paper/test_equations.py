"""Every equation of the paper against a dense, slow transcription."""

import math

import mpmath
import pytest
import torch

from sphunc.hypergraph.buckets import group_by_size
from sphunc.model.paper.equations import (
    belief_entropy,
    belief_log_density,
    class_log_probabilities,
    draw_cosine,
    draw_state,
    number_variance,
    pass_messages,
    project_features,
    scaled_belief_entropy,
    structural_mean,
    sum_over_parents,
)
from sphunc.sphere import mean_resultant_length

MEMBERS = [[0, 1, 2], [1, 3], [2, 3, 4, 0], [5]]


def groups_of(members: list[list[int]], agents: int):
    node = [agent for group in members for agent in group]
    edge = [index for index, group in enumerate(members) for _ in group]
    return group_by_size(torch.tensor([node, edge]), num_nodes=agents, num_hyperedges=len(members))


def unit(*shape: int, generator: torch.Generator) -> torch.Tensor:
    v = torch.randn(*shape, generator=generator)
    return v / v.norm(dim=-1, keepdim=True)


def test_projection_is_linear_and_then_of_unit_length(generator: torch.Generator) -> None:
    x = torch.randn(5, 3, generator=generator)
    W = torch.randn(4, 3, generator=generator)
    b = torch.randn(4, generator=generator)
    raw = torch.stack([W @ row + b for row in x])
    torch.testing.assert_close(project_features(x, W, b, "euclidean"), raw)
    h = project_features(x, W, b, "sphere")
    torch.testing.assert_close(h, raw / raw.norm(dim=1, keepdim=True))
    assert not project_features(torch.zeros(1, 3), W, torch.zeros(4), "sphere").any()


def bessel_log_normalizer(kappa: float, dim: int) -> mpmath.mpf:
    nu = mpmath.mpf(dim) / 2 - 1
    return (
        nu * mpmath.log(kappa) - mpmath.mpf(dim) / 2 * mpmath.log(2 * mpmath.pi) - mpmath.log(mpmath.besseli(nu, kappa))
    )


@pytest.mark.parametrize(("kappa", "dim"), [(1.0, 3), (50.0, 128), (200.0, 128)])
def test_density_and_entropy_are_those_of_the_von_mises_fisher_law(kappa: float, dim: int) -> None:
    mu = torch.eye(dim, dtype=torch.float64)[:1]
    h = torch.nn.functional.normalize(mu + 0.1, dim=-1)
    k = torch.tensor([kappa], dtype=torch.float64)
    expected = bessel_log_normalizer(kappa, dim) + kappa * float((mu * h).sum())
    assert float(belief_log_density(h, mu, k, "sphere")) == pytest.approx(float(expected), rel=1e-9)
    slope = mpmath.diff(lambda x: -bessel_log_normalizer(x, dim), kappa)
    entropy = -bessel_log_normalizer(kappa, dim) - kappa * slope
    assert float(belief_entropy(k, dim, "sphere")) == pytest.approx(float(entropy), rel=1e-9)


def test_euclidean_beliefs_are_normal(generator: torch.Generator) -> None:
    h = torch.randn(4, 3, generator=generator)
    mean = torch.randn(4, 3, generator=generator)
    kappa = torch.tensor([1.0, 2.0, 50.0, 200.0])
    law = torch.distributions.Normal(mean, (1.0 / kappa.sqrt()).unsqueeze(-1))
    torch.testing.assert_close(belief_log_density(h, mean, kappa, "euclidean"), law.log_prob(h).sum(-1))
    entropy = law.entropy().expand(4, 3).sum(-1)
    torch.testing.assert_close(belief_entropy(kappa, 3, "euclidean"), entropy)


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_scaled_entropy_runs_from_one_to_zero(geometry: str) -> None:
    kappa = torch.linspace(1.0, 200.0, 20)
    scaled = scaled_belief_entropy(kappa, 16, geometry)
    assert float(scaled[0]) == pytest.approx(1.0, abs=1e-6)
    assert float(scaled[-1]) == pytest.approx(0.0, abs=1e-6)
    assert bool((scaled.diff() < 0).all())


@pytest.mark.parametrize("geometry", ["sphere", "euclidean"])
def test_messages_are_those_of_the_dense_transcription(geometry: str, generator: torch.Generator) -> None:
    h = unit(6, 4, generator=generator)
    W = torch.randn(4, 4, generator=generator)
    kappa = 3.0
    expected = []
    for i in range(6):
        heard = []
        for group in MEMBERS:
            if i in group and len(group) > 1:
                alpha = torch.stack([torch.exp(kappa * h[i] @ h[j]) for j in group])
                alpha = alpha / alpha.sum()
                heard.append(sum(a * h[j] for a, j in zip(alpha, group, strict=True)))
        message = torch.zeros(4)
        if heard:
            message = torch.relu(W @ (sum(heard) / len(heard)))
        new = h[i] + message
        if geometry == "sphere":
            new = new / new.norm()
        expected.append(new)
    found = pass_messages(h, W, torch.tensor(kappa), groups_of(MEMBERS, 6), geometry)
    torch.testing.assert_close(found, torch.stack(expected))
    torch.testing.assert_close(found[5], h[5])  # a group of one sends nothing


def test_dropped_messages_leave_the_state_alone(generator: torch.Generator) -> None:
    h = unit(6, 4, generator=generator)
    W = torch.randn(4, 4, generator=generator)
    groups = groups_of(MEMBERS, 6)
    nothing = pass_messages(h, W, torch.tensor(1.0), groups, "sphere", torch.zeros(6, 4))
    torch.testing.assert_close(nothing, h)


def test_structural_mean_is_that_of_the_dense_transcription(generator: torch.Generator) -> None:
    c = unit(4, 3, generator=generator)
    lagged = [unit(4, 3, generator=generator) for _ in range(2)]
    U = 0.1 * torch.randn(4, 3, generator=generator)
    W_c = torch.randn(3, 3, generator=generator)
    links = torch.tensor([[1, 3, 0], [0, 0, 2]])
    gamma = torch.randn(3, 2, generator=generator)
    expected = c + U
    for k, (j, i) in enumerate(links.mT.tolist()):
        for lag in range(2):
            expected[i] = expected[i] + gamma[k, lag] * (W_c @ lagged[lag][j])
    found = structural_mean(c, lagged, U, W_c, links, gamma, "euclidean")
    torch.testing.assert_close(found, expected)
    on_sphere = structural_mean(c, lagged, U, W_c, links, gamma, "sphere")
    torch.testing.assert_close(on_sphere, expected / expected.norm(dim=1, keepdim=True))
    alone = structural_mean(c, lagged, U, W_c, links[:, :0], gamma[:0], "euclidean")
    torch.testing.assert_close(alone, c + U)


def test_sums_over_parents_have_gradients_in_messages_and_factors(generator: torch.Generator) -> None:
    links = torch.tensor([[1, 2, 0], [0, 0, 2]])
    v = torch.randn(3, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    gamma = torch.randn(3, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: sum_over_parents(a, links, b), (v, gamma))


def test_drawn_states_have_the_von_mises_fisher_law(generator: torch.Generator) -> None:
    dim = 6
    S = 20_000
    kappa = torch.tensor([30.0])
    mu = unit(1, dim, generator=generator)
    cosine = draw_cosine(kappa, dim, S, generator)
    normal = torch.randn(S, 1, dim, generator=generator)
    h = draw_state(mu.expand(S, 1, dim), kappa.expand(S, 1), cosine, normal, "sphere")
    torch.testing.assert_close(h.norm(dim=-1), torch.ones(S, 1))
    expected = mean_resultant_length(kappa, dim).unsqueeze(-1) * mu
    # The standard error of a coordinate's mean is about 0.0013.
    torch.testing.assert_close(h.mean(0), expected, atol=7e-3, rtol=0.0)


def test_shared_noise_moves_states_as_their_means_move_and_nothing_known_stays_so(generator: torch.Generator) -> None:
    mu = unit(1, 5, generator=generator)
    other = torch.nn.functional.normalize(mu + 1e-3, dim=-1)
    cosine = torch.tensor([0.8])
    normal = torch.randn(1, 5, generator=generator)
    kappa = torch.tensor([4.0])
    gap = draw_state(mu, kappa, cosine, normal, "sphere") - draw_state(other, kappa, cosine, normal, "sphere")
    assert float(gap.norm()) < 5 * float((mu - other).norm())
    assert not draw_state(torch.zeros(1, 5), kappa, cosine, normal, "sphere").any()
    flat = draw_state(mu, kappa, cosine, normal, "euclidean")
    torch.testing.assert_close(flat, mu + normal / 2.0)


def test_class_probabilities_are_the_expected_softmax_under_logit_noise(generator: torch.Generator) -> None:
    logits = torch.tensor([1.0, -0.5, 0.2])
    sharp = class_log_probabilities(logits, torch.tensor(0.0), torch.tensor(2.0))
    torch.testing.assert_close(sharp.exp(), torch.softmax(logits / 2.0, -1))
    noisy = class_log_probabilities(logits, torch.tensor(2.0), torch.tensor(1.0))
    draws = logits + math.sqrt(2.0) * torch.randn(200_000, 3, generator=generator)
    # The approximation is stated to be within 0.04.
    torch.testing.assert_close(noisy.exp(), torch.softmax(draws, -1).mean(0), atol=0.04, rtol=0.0)


def test_temperature_scales_the_deviation_of_numbers() -> None:
    assert float(number_variance(torch.tensor(2.0), torch.tensor(3.0))) == 18.0
