"""The structural assignment against loops; links and messages against dense matrices; learning against the truth."""

from dataclasses import replace

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.model.dynamics import (
    LARGEST_INERTIA,
    PADDING,
    Dynamics,
    Links,
    group_messages,
    initial_dynamics,
    learn_chains,
    minimise,
    next_state_mean,
    reduced_form,
    sum_over_sources,
)
from sphunc.model.kalman import kalman_filter

N = 5
K = 3


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dynamics(agents=N, axes=K, force=0.7):
    return Dynamics(
        inertia=torch.linspace(0.2, 0.8, agents).double(),
        transition_variance=torch.linspace(0.2, 0.4, axes).double(),
        effect_variance=torch.linspace(1.0, 2.0, axes).double(),
        observation_variance=torch.linspace(0.3, 0.5, axes).double(),
        initial_variance=torch.ones(axes).double(),
        group_force=force,
        state_scale=1.3,
    )


def groups(agents=N):
    agent = torch.tensor([0, 1, 2, 2, 3])
    group = torch.tensor([0, 0, 0, 1, 1])
    return Incidence(agent, group, torch.tensor([1.0, 2.0, 1.0, 1.0, 3.0]).double(), agents, 2)


def links():
    source = torch.tensor([[1, 2], [0, 4], [3, 0], [2, 0], [0, 0]])
    there = torch.tensor([[True, True], [True, True], [True, False], [True, False], [False, False]])
    mean = draw(N, 2, seed=3) * there
    return Links(source, there, there.double(), mean, mean.square() + 0.1 * there)


def test_next_state_mean_is_that_of_loops():
    states = draw(N, K)
    effect = draw(N, K, seed=1)
    given = dynamics()
    found = links()
    beta = torch.zeros(N, N, dtype=torch.float64)
    for target in range(N):
        for slot in range(2):
            if found.is_candidate[target, slot]:
                beta[target, found.source[target, slot]] += found.mean[target, slot]
    influence = sum_over_sources(found.matrix(found.mean), states.unsqueeze(0))[0]
    mine = next_state_mean(states, given, effect, groups(), influence)
    members = [[(0, 1.0), (1, 2.0), (2, 1.0)], [(2, 1.0), (3, 3.0)]]
    for i in range(N):
        message = torch.zeros(K, dtype=torch.float64)
        own = [group for group in members if i in [j for j, _ in group]]
        for group in own:
            mass = sum(w for _, w in group)
            mean = sum(w * states[j] for j, w in group) / mass
            others = sum(w * states[j] for j, w in group if j != i) / mass
            message = message + (mean.norm() / 1.3).clamp(max=1.0) * others / len(own)
        expected = given.inertia[i] * (states[i] + 0.7 * message) + effect[i]
        for j in range(N):
            expected = expected + beta[i, j] * states[j]
        torch.testing.assert_close(mine[i], expected, rtol=1e-10, atol=1e-12)


def test_samples_are_moved_one_by_one():
    states = draw(N, 4, K)
    effect = draw(N, 4, K, seed=1)
    influence = draw(N, 4, K, seed=2)
    together = next_state_mean(states, dynamics(), effect, groups(), influence)
    for s in range(4):
        alone = next_state_mean(states[:, s], dynamics(), effect[:, s], groups(), influence[:, s])
        torch.testing.assert_close(together[:, s], alone, rtol=1e-13, atol=1e-15)


def test_link_matrix_is_target_by_source():
    found = links()
    matrix = found.matrix(found.mean).to_dense()
    assert matrix[0, 1] == found.mean[0, 0]
    assert matrix[1, 4] == found.mean[1, 1]
    assert matrix[2, 0] == 0  # padding
    states = draw(6, N, K)
    expected = torch.einsum("ij,tjk->tik", matrix, states)
    torch.testing.assert_close(sum_over_sources(found.matrix(found.mean), states), expected)


def test_no_links_give_an_empty_sum():
    found = links()
    nothing = found.matrix(torch.zeros_like(found.mean))
    assert sum_over_sources(nothing, draw(2, N, K)).abs().max() == 0


def test_links_of_other_agents_follow_their_places():
    found = links()
    place = torch.tensor([2, -1, 0, 1])  # new order: learned 2, a stranger, learned 0, learned 1
    moved = found.for_agents(place, N)
    before = found.matrix(found.mean).to_dense()
    after = moved.matrix(moved.mean).to_dense()
    for a, old_a in enumerate(place.tolist()):
        for b, old_b in enumerate(place.tolist()):
            expected = before[old_a, old_b] if old_a >= 0 and old_b >= 0 else torch.tensor(0.0)
            assert float(after[a, b]) == pytest.approx(float(expected), abs=1e-15)
    assert not moved.is_candidate[1].any()
    same = found.for_agents(torch.arange(N), N)
    assert torch.equal(same.matrix(same.mean).to_dense(), before)


def test_unseen_agents_get_the_typical_inertia():
    moved = dynamics().for_agents(torch.tensor([3, -1]))
    assert moved.inertia[0] == dynamics().inertia[3]
    torch.testing.assert_close(moved.inertia[1], dynamics().inertia.log().mean().exp())


