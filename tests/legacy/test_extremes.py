"""Features that no network could compute with are refused by name, and all others give finite forecasts."""

import re
from dataclasses import replace

import pytest
import torch

from sphunc.errors import ArgumentError, DataError
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.extremes import FARTHEST, check_extremes, set_aside

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
    with pytest.warns(UserWarning, match="which count as not observed: feature .* 1 value, such as"):
        forecast = model.predict(with_value(short_data, far, (3, 3, 0)))
    assert bool(forecast.probabilities.isfinite().all())
    assert bool(forecast.epistemic.isfinite().all())


def in_unit(data, factor, features=slice(0, 1)):
    x = data.x.clone()
    x[..., features] *= factor
    return replace(data, x=x)


def without(data, features=slice(0, 1)):
    mask = data.x_mask.clone()
    mask[..., features] = False
    return replace(data, x=data.x * mask, x_mask=mask)


@pytest.mark.parametrize("factor", [1e3, 1e6, -1e6])
def test_a_feature_in_another_unit_is_named_and_not_followed(model, short_data, factor):
    name, encoder = short_data.feature_names[0], model.network_.encoder
    words = rf"feature {name!r}: \d+ values, such as .*, in the median .* deviations from the mean of training \(mean "
    with pytest.warns(UserWarning, match=words + r".*\)\. Give them in the unit that fit saw, leave .* or fit") as told:
        forecast = model.predict(in_unit(short_data, factor))
    assert len(told) == 1
    assert f"deviation {float(encoder.deviation[0]):g}" in str(told[0].message)
    wanted = model.predict(without(short_data))
    for part in ("probabilities", "epistemic", "aleatoric", "total"):
        assert torch.equal(getattr(forecast, part), getattr(wanted, part))


def test_a_unit_mistaken_at_the_last_time_only_is_noticed(model, short_data):
    x = short_data.x.clone()
    x[-1, :, 0] = 1e4 * (1.0 + x[-1, :, 0].abs()) * short_data.x_mask[-1, :, 0]
    with pytest.warns(UserWarning, match="count as not observed"):
        forecast = model.predict(replace(short_data, x=x))
    x_mask = short_data.x_mask.clone()
    x_mask[-1, :, 0] = False
    wanted = model.predict(replace(short_data, x=short_data.x * x_mask, x_mask=x_mask))
    assert torch.equal(forecast.probabilities, wanted.probabilities)


def sureness(model, data):
    forecast = model.predict(data)
    return float(forecast.probabilities.amax(1).mean()), float(forecast.total.mean())


def test_nobody_becomes_surer_by_a_unit_mistaken(long_data):
    model = SphUnc(dim=16, epochs=20, folds=2, scm=False).fit(long_data, verbose=False)
    sure, total = sureness(model, long_data)
    for count in (1, 3, long_data.num_features // 2):
        with pytest.warns(UserWarning, match="count as not observed"):
            surer, less = sureness(model, in_unit(long_data, 1e6, slice(0, count)))
        assert surer < sure + 0.01
        assert less > total - 0.01


@pytest.mark.parametrize("factor", [1e3, 1e6])
def test_nothing_left_is_refused(model, short_data, factor):
    with pytest.raises(DataError, match=r"training saw no features like those of the data: .* more such features"):
        model.predict(in_unit(short_data, factor, slice(None)))


@pytest.mark.parametrize("factor", [0.0, 0.5, 5.0])
def test_values_that_training_may_have_seen_are_left_alone(model, short_data, factor):
    encoder = model.network_.encoder
    x = encoder.mean + factor * (short_data.x - encoder.mean)
    data = replace(short_data, x=torch.where(short_data.x_mask, x, 0.0))
    assert set_aside(data, encoder.mean, encoder.deviation) is data


def test_few_agents_far_out_are_not_a_unit_mistaken(model, short_data):
    encoder, few = model.network_.encoder, short_data.x_mask.clone()
    few[:, 4:, 0] = False
    x = torch.where(few, short_data.x, 0.0)
    x[:, :4, 0] = torch.where(few[:, :4, 0], encoder.mean[0] + 30 * encoder.deviation[0], 0.0)
    data = replace(short_data, x=x, x_mask=few)
    assert set_aside(data, encoder.mean, encoder.deviation) is data


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
