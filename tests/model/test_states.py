"""States: exact where nobody influences anybody and outcomes are numbers; no leakage; unseen agents; invariances."""

from dataclasses import replace

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.model.dynamics import PADDING, Dynamics
from sphunc.model.inputs import ModelInputs
from sphunc.model.kalman import kalman_filter, kalman_smoother
from sphunc.model.readout import Readout
from sphunc.model.states import Observations, fit_chains, infer_states, learn_length_variance, rescaled

T = 5
N = 8


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def alone(agents, times):
    nothing = torch.zeros(0, dtype=torch.long)
    return (Incidence(nothing, nothing, torch.zeros(0).double(), agents, 0),) * times


def chain(agents=N, axes=1):
    ones = torch.ones(axes).double()
    return Dynamics(
        inertia=torch.linspace(0.3, 0.7, agents).double(),
        transition_variance=0.4 * ones,
        effect_variance=1.2 * ones,
        observation_variance=0.5 * ones,
        initial_variance=ones,
        group_force=0.0,
        state_scale=1.0,
    )


def panel(seed=0):
    """Observations along one axis with gaps, and one number that reads them."""
    z = draw(T, N, 1, seed=seed)
    seen = draw(T, N, 1, seed=seed + 1) > -0.8
    y_mask = draw(T, N, seed=seed + 2) > -0.5
    y = draw(T, N, 1, seed=seed + 3) * y_mask.unsqueeze(-1)
    pad = (0, 0, 0, 0, PADDING, 0)
    observations = Observations(
        torch.nn.functional.pad(z * seen, pad),
        torch.zeros(T + PADDING, N, 1).double(),
        torch.nn.functional.pad(seen, pad),
    )
    inputs = ModelInputs(z * seen, seen, y, y_mask, alone(N, T), 0)
    return observations, inputs


