"""Temperatures undo overconfidence, stay put on few outcomes, and never reward uncertainty."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sphunc.legacy.calibration import TemperatureLaw, carry_over, fit_temperature, largest_score
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.targets import Targets


def sample(n, sharpen, seed=0, slope=0.0):
    """Outcomes drawn from logits, which are then shown ``sharpen`` times too large (more so where total is high)."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, n, 3, generator=generator, dtype=torch.float64) * 2
    total = torch.rand(1, n, generator=generator, dtype=torch.float64)
    drawn = torch.multinomial(logits[0].softmax(-1), 1, generator=generator).T
    shown = logits * (sharpen + slope * total).unsqueeze(-1)
    outlook = Outlook(shown.log_softmax(-1), None, None, total)
    return outlook, Targets(drawn, torch.ones(1, n, dtype=torch.bool))


@pytest.mark.parametrize("sharpen", [0.5, 1.0, 2.5])
def test_temperature_undoes_a_wrong_scale(sharpen):
    outlook, targets = sample(5000, sharpen)
    tau = fit_temperature(outlook, targets)(outlook.total)
    assert float(tau.mean()) == pytest.approx(sharpen, rel=0.08)


def test_slope_follows_uncertainty():
    outlook, targets = sample(8000, 1.0, slope=2.0)
    law = fit_temperature(outlook, targets)
    ends = law(torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert float(ends[0]) == pytest.approx(1.0, abs=0.25)
    assert float(ends[1]) == pytest.approx(3.0, abs=0.4)


def test_calibrated_forecasts_are_better_on_new_outcomes():
    law = fit_temperature(*sample(2000, 3.0))
    outlook, targets = sample(2000, 3.0, seed=1)
    before, after = (o.surprise(targets.outcome).mean() for o in (outlook, law.apply(outlook)))
    assert after < before - 0.1


@pytest.mark.parametrize("seed", range(5))
def test_forty_calibrated_outcomes_move_little(seed):
    outlook, targets = sample(40, 1.0, seed=seed)
    tau = fit_temperature(outlook, targets)(torch.tensor([0.5], dtype=torch.float64))
    assert 0.6 < float(tau) < 1.7


def test_nothing_held_out_changes_nothing():
    outlook, targets = sample(10, 1.0)
    law = fit_temperature(outlook, targets.only(torch.zeros(10, dtype=torch.bool)))
    assert law == TemperatureLaw(count=0)
    assert torch.allclose(law.apply(outlook).log_probabilities, outlook.log_probabilities)


@given(st.floats(-5, 5), st.floats(0, 5), st.floats(0, 1), st.floats(0, 1))
def test_more_uncertainty_is_never_a_lower_temperature(offset, slope, low, high):
    low, high = sorted([low, high])
    tau = TemperatureLaw(offset, slope)(torch.tensor([low, high], dtype=torch.float64))
    assert 0 < tau[0] <= tau[1]


def test_numbers_are_calibrated_by_their_variance():
    generator = torch.Generator().manual_seed(0)
    y = 3.0 * torch.randn(1, 4000, 1, generator=generator)
    outlook = Outlook(None, torch.zeros(1, 4000, 1), torch.ones(1, 4000, 1), torch.full((1, 4000), 0.5))
    law = fit_temperature(outlook, Targets(y, torch.ones(1, 4000, dtype=torch.bool)))
    assert float(law.apply(outlook).variance.mean()) == pytest.approx(9.0, rel=0.1)


def test_the_law_of_numbers_does_not_hang_on_their_unit():
    generator, mask = torch.Generator().manual_seed(0), torch.ones(1, 60, dtype=torch.bool)
    y, total = 3.0 * torch.randn(1, 60, 1, generator=generator), torch.rand(1, 60, generator=generator)
    laws = []
    for unit in (1.0, 2.0**-90, 2.0**60):
        outlook = Outlook(None, torch.zeros(1, 60, 1), torch.ones(1, 60, 1), total, torch.full((1, 60, 1), unit))
        laws.append(fit_temperature(outlook, Targets(unit * y, mask)))
    assert laws[0] == laws[1] == laws[2]


def test_conformal_quantile_is_the_textbook_one():
    scores = torch.arange(1.0, 20.0)  # 19 scores
    assert largest_score(scores, 0.9) == 18.0  # ceil(20 * 0.9)
    assert largest_score(scores, 0.95) == 19.0
    assert largest_score(scores, 0.96) == math.inf
    assert largest_score(scores, 0.5, mask=scores <= 9) == 5.0


@pytest.mark.parametrize("surer", [0.7, 1.0, 1.4])
def test_a_law_carried_over_makes_forecasts_as_sure_as_those_it_was_fitted_to(surer):
    judged, _ = sample(300, 1.0)
    final = Outlook((surer * judged.log_probabilities).log_softmax(-1), None, None, judged.total)
    law = TemperatureLaw(-0.2, 0.3, 300)
    carried = carry_over(law, judged, final)
    assert carried.apply(final).sureness() == pytest.approx(law.apply(judged).sureness(), abs=1e-5)
    assert (carried.slope, carried.count) == (0.3, 300)
    assert carried.offset == pytest.approx(law.offset, abs=1e-4) if surer == 1.0 else carried.offset != law.offset


@pytest.mark.parametrize("variance", [0.5, 2e-5])
def test_a_law_carried_over_matches_deviations_of_numbers(variance):
    total = torch.full((50,), 0.4)
    judged = Outlook(None, torch.zeros(50, 1), torch.full((50, 1), 2.0), total)
    final = Outlook(None, torch.zeros(50, 1), torch.full((50, 1), variance), total)
    carried = carry_over(TemperatureLaw(0.1, 0.0, 50), judged, final)
    torch.testing.assert_close(
        carried.apply(final).variance, TemperatureLaw(0.1).apply(judged).variance, atol=1e-4, rtol=1e-4
    )


def test_a_law_stays_where_no_temperature_would_do():
    judged, _ = sample(20, 1.0)
    flat = Outlook(torch.full((1, 20, 3), 1 / 3).double().log(), None, None, judged.total)
    law = TemperatureLaw(0.1, 0.0, 20)
    assert carry_over(law, judged, flat) == law
    assert carry_over(TemperatureLaw(), judged, judged) == TemperatureLaw()