def test_padding_meets_the_nearest_groups():
    first = groups()
    second = first.without(torch.tensor([1]))
    states = draw(PADDING + 3, N, K)
    found = group_messages(states, (first, second), 1.3)
    expected = [first, first, first, second, second]
    for t, meeting in enumerate(expected):
        assert torch.equal(found[t], meeting.cohesive_mean(states[t], 1.3))


def test_chains_scale_effects_by_inertia_and_add_variance():
    given = dynamics()
    chain = given.chains(torch.full((4, N, K), 0.5).double())
    torch.testing.assert_close(chain.effect_variance[2], given.inertia[2] ** 2 * given.effect_variance)
    torch.testing.assert_close(chain.transition_variance[0, 0], given.transition_variance + 0.5)
    assert torch.equal(given.chains().transition_variance, given.transition_variance)


def test_minimise_finds_the_minimum_of_a_quadratic():
    matrix = torch.diag(torch.tensor([1.0, 4.0, 30.0]).double())

    def loss(free):
        gap = torch.cat([free["a"], free["b"].flatten()]) - torch.tensor([1.0, -2.0, 0.5]).double()
        return 0.5 * gap @ matrix @ gap + 7.0

    start = {"a": torch.zeros(1).double(), "b": torch.zeros(2, 1).double()}
    found = minimise(loss, start, 100)
    assert float(found["a"]) == pytest.approx(1.0, abs=1e-3)
    assert found["b"].flatten().tolist() == pytest.approx([-2.0, 0.5], abs=1e-3)
    assert not found["a"].requires_grad
    assert start["a"].item() == 0


def simulated(agents=400, times=12, inertia=0.5, q=0.3, v=1.0, r=0.4, seed=0):
    """Chains of one axis with known parameters, padded as the model pads them."""
    effect = inertia * v**0.5 * draw(agents, 1, seed=seed)
    state = draw(agents, 1, seed=seed + 1)
    path = []
    for t in range(times + PADDING):
        path.append(state)
        state = inertia * state + effect + q**0.5 * draw(agents, 1, seed=seed + 2 + t)
    states = torch.stack(path)
    observed = torch.ones(times + PADDING, agents, 1, dtype=torch.bool)
    observed[:PADDING] = False
    return states, (states + r**0.5 * draw(*states.shape, seed=seed + 99)) * observed, observed


def test_learning_recovers_the_parameters_of_simulated_chains():
    _, z, observed = simulated()
    nothing = torch.zeros_like(z)
    start = initial_dynamics(torch.tensor([1.0]).double(), torch.tensor([1.0]).double(), z.shape[1])
    found = learn_chains(start, z, nothing, observed, nothing, nothing, with_inertia=True, iterations=60)
    assert float(found.inertia[0]) == pytest.approx(0.5, abs=0.12)
    assert float(found.observation_variance) == pytest.approx(0.4, abs=0.1)
    assert float(found.transition_variance) == pytest.approx(0.3, abs=0.1)
    assert float(found.effect_variance) == pytest.approx(1.0, abs=0.6)
    assert (found.inertia <= LARGEST_INERTIA).all()


def likelihood(given, z, observed):
    precision = observed / given.observation_variance
    return float(kalman_filter(given.chains(), z, precision, torch.zeros_like(z)).log_likelihood.sum())


def test_learning_raises_the_likelihood():
    _, z, observed = simulated(agents=60)
    nothing = torch.zeros_like(z)
    start = initial_dynamics(torch.tensor([1.0]).double(), torch.tensor([1.0]).double(), z.shape[1])
    kept = learn_chains(start, z, nothing, observed, nothing, nothing, with_inertia=False, iterations=25)
    free = learn_chains(start, z, nothing, observed, nothing, nothing, with_inertia=True, iterations=25)
    levels = [likelihood(one, z, observed) for one in (start, kept, free)]
    assert levels[0] < levels[1] < levels[2]
    assert torch.equal(kept.inertia, start.inertia)
    assert torch.equal(kept.observation_variance, start.observation_variance)


def test_nothing_observed_is_no_fault():
    z = torch.zeros(4, 6, 2).double()
    observed = torch.zeros(4, 6, 1, dtype=torch.bool)
    start = initial_dynamics(torch.ones(2).double(), torch.ones(2).double(), 6)
    found = learn_chains(start, z, z, observed, z, z, with_inertia=True, iterations=10)
    for value in (found.inertia, found.transition_variance, found.effect_variance, found.observation_variance):
        assert value.isfinite().all()


def test_reduced_form_is_the_filter_without_pushes():
    _, z, observed = simulated(agents=4)
    given = dynamics(agents=4, axes=1)
    precision = observed / given.observation_variance
    mine = reduced_form(given, z, precision)
    plain = kalman_filter(replace(given, group_force=0.0).chains(), z, precision, torch.zeros_like(z))
    assert torch.equal(mine.mean, plain.mean)
