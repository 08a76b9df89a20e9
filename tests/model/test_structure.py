"""Structure: normal equations against dense least squares, the sampler against enumeration of all parent sets."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.model.candidates import make_candidates
from sphunc.model.dynamics import PADDING, Dynamics, Links, group_messages, reduced_form
from sphunc.model.kalman import kalman_smoother
from sphunc.model.structure import (
    INERTIA_SPREAD,
    ChainData,
    LinkPrior,
    NormalEquations,
    _Gibbs,
    detectable_coefficient,
    learn_structure,
    normal_equations,
    source_variance,
    without_common_shocks,
)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uniform(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dynamics(agents, axes, inertia=0.4):
    ones = torch.ones(axes).double()
    return Dynamics(
        inertia=torch.full((agents,), inertia).double(),
        transition_variance=0.3 * ones,
        effect_variance=1.5 * ones,
        observation_variance=0.5 * ones,
        initial_variance=ones,
        group_force=0.0,
        state_scale=1.5,
    )


def chain_data(times, agents, axes):
    precision = torch.where(uniform(times, agents, axes, seed=8) < 0.2, 0.0, 2.0)
    return ChainData(
        observation=draw(times, agents, axes, seed=1),
        precision=precision,
        states=draw(times, agents, axes, seed=2),
        variance=uniform(times, agents, axes, seed=3),
        messages=draw(times, agents, axes, seed=4),
    )


def test_normal_equations_are_dense_generalised_least_squares():
    times, agents, axes = 6, 4, 2
    given = dynamics(agents, axes)
    data = chain_data(times, agents, axes)
    extra = 0.2 * uniform(times, agents, axes, seed=5)
    source = torch.tensor([[1, 2], [0, 3], [3, 0], [2, 1]])
    grid = torch.tensor([0.3, 0.6]).double()
    found = normal_equations(given, grid, source, data, extra)
    for g, inertia in enumerate(grid.tolist()):
        for i in range(agents):
            gram = torch.zeros(3, 3).double()
            moment = torch.zeros(3).double()
            level = 0.0
            for k in range(axes):
                response = torch.zeros(times, times).double()
                for t in range(times):
                    for s in range(t + 1):
                        response[t, s] = inertia ** (t - s)
                noise = torch.cat([torch.ones(1).double(), 0.3 + extra[:-1, i, k]])
                steady = response[:, 1:].sum(1)
                covariance = response @ torch.diag(noise) @ response.T
                covariance = covariance + inertia**2 * 1.5 * torch.outer(steady, steady)
                seen = data.precision[:, i, k] > 0
                marginal = covariance[seen][:, seen] + torch.diag(1 / data.precision[seen, i, k])
                pushes = torch.stack([data.states[:, j, k] for j in source[i]] + [data.messages[:, i, k]], 1)
                design = (response[:, 1:] @ pushes[:-1])[seen]
                z = data.observation[seen, i, k]
                inverse = torch.linalg.inv(marginal)
                gram += design.T @ inverse @ design
                moment += design.T @ inverse @ z
                normal = torch.distributions.MultivariateNormal(torch.zeros(len(z)).double(), marginal)
                level += float(normal.log_prob(z))
            torch.testing.assert_close(found.gram[g, i], gram, rtol=1e-8, atol=1e-10)
            torch.testing.assert_close(found.moment[g, i], moment, rtol=1e-8, atol=1e-10)
            assert float(found.level[g, i]) == pytest.approx(level, rel=1e-9)


def test_source_variance_is_the_sum_over_sources():
    source = torch.tensor([[1], [2], [0]])
    square = torch.tensor([[0.5], [0.0], [2.0]]).double()
    links = Links(source, torch.ones(3, 1, dtype=torch.bool), square, square, square)
    variance = uniform(4, 3, 2)
    found = source_variance(links, variance)
    torch.testing.assert_close(found[:, 0], 0.5 * variance[:, 1])
    assert found[:, 1].abs().max() == 0
    torch.testing.assert_close(found[:, 2], 2.0 * variance[:, 0])


PARENTS = 3
PRIOR = LinkPrior(share=0.3, positive=0.6, size=1.5, spread=0.6, group_force=0.5)


def small_problem(points):
    """Sufficient statistics of one target with three candidates and a group, for each inertia of a grid."""
    grid = torch.tensor([0.35, 0.5, 0.7]).double()[:points]
    truth = torch.tensor([0.6, 0.0, -0.35, 0.3]).double()
    grams = []
    moments = []
    for g in range(points):
        # Responses change with inertia, but not so much that the sampler could not move between them.
        design = draw(9, PARENTS + 1, seed=10) + 0.15 * g * draw(9, PARENTS + 1, seed=11)
        grams.append(design.T @ design)
        moments.append(grams[-1] @ truth + 1.5 * design.T @ draw(9, seed=20))
    level = torch.tensor([0.0, 0.8, -0.5]).double()[:points].unsqueeze(1)
    return NormalEquations(grid, torch.stack(grams).unsqueeze(1), torch.stack(moments).unsqueeze(1), level)


def enumerated(equations, centre, required=()):
    """Exact posterior: all signs of all parents, at every inertia, coefficients and group force integrated out."""
    logs = []
    parts = []
    for g, inertia in enumerate(equations.grid.tolist()):
        gram = equations.gram[g, 0]
        moment = equations.moment[g, 0]
        log_inertia = -0.5 * ((math.log(inertia) - centre) / INERTIA_SPREAD) ** 2
        for signs in itertools.product((0, 1, -1), repeat=PARENTS):
            if any(signs[j] == 0 for j in required):
                continue
            active = [j for j in range(PARENTS) if signs[j]]
            rows = [*active, PARENTS]
            mean = torch.tensor([signs[j] * PRIOR.size * inertia for j in active] + [0.0]).double()
            variance = [(PRIOR.spread * inertia) ** 2] * len(active) + [100.0 * inertia**2]
            precision = torch.diag(1 / torch.tensor(variance).double())
            posterior = torch.linalg.inv(gram[rows][:, rows] + precision)
            shift = moment[rows] + precision @ mean
            log_p = 0.5 * shift @ posterior @ shift - 0.5 * mean @ precision @ mean
            log_p = log_p + 0.5 * torch.logdet(posterior) + 0.5 * torch.logdet(precision)
            for sign in signs:
                if sign == 0:
                    log_p = log_p + math.log(1 - PRIOR.share)
                elif sign > 0:
                    log_p = log_p + math.log(PRIOR.share * PRIOR.positive)
                else:
                    log_p = log_p + math.log(PRIOR.share * (1 - PRIOR.positive))
            logs.append(log_p + log_inertia + equations.level[g, 0])
            beta = posterior @ shift
            row = torch.zeros(3, PARENTS).double()
            for slot, j in enumerate(active):
                row[:, j] = torch.stack([torch.ones(()), beta[slot], beta[slot] ** 2 + posterior[slot, slot]])
            parts.append((row, math.log(inertia), inertia))
    weight = torch.softmax(torch.stack(logs), 0)
    moments = sum(w * row for w, (row, _, _) in zip(weight, parts, strict=True))
    log_inertia = sum(float(w) * value for w, (_, value, _) in zip(weight, parts, strict=True))
    return moments, math.exp(log_inertia)


def empty_links(agents=1):
    there = torch.ones(agents, PARENTS, dtype=torch.bool)
    nothing = torch.zeros(agents, PARENTS).double()
    return Links(torch.zeros(agents, PARENTS, dtype=torch.long), there, nothing, nothing, nothing)


@pytest.mark.parametrize(("points", "required"), [(1, ()), (3, ()), (3, (1,))])
def test_sampler_agrees_with_enumeration_of_all_parent_sets(points, required):
    equations = small_problem(points)
    centre = math.log(0.5)
    must = None
    if required:
        must = torch.zeros(1, PARENTS, dtype=torch.bool)
        must[:, list(required)] = True
    sampler = _Gibbs(equations, empty_links(), PRIOR, centre, 200, 0, must)
    for sweep in range(250):
        sampler.sweep(is_counted=sweep >= 50, adapts=False)
    links, inertia = sampler.posterior()
    expected, expected_inertia = enumerated(equations, centre, required)
    # 200 chains of 200 sweeps: errors of a few thousandths even where sweeps are strongly correlated.
    torch.testing.assert_close(links.probability[0], expected[0], rtol=0, atol=0.015)
    torch.testing.assert_close(links.mean[0], expected[1], rtol=0, atol=0.015)
    torch.testing.assert_close(links.square[0], expected[2], rtol=0, atol=0.02)
    assert float(inertia[0]) == pytest.approx(expected_inertia, rel=0.01)
    assert 0.05 < float(expected[0].min()) < 0.95  # the problem leaves something open


def test_padding_is_never_a_link():
    links = empty_links()
    links = replace(links, is_candidate=torch.tensor([[True, False, True]]))
    sampler = _Gibbs(small_problem(1), links, PRIOR, 0.0, 4, 0, None)
    for _ in range(20):
        sampler.sweep(is_counted=True, adapts=True)
    found, _ = sampler.posterior()
    assert found.probability[0, 1] == 0
    assert found.mean[0, 1] == 0
    assert (sampler.beta[..., 1] == 0).all()


def test_kept_structures_agree_with_the_moments():
    sampler = _Gibbs(small_problem(1), empty_links(), PRIOR, 0.0, 100, 0, None)
    for sweep in range(100):
        sampler.sweep(is_counted=sweep >= 20, adapts=False)
        sampler.keep_draws(sweep - 20, 80, 2000)
    draws = sampler.kept_draws()
    links, _ = sampler.posterior()
    assert draws.shape == (2000, 1, PARENTS)
    torch.testing.assert_close((draws[:, 0] != 0).double().mean(0), links.probability[0], rtol=0, atol=0.04)
    torch.testing.assert_close(draws[:, 0].double().mean(0), links.mean[0], rtol=0, atol=0.04)


def world(agents=40, times=16, beta=0.0, seed=0):
    """Chains in fixed groups of five, in which agent 0 of every group acts on agent 1; padded observations."""
    inertia = 0.4
    axes = 3
    group = torch.arange(agents) // 5
    meeting = Incidence(torch.arange(agents), group, torch.ones(agents).double(), agents, agents // 5)
    effect = inertia * draw(agents, axes, seed=seed)
    state = draw(agents, axes, seed=seed + 1)
    path = []
    for t in range(times + PADDING):
        path.append(state)
        push = torch.zeros_like(state)
        push[1::5] = beta * state[0::5]
        state = inertia * state + effect + push + 0.3**0.5 * draw(agents, axes, seed=seed + 10 + t)
    states = torch.stack(path)
    precision = torch.full_like(states, 4.0)
    precision[:PADDING] = 0.0
    z = (states + 0.5 * draw(*states.shape, seed=seed + 5)) * (precision > 0)
    given = replace(dynamics(agents, axes, inertia), observation_variance=torch.full((axes,), 0.25).double())
    filtered = reduced_form(given, z, precision)
    mean, variance = kalman_smoother(given.inertia.unsqueeze(1), filtered)
    messages = group_messages(mean, (meeting,) * times, given.state_scale)
    return given, (meeting,) * times, ChainData(z, precision, mean, variance, messages)


def learned(seed=0, required=None, forbidden=(), **settings):
    given, groups, data = world(seed=seed, **settings)
    links = make_candidates(groups, 0, forbidden)
    must = None
    if required is not None:
        must = torch.zeros_like(links.is_candidate)
        source, target = required
        must[target] = (links.source[target] == source) & links.is_candidate[target]
    return learn_structure(
        given, links, data, LinkPrior(), sweeps=60, burn_in=20, chains=4, seed=1, required=must, keep=8
    )


def probabilities(posterior):
    found = posterior.links
    return found.matrix(found.probability).to_dense()


@pytest.mark.parametrize("seed", [0, 100, 200])
def test_without_influence_no_link_is_probable(seed):
    assert probabilities(learned(seed=seed)).max() < 0.9


def test_planted_links_are_found_with_their_size():
    posterior = learned(beta=0.8)
    found = probabilities(posterior)
    planted = found[torch.arange(1, 40, 5), torch.arange(0, 40, 5)]
    assert (planted > 0.9).double().mean() >= 0.75
    others = found.clone()
    others[torch.arange(1, 40, 5), torch.arange(0, 40, 5)] = 0
    assert (others > 0.9).sum() == 0
    mean = posterior.links.matrix(posterior.links.mean).to_dense()
    assert float(mean[torch.arange(1, 40, 5), torch.arange(0, 40, 5)].mean()) == pytest.approx(0.8, abs=0.2)
    assert posterior.draws.shape[0] == 8


def test_required_links_are_certain_and_forbidden_ones_absent():
    posterior = learned(required=(3, 2))
    assert float(probabilities(posterior)[2, 3]) == pytest.approx(1.0)
    forbidden = learned(beta=0.8, forbidden=[(0, 1)])
    assert float(probabilities(forbidden)[1, 0]) == 0


def test_the_same_seed_gives_the_same_structures():
    first = learned(beta=0.5)
    second = learned(beta=0.5)
    assert torch.equal(first.links.probability, second.links.probability)
    assert torch.equal(first.draws, second.draws)


def test_moments_are_those_of_a_distribution():
    posterior = learned(beta=0.5)
    found = posterior.links
    assert (found.square >= found.mean.square() - 1e-12).all()
    assert ((found.probability >= 0) & (found.probability <= 1 + 1e-12)).all()
    assert 0 < posterior.prior.share < 0.5
    assert (posterior.inertia > 0).all()


def test_common_shocks_are_taken_out_and_the_level_stays():
    data = chain_data(7, 30, 2)
    shock = draw(7, 1, 2, seed=11)
    moved = replace(
        data,
        observation=data.observation + shock,
        states=data.states + shock,
        messages=data.messages + shock,
    )
    plain = without_common_shocks(data)
    found = without_common_shocks(moved)
    for name in ("observation", "states", "messages"):
        gap = getattr(found, name) - getattr(plain, name)
        torch.testing.assert_close(gap, shock.mean(0, keepdim=True).expand_as(gap))
    few = chain_data(7, 5, 2)
    assert without_common_shocks(few) is few


def test_detectable_coefficient_is_four_standard_errors():
    source = torch.tensor([[1, 2], [0, 2], [0, 1]])
    nothing = torch.zeros(3, 2).double()
    links = Links(source, torch.ones(3, 2, dtype=torch.bool), nothing, nothing, nothing)
    gram = torch.zeros(1, 3, 3, 3).double()
    gram[0] = torch.diag(torch.tensor([25.0, 25.0, 2.0]).double())
    moment = torch.zeros(1, 3, 3).double()
    equations = NormalEquations(torch.tensor([0.5]).double(), gram, moment, moment[..., 0])
    assert detectable_coefficient(equations, links) == pytest.approx(4.0 / 5.0)
