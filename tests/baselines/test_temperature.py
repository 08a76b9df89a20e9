"""Temperatures undo overconfidence, stay put on few outcomes, and never sharpen what is uncertain."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sphunc.baselines.forecaster import predictive_entropy
from sphunc.baselines.holdout import Targets
from sphunc.baselines.temperature import Temperature, fit_temperature, match_confidence
from sphunc.forecasting.distribution import Categorical


def sample(rows, temperature, seed=0):
    """Forecasts ``[1, n, 3]``, and outcomes drawn from them after this temperature."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, rows, 3, generator=generator, dtype=torch.float64) * 2
    shown = Categorical(logits.log_softmax(-1))
    truth = temperature.apply(shown).probabilities[0]
    drawn = torch.multinomial(truth, 1, generator=generator).T
    return shown, Targets(drawn, torch.ones(1, rows, dtype=torch.bool))


def nll(forecasts, targets):
    return -float(forecasts.log_probabilities.gather(-1, targets.outcome.unsqueeze(-1)).mean())


@pytest.mark.parametrize("offset", [-0.4, 0.0, 1.5])
def test_the_temperature_that_outcomes_were_drawn_with_is_found(offset):
    forecasts, targets = sample(8000, Temperature(offset))
    found = fit_temperature(forecasts, targets)
    entropy = predictive_entropy(forecasts.probabilities)
    wanted = float(Temperature(offset)(entropy).mean())
    assert float(found(entropy).mean()) == pytest.approx(wanted, rel=0.08)


def test_the_slope_follows_the_entropy():
    truth = Temperature(0.0, 2.0)
    forecasts, targets = sample(20_000, truth)
    ends = torch.tensor([0.1, 0.8], dtype=torch.float64)
    found = fit_temperature(forecasts, targets)(ends)
    assert found.tolist() == pytest.approx(truth(ends).tolist(), rel=0.2)


def test_the_fit_is_the_minimum_of_its_stated_objective():
    forecasts, targets = sample(200, Temperature(0.8))
    found = fit_temperature(forecasts, targets)

    def objective(offset, slope):
        tempered = Temperature(offset, slope).apply(forecasts)
        return 200 * nll(tempered, targets) + offset**2 / (2 * 0.15**2) + slope**2 / (2 * 0.5**2)

    least = objective(found.offset, found.slope)
    for move in (-0.02, 0.02):
        assert objective(found.offset + move, found.slope) > least
        assert objective(found.offset, max(found.slope + move, 0.0)) >= least


def test_calibrated_forecasts_are_better_on_new_outcomes():
    truth = Temperature(2.5)
    found = fit_temperature(*sample(2000, truth))
    forecasts, targets = sample(2000, truth, seed=1)
    assert nll(found.apply(forecasts), targets) < nll(forecasts, targets) - 0.1


@pytest.mark.parametrize("seed", range(5))
def test_forty_calibrated_outcomes_move_little(seed):
    found = fit_temperature(*sample(40, Temperature(), seed=seed))
    assert 0.6 < float(found(torch.tensor(0.5, dtype=torch.float64))) < 1.7


def test_nothing_held_out_changes_nothing():
    forecasts, targets = sample(10, Temperature())
    found = fit_temperature(forecasts, targets.only(torch.zeros(10, dtype=torch.bool)))
    assert found == Temperature(count=0)
    torch.testing.assert_close(found.apply(forecasts).log_probabilities, forecasts.log_probabilities)


@given(st.floats(-5, 5), st.floats(0, 5), st.floats(0, 1), st.floats(0, 1))
def test_more_entropy_is_never_a_lower_temperature(offset, slope, low, high):
    low, high = sorted([low, high])
    tau = Temperature(offset, slope)(torch.tensor([low, high], dtype=torch.float64))
    assert 0 < tau[0] <= tau[1]


def test_the_neutral_temperature_is_one():
    assert float(Temperature()(torch.tensor(0.3, dtype=torch.float64))) == pytest.approx(1.0, abs=1e-12)
    doubled = Temperature(math.log(math.expm1(1.95 / 0.95)) - math.log(math.e - 1.0))
    assert float(doubled(torch.tensor(0.3, dtype=torch.float64))) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("sharper", [0.7, 1.0, 1.4])
def test_confidence_of_an_earlier_network_is_matched(sharper):
    held_out, _ = sample(300, Temperature())
    final = Categorical((sharper * held_out.log_probabilities).log_softmax(-1))
    before = Temperature(-0.2, 0.3, 300)
    matched = match_confidence(before, held_out, final)
    wanted = float(before.apply(held_out).confidence.mean())
    assert float(matched.apply(final).confidence.mean()) == pytest.approx(wanted, abs=1e-5)
    assert replace(matched, offset=before.offset) == before
    assert (abs(matched.offset - before.offset) < 1e-4) == (sharper == 1.0)


def test_the_temperature_stays_where_none_would_match():
    held_out, _ = sample(20, Temperature())
    flat = Categorical(torch.full((1, 20, 3), 1 / 3, dtype=torch.float64).log())
    before = Temperature(0.1, 0.0, 20)
    assert match_confidence(before, held_out, flat) == before
    assert match_confidence(Temperature(), held_out, held_out) == Temperature()
