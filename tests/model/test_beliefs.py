"""Beliefs on the sphere: entropy falls with what is known, rises with variance, age and distance."""

import math
from itertools import pairwise

import pytest
import torch

from sphunc.model.beliefs import (
    LARGEST_RESULTANT,
    OUTCOME_DECAY,
    OUTCOME_PRIOR,
    belief_entropy,
    concentration,
    learn_support,
    own_evidence,
    scaled_entropy,
    state_reliability,
)
from sphunc.model.kalman import ChainParameters, kalman_filter
from sphunc.sphere import mean_resultant_length

DIMENSIONS = (1, 2, 3, 20, 64)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("dim", DIMENSIONS)
def test_mean_resultant_length_is_the_root_of_what_is_known(dim):
    reliability = torch.tensor([0.01, 0.2, 0.5, 0.9, 0.99]).double()
    kappa = concentration(reliability, dim)
    found = mean_resultant_length(kappa, max(2, dim))
    torch.testing.assert_close(found, reliability.sqrt(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dim", DIMENSIONS)
def test_entropy_falls_with_what_is_known_and_is_scaled_to_the_unit_interval(dim):
    reliability = torch.linspace(0, 1, 21).double()
    kappa = concentration(reliability, dim)
    entropy = belief_entropy(kappa, dim)
    scaled = scaled_entropy(kappa, dim)
    assert (entropy.diff() < 0).all()
    assert (scaled.diff() < 0).all()
    assert float(scaled[0]) == pytest.approx(1.0)
    assert float(scaled[-1]) == pytest.approx(0.0, abs=1e-12)
    assert entropy.isfinite().all()


def test_entropy_of_an_unknown_state_is_that_of_the_whole_sphere():
    nothing = belief_entropy(concentration(torch.zeros(1).double(), 3), 3)
    assert float(nothing) == pytest.approx(math.log(4 * math.pi))


def test_a_certain_state_keeps_a_finite_concentration():
    kappa = concentration(torch.tensor([1.0, 1.0 + 1e-9]).double(), 3)
    assert kappa.isfinite().all()
    # On the sphere in three dimensions A(kappa) = 1 / tanh(kappa) - 1 / kappa.
    assert float(kappa[0]) == pytest.approx(1 / (1 - LARGEST_RESULTANT), rel=1e-3)


def test_what_is_known_falls_with_every_variance():
    variance = draw(5, 3).square()
    plain = state_reliability(variance, 2.0)
    torch.testing.assert_close(plain, 2.0 / (2.0 + variance.sum(1)))
    for axis in range(3):
        more = variance.clone()
        more[:, axis] += 0.1
        assert (state_reliability(more, 2.0) < plain).all()


def filtered_variance(seen):
    """Posterior variance of the last state of a chain, given which times were observed."""
    parameters = ChainParameters(
        inertia=torch.tensor([[0.6]]).double(),
        transition_variance=torch.tensor([0.3]).double(),
        effect_variance=torch.tensor([0.5]).double(),
        initial_variance=torch.tensor([1.0]).double(),
    )
    precision = torch.tensor(seen).double().view(-1, 1, 1) * 2.0
    nothing = torch.zeros_like(precision)
    return kalman_filter(parameters, nothing, precision, nothing).variance[-1]


def entropy_of(seen):
    return float(belief_entropy(concentration(state_reliability(filtered_variance(seen), 1.5), 3), 3))


def test_entropy_falls_with_every_observation_and_rises_with_age():
    times = 6
    for hidden in range(times):
        seen = [1.0] * times
        seen[hidden] = 0.0
        assert entropy_of(seen) > entropy_of([1.0] * times)
    by_age = [entropy_of([0.0] * (times - 1 - age) + [1.0] + [0.0] * age) for age in range(times)]
    assert all(later > earlier for earlier, later in pairwise(by_age))
    assert entropy_of([0.0] * times) > by_age[0]


def test_outcomes_count_less_with_age():
    mask = torch.zeros(4, 3, dtype=torch.bool)
    mask[:, 0] = True
    mask[1, 1] = True
    evidence = own_evidence(mask, torch.zeros_like(mask))
    expected = [sum(OUTCOME_DECAY**k for k in range(4)), OUTCOME_DECAY**2, 0.0]
    assert evidence.count.tolist() == pytest.approx(expected)
    assert evidence.reliability.tolist() == pytest.approx([c / (c + OUTCOME_PRIOR) for c in expected])


def test_every_outcome_raises_and_every_time_lowers_what_is_known():
    g = torch.Generator().manual_seed(0)
    mask = torch.rand(6, 30, generator=g) < 0.5
    plain = own_evidence(mask, torch.zeros_like(mask)).reliability
    for t in range(6):
        more = mask.clone()
        more[t] = True
        changed = ~mask[t]
        assert (own_evidence(more, torch.zeros_like(more)).reliability[changed] > plain[changed]).all()
    later = torch.cat([mask, torch.zeros(1, 30, dtype=torch.bool)])
    any_seen = mask.any(0)
    assert (own_evidence(later, torch.zeros_like(later)).reliability[any_seen] < plain[any_seen]).all()


def test_support_is_the_kernel_count_written_out():
    states = draw(40, 3)
    support = learn_support(states, 0.3)
    point = draw(4, 3, seed=1)
    for n in range(4):
        near = sum(math.exp(-0.5 * float((point[n] - s).square().sum()) / support.bandwidth**2) for s in states)
        assert float(support.share(point)[n]) == pytest.approx(near / (near + support.half), rel=1e-6)


def test_far_states_are_not_granted_and_near_ones_are():
    states = draw(500, 4)
    support = learn_support(states, 0.2)
    share = support.share(states)
    assert share.median() > 0.7
    far = torch.full((1, 4), 8.0).double()
    assert float(support.share(far)) < 1e-3
    distance = torch.linspace(2, 10, 9).double().unsqueeze(1) * torch.ones(1, 4).double() / 2
    assert (support.share(distance).diff() < 0).all()


@pytest.mark.parametrize("rows", [1, 2, 3000])
def test_few_many_and_equal_states_have_a_support(rows):
    for states in (draw(rows, 2), torch.ones(rows, 2).double()):
        support = learn_support(states, 0.1)
        assert len(support.states) <= 2000
        share = support.share(states[:1])
        assert ((share >= 0) & (share <= 1)).all()


def test_no_state_at_all_and_no_noise_are_no_fault():
    support = learn_support(torch.zeros(0, 2).double(), 0.1)
    assert support.share(draw(3, 2)).tolist() == [0.0, 0.0, 0.0]
    certain = learn_support(torch.ones(5, 2).double(), 0.0)
    assert certain.share(torch.ones(1, 2).double()).isfinite().all()