def test_numeric_outcomes_of_independent_agents_are_smoothed_exactly():
    """A number y = w s + b + noise is one more observation of the state: the belief is that of the joint Gaussian."""
    observations, inputs = panel()
    dynamics = chain()
    readout = Readout(
        torch.tensor([[0.8]]).double(), torch.tensor([0.2]).double(), torch.tensor([-0.3]).double(), draw(0)
    )
    remainder = torch.zeros(T, N).double()
    belief = infer_states(dynamics, dynamics, None, observations, inputs, readout, remainder, 1, 60)
    extended = observations.extended(1)
    precision = extended.precision(dynamics)
    weighted = precision * extended.value
    noise = readout.noise.exp()
    at = slice(PADDING, PADDING + T)
    mask = inputs.y_mask.unsqueeze(-1)
    precision[at] += mask * 0.64 / noise
    weighted[at] += mask * 0.8 * (inputs.y - 0.2) / noise
    value = weighted / precision.clamp(min=1e-12)
    filtered = kalman_filter(dynamics.chains(), value, precision, torch.zeros_like(value))
    mean, variance = kalman_smoother(dynamics.inertia.unsqueeze(1), filtered)
    torch.testing.assert_close(belief.mean, mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(belief.variance, variance, rtol=1e-6, atol=1e-7)
    # Without the outcome of the same time: the cavity times the site is the belief.
    both = 1 / belief.cavity_variance + belief.site_precision
    torch.testing.assert_close(1 / both[at][inputs.y_mask], variance[at][inputs.y_mask], rtol=1e-6, atol=1e-7)


def test_without_outcomes_the_belief_is_the_smoother():
    observations, inputs = panel()
    dynamics = chain()
    belief = infer_states(dynamics, dynamics, None, observations, inputs, None, torch.zeros(T, N).double(), 2, 40)
    extended = observations.extended(2)
    filtered = kalman_filter(
        dynamics.chains(), extended.value, extended.precision(dynamics), torch.zeros_like(extended.value)
    )
    mean, variance = kalman_smoother(dynamics.inertia.unsqueeze(1), filtered)
    torch.testing.assert_close(belief.mean, mean, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(belief.variance, variance, rtol=1e-8, atol=1e-10)
    assert belief.origin == T + PADDING - 1
    assert len(belief.mean) == T + PADDING + 2


def test_every_observation_lowers_the_variance_of_the_forecast_state():
    observations, inputs = panel()
    dynamics = chain()

    def last_variance(given):
        nothing = torch.zeros(T, N).double()
        return infer_states(dynamics, dynamics, None, given, inputs, None, nothing, 1, 20).variance[-1]

    for t in range(PADDING, PADDING + T):
        hidden = observations.observed.clone()
        hidden[t] = False
        less = replace(observations, observed=hidden)
        had = observations.observed[t, :, 0]
        assert (last_variance(less)[had] > last_variance(observations)[had]).all()


def test_missing_features_raise_the_variance():
    observations, inputs = panel()
    dynamics = chain()
    vague = replace(observations, added=torch.full_like(observations.added, 0.7))
    nothing = torch.zeros(T, N).double()
    clear = infer_states(dynamics, dynamics, None, observations, inputs, None, nothing, 1, 20)
    blurred = infer_states(dynamics, dynamics, None, vague, inputs, None, nothing, 1, 20)
    seen = observations.observed.any(0).squeeze(-1)
    assert (blurred.variance[-1][seen] > clear.variance[-1][seen]).all()


def test_a_length_that_the_rest_of_the_chain_does_not_expect_is_taken_off():
    dynamics = chain(axes=4)
    level = 2 * draw(N, 4)
    value = level + 0.2 * draw(T + PADDING, N, 4, seed=1)
    observed = torch.ones(T + PADDING, N, 1, dtype=torch.bool)
    observed[:PADDING] = False
    plain = Observations(value * observed, torch.zeros_like(value), observed)
    assert rescaled(plain, dynamics, 0.0) is plain
    stretched = value.clone()
    stretched[PADDING + 2] *= 1.6
    long = Observations(stretched * observed, torch.zeros_like(value), observed)
    found = rescaled(long, dynamics, 0.1)
    before = (long.value - plain.value)[PADDING + 2].norm(dim=-1)
    after = (found.value - plain.value)[PADDING + 2].norm(dim=-1)
    assert after.mean() < 0.7 * before.mean()
    assert learn_length_variance(long, dynamics) > learn_length_variance(plain, dynamics)
    nothing = replace(plain, observed=torch.zeros_like(observed))
    assert learn_length_variance(nothing, dynamics) == 0


@pytest.fixture(scope="module")
def states(snare_model):
    found = snare_model.predictor.states
    assert found is not None
    return found


def test_a_forecast_is_a_distribution_of_every_agent(states, snare_inputs):
    distribution, belief = states.forecast(snare_inputs, 1)
    torch.testing.assert_close(distribution.probabilities.sum(1), torch.ones(40).double())
    assert (belief.variance > 0).all()
    assert belief.mean.isfinite().all()


def test_nothing_after_the_origin_is_read(states, snare_inputs):
    before, _ = states.forecast(snare_inputs.until(3), 1)
    later = torch.arange(6).view(-1, 1, 1) > 3
    changed = replace(snare_inputs, x=torch.where(later, 99.0, snare_inputs.x)).until(3)
    after, _ = states.forecast(changed, 1)
    assert torch.equal(before.log_probabilities, after.log_probabilities)


def test_observations_read_once_give_the_same_belief(states, snare_inputs):
    everything = states.observations(snare_inputs)
    past = snare_inputs.until(5)
    anew = states.infer(past)
    kept = states.infer(past, observations=everything.until(5))
    # Rows are imputed in batches of other sizes.
    torch.testing.assert_close(kept.mean, anew.mean, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(kept.variance, anew.variance, rtol=1e-9, atol=1e-9)


def test_an_agent_last_observed_earlier_is_known_less(states, snare_inputs):
    x_mask = snare_inputs.x_mask.clone()
    y_mask = snare_inputs.y_mask.clone()
    x_mask[3:, 0] = False
    y_mask[3:, 0] = False
    less = replace(
        snare_inputs,
        x=snare_inputs.x * x_mask,
        x_mask=x_mask,
        y=snare_inputs.y * y_mask.unsqueeze(-1),
        y_mask=y_mask,
    )
    _, full = states.forecast(snare_inputs, 1)
    _, hidden = states.forecast(less, 1)
    gap = states.forecast_variance(hidden)[0] - states.forecast_variance(full)[0]
    assert gap.sum() > 0


def test_a_longer_horizon_is_less_certain(states, snare_inputs):
    near, _ = states.forecast(snare_inputs, 1)
    far, _ = states.forecast(snare_inputs, 4)
    assert far.entropy.mean() > near.entropy.mean()


def test_the_same_agents_in_their_places_have_the_same_forecast(states, snare_inputs):
    same = states.for_agents(torch.arange(40))
    before, _ = states.forecast(snare_inputs, 1)
    after, _ = same.forecast(snare_inputs, 1)
    torch.testing.assert_close(after.log_probabilities, before.log_probabilities, rtol=1e-10, atol=1e-12)


def test_unseen_agents_have_no_links_and_a_forecast(states, snare_inputs):
    strangers = states.for_agents(torch.full((40,), -1))
    if strangers.links is not None:
        assert not strangers.links.is_candidate.any()
    found, _ = strangers.forecast(snare_inputs, 1)
    assert found.log_probabilities.isfinite().all()


def test_without_links_nothing_else_changes(states):
    cut = states.without_links()
    assert cut.links is None
    assert cut.dynamics is states.dynamics
    assert cut.readout is states.readout


def test_features_without_persistence_have_no_chains():
    fresh = draw(T, 60, 3)
    mask = torch.ones_like(fresh, dtype=torch.bool)
    inputs = ModelInputs(fresh, mask, draw(T, 60, 1), mask[..., 0], alone(60, T), 0)
    assert fit_chains(inputs, most_axes=8, seed=0) is None


def test_agents_who_never_meet_have_chains_and_no_links():
    level = draw(60, 3)
    x = level + 0.3 * draw(T, 60, 3, seed=1)
    mask = torch.ones_like(x, dtype=torch.bool)
    inputs = ModelInputs(x, mask, draw(T, 60, 1), mask[..., 0], alone(60, T), 0)
    chains = fit_chains(inputs, most_axes=8, seed=0)
    assert chains is not None
    assert chains.links is None
    assert chains.structure is None
