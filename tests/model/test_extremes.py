"""Features that no network could compute with are refused by name, and all others give finite forecasts."""

import re
from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError, DataError
from sphunc.model.estimator import SphUnc
from sphunc.model.extremes import FARTHEST, check_extremes

SMALL = {"dim": 8, "layers": 1, "epochs": 2, "folds": 2, "scm": False, "aleatoric_width": 4}


def with_value(data, value, place=(2, 3, 0)):
    x, mask = data.x.clone(), data.x_mask.clone()
    x[place], mask[place] = value, True
    return replace(data, x=x, x_mask=mask)


@pytest.fixture(scope="module")
def model(short_data):
    return SphUnc(**SMALL).fit(short_data, verbose=False)


@pytest.mark.parametrize("value", [1e25, -1e25, 3e38])
def test_a_value_that_is_too_far_out_is_named(model, short_data, value):
    feature, agent = short_data.feature_names[0], short_data.node_ids[3]
    words = re.escape(f"feature {feature!r} of agent {agent!r} at time {short_data.times[2]!r} is {value:g}, but")
    with pytest.raises(DataError, match=words + r" training saw mean .* up to 1e\+12 deviations .* empty, or give"):
        model.predict(with_value(short_data, value))


def test_the_farthest_value_that_is_taken_has_a_finite_forecast(model, short_data):
    encoder = model.network_.encoder
    far = float(encoder.mean[0] + 0.9 * FARTHEST * encoder.deviation[0])
    forecast = model.predict(with_value(short_data, far, (3, 3, 0)))
    assert bool(forecast.probabilities.isfinite().all())
    assert bool(forecast.epistemic.isfinite().all())


def test_held_out_times_are_looked_at_before_training(long_data):
    passes = []
    with pytest.raises(DataError, match=r"at time 8 is 1e\+25, but training saw"):
        SphUnc(**SMALL, holdout="times").fit(
            with_value(long_data, 1e25, (8, 3, 0)), verbose=False, callbacks=[passes.append]
        )
    assert passes == []


@pytest.mark.parametrize("unit", [1e-25, 1e20, 1e37])
def test_units_do_not_matter(model, short_data, unit):
    other = replace(short_data, x=(short_data.x.double() * unit).float())
    again = SphUnc(**SMALL).fit(other, verbose=False)
    torch.testing.assert_close(
        again.predict(other).probabilities, model.predict(short_data).probabilities, atol=1e-3, rtol=0
    )


def test_what_was_not_observed_may_hold_anything(short_data):
    x, mask = short_data.x.clone(), short_data.x_mask.clone()
    mask[2, 3, 0] = False
    x[2, 3, 0] = 0.0
    check_extremes(replace(short_data, x=x, x_mask=mask), x.mean((0, 1)), torch.ones(x.shape[-1]))


def test_training_that_diverges_says_so(short_data):
    with pytest.raises(
        ArgumentError, match=r"learning_rate is 1000, and training diverged in pass \d.*; choose a smaller"
    ):
        SphUnc(**{**SMALL, "epochs": 8}, learning_rate=1000.0).fit(short_data, verbose=False)
