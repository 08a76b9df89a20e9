"""`SphUnc` end to end: labels, invariances, checkpoints, saving, clear errors, both models behind one class."""

from dataclasses import replace
from datetime import date

import pytest
import torch

import sphunc
from sphunc.estimator import SphUnc
from sphunc.hypergraph import time_split
from sphunc.interventions import Do
from sphunc.model.config import SphUncConfig
from sphunc.model.paper import TrackedIntervention

PAPER = {"dim": 8, "layers": 1, "epochs": 2, "patience": 1, "aleatoric_width": 4, "structure_epochs": 1}


@pytest.fixture(scope="module")
def world():
    return sphunc.simulate("snare", agents=40, times=7, seed=0)


@pytest.fixture(scope="module")
def data(world):
    return world.data


@pytest.fixture(scope="module")
def past(data):
    return data.until_index(5)


@pytest.fixture(scope="module")
def model(past):
    return SphUnc(seed=0).fit(past, verbose=False)


@pytest.fixture(scope="module")
def quick(past):
    return SphUnc(quick=True, seed=0).fit(past, verbose=False)


def permuted(data, order):
    number = torch.empty_like(order)
    number[order] = torch.arange(len(order))
    index = data.hyperedge_index.clone()
    index[0] = number[index[0]]
    rows = torch.argsort(index[1] * len(order) + index[0])
    return replace(
        data,
        x=data.x[:, order],
        x_mask=data.x_mask[:, order],
        y=data.y[:, order],
        y_mask=data.y_mask[:, order],
        hyperedge_index=index[:, rows],
        node_ids=tuple(data.node_ids[k] for k in order.tolist()),
        influence=None,
        influence_kind="",
    )


def test_forecast_has_probabilities_and_finite_parts(model, data):
    forecast = model.predict(data, origin=5, coverage=0.9)
    torch.testing.assert_close(forecast.probabilities.sum(1), torch.ones(40, dtype=torch.float64))
    for name in ("epistemic", "epistemic_scaled", "aleatoric", "total", "kappa"):
        assert bool(getattr(forecast, name).isfinite().all())
    assert forecast.set.shape == (40, 3)
    assert torch.equal(forecast.set, forecast.prediction_set(0.9))
    assert set(forecast.to_frame().columns) >= {"agent", "time", "prediction", "epistemic", "aleatoric", "total", "set"}


def test_nothing_after_the_origin_is_looked_at(model, data):
    changed = replace(data, x=data.x.clone(), y=data.y.clone())
    changed.x[6] += 5.0
    changed.y[6] = (changed.y[6] + 1) % 3
    before = model.predict(data, origin=5)
    after = model.predict(changed, origin=5)
    assert torch.equal(before.probabilities, after.probabilities)


def test_comparison_and_verdict_say_what_the_fit_is_worth(model, quick):
    assert model.comparison_["model"][:3].to_list() == ["class frequencies", "persistence", "covariates"]
    assert "regression on the same covariates" in model.verdict_
    assert model.dim_ == model.model_.num_axes > 0
    assert quick.dim_ == 0
    assert "quick=True" in quick.verdict_


def test_origin_takes_labels_and_refuses_positions_that_are_none(model, data):
    dated = replace(data, times=tuple(date(2026, month, 1) for month in range(1, 8)))
    by_label = model.predict(dated, origin=date(2026, 6, 1))
    by_position = model.predict(dated, origin_index=5)
    assert torch.equal(by_label.probabilities, by_position.probabilities)
    assert by_label.target == date(2026, 7, 1)
    with pytest.raises(sphunc.ArgumentError, match=r"until_index|position"):
        model.predict(dated, origin=5)
    with pytest.raises(sphunc.ArgumentError, match="give one of them"):
        model.predict(data, origin=5, origin_index=5)


def test_order_of_agents_changes_no_forecast(quick, past, data):
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    other = SphUnc(quick=True, seed=0).fit(permuted(past, order), verbose=False)
    forecast = other.predict(permuted(data, order), origin=5)
    assert torch.equal(forecast.probabilities, quick.predict(data, origin=5).probabilities[order])


def test_unit_and_constant_of_a_feature_change_no_forecast(quick, past, data):
    def moved(given):
        x = given.x.clone()
        x[..., 0] = torch.where(given.x_mask[..., 0], 4.0 * x[..., 0] + 16.0, 0.0)
        return replace(given, x=x)

    other = SphUnc(quick=True, seed=0).fit(moved(past), verbose=False)
    forecast = other.predict(moved(data), origin=5)
    # Features are kept in single precision: a shift rounds them.
    torch.testing.assert_close(forecast.probabilities, quick.predict(data, origin=5).probabilities, atol=1e-4, rtol=0.0)


def test_saved_model_forecasts_to_the_bit(model, data, tmp_path):
    model.save(tmp_path / "kept")
    again = SphUnc.load(tmp_path / "kept")
    assert torch.equal(again.predict(data).probabilities, model.predict(data).probabilities)
    assert again.verdict_ == model.verdict_
    assert again.comparison_.equals(model.comparison_)
    assert torch.equal(again.influence().probability, model.influence().probability)


@pytest.mark.parametrize("stage", ["states and links", "readout"])
def test_killed_fit_goes_on_to_the_same_result(model, past, data, tmp_path, stage):
    def stop(record):
        if record.stage == stage:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        SphUnc(seed=0).fit(past, checkpoint=folder, verbose=False, callbacks=[stop])
    resumed = SphUnc(seed=0).fit(past, resume=folder, verbose=False)
    assert torch.equal(resumed.predict(data).probabilities, model.predict(data).probabilities)
    finished = SphUnc(seed=0).fit(past, resume=folder, verbose=False)
    assert torch.equal(finished.predict(data).probabilities, model.predict(data).probabilities)
    with pytest.raises(sphunc.CheckpointError, match="other data or settings"):
        SphUnc(seed=1).fit(past, resume=folder, verbose=False)


def test_nothing_to_resume_is_said(past, tmp_path):
    with pytest.raises(sphunc.CheckpointError, match="begin one with fit"):
        SphUnc(seed=0).fit(past, resume=tmp_path, verbose=False)


def test_unseen_agents_are_forecast_with_a_wider_belief(model, data):
    others = torch.arange(40) != 0
    renamed = replace(
        data,
        node_ids=("new", *data.node_ids[1:]),
        x=data.x * others.view(1, -1, 1),
        x_mask=data.x_mask & others.view(1, -1, 1),
        y=data.y * others,
        y_mask=data.y_mask & others,
        influence=None,
        influence_kind="",
    )
    forecast = model.predict(renamed)
    assert bool(forecast.probabilities.isfinite().all())
    # Known agents far from all others may be as uncertain.
    assert float(forecast.epistemic[0]) > float(forecast.epistemic[1:].quantile(0.9))


def test_split_and_label_limit_what_is_learned(data):
    by_split = SphUnc(quick=True).fit(data, time_split(data), verbose=False)
    last = time_split(data).targets("calibration")[-1]
    by_label = SphUnc(quick=True).fit(data, data.times[last], verbose=False)
    assert torch.equal(by_split.predict(data).probabilities, by_label.predict(data).probabilities)


def test_score_takes_outcomes_that_the_fit_did_not_see(quick, data, past):
    assert -3.0 < quick.score(data) < 0.0
    assert 0.3 < quick.score(data, "accuracy") <= 1.0
    with pytest.raises(sphunc.ArgumentError, match="no outcome later than"):
        quick.score(past)
    with pytest.raises(sphunc.ArgumentError, match="did you mean 'accuracy'"):
        quick.score(data, "acuracy")


def test_forbidden_and_required_links(past):
    source, target = past.node_ids[0], past.node_ids[1]
    fitted = SphUnc(seed=0).fit(past, verbose=False, required=[(source, target)], forbidden=[(target, source)])
    frame = fitted.influence().to_frame()
    found = {(row["source"], row["target"]): row["probability"] for row in frame.iter_rows(named=True)}
    assert found[(source, target)] > 0.99
    assert (target, source) not in found
    with pytest.raises(sphunc.ArgumentError, match="both forbidden and required"):
        SphUnc().fit(past, required=[(source, target)], forbidden=[(source, target)])
    with pytest.raises(sphunc.ArgumentError, match="who is not in the data"):
        SphUnc().fit(past, forbidden=[("nobody", target)])


def test_numbers_are_forecast_in_their_own_unit(past, data):
    def numbers(given):
        y = torch.where(given.y_mask.unsqueeze(-1), 100.0 + 10.0 * given.y.unsqueeze(-1).float(), 0.0)
        return replace(given, y=y, class_names=())

    fitted = SphUnc(quick=True).fit(numbers(past), verbose=False)
    forecast = fitted.predict(numbers(data), origin=5, coverage=0.9)
    assert 95.0 < float(forecast.mean.mean()) < 125.0
    assert forecast.interval.shape == (40, 1, 2)
    assert bool((forecast.interval[..., 0] < forecast.mean).all())
    assert -1.0 < fitted.score(numbers(data), "r2") <= 1.0


def test_wild_values_and_codes_are_warned_of(past):
    wild = replace(past, x=past.x.clone())
    wild.x[2, 3, 0] = 1e6
    with pytest.warns(UserWarning, match="pulled to the limit"):
        SphUnc(quick=True).fit(wild, verbose=False)


def test_interventions_and_counterfactuals_are_answered(model, data, past):
    agent, name = past.node_ids[0], past.class_names[0]
    effect = model.intervene(Do(agent, toward=name), data=past, horizon=2, samples=40)
    assert torch.equal(effect.within + effect.identification, effect.entropy)
    assert effect.probabilities.shape == (40, 3)
    told = model.counterfactual(Do(agent, toward=name), data=data, origin=4, horizon=2, samples=40)
    assert told.coupling
    nothing = model.intervene(data=past, samples=40)
    assert float(nothing.size.max()) == 0.0


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"epochs": 3}, "paper"),
        ({"quik": True}, "did you mean 'quick'"),
        ({"folds": 2}, "holds out"),
    ],
)
def test_settings_that_are_gone_or_misspelt_are_refused(settings, match):
    with pytest.raises(sphunc.ArgumentError, match=match):
        SphUnc(**settings)


def test_too_little_data_is_a_clear_error(data):
    with pytest.raises(sphunc.DataError, match="too few"):
        SphUnc().fit(data.until_index(0), verbose=False)
    with pytest.raises(sphunc.NotFittedError, match="call fit"):
        SphUnc().predict(data)


def test_papers_model_stands_behind_the_same_class(past, data, tmp_path):
    fitted = SphUnc(SphUncConfig.paper(**PAPER), seed=0).fit(past, verbose=False)
    forecast = fitted.predict(data, origin=5)
    assert forecast.probabilities.shape == (40, 3)
    assert len(fitted.history_) <= 2
    fitted.save(tmp_path / "paper")
    again = SphUnc.load(tmp_path / "paper")
    assert torch.equal(again.predict(data).probabilities, fitted.predict(data).probabilities)
    assert fitted.influence().links.shape[0] == 2
    with pytest.raises(sphunc.ArgumentError, match="paper's model"):
        SphUnc().fit(past, track=TrackedIntervention(past.node_ids[0], toward=past.class_names[0]))


def test_parameters_are_those_of_the_constructor():
    model = SphUnc(dim=16, horizon=2, seed=3, quick=True)
    assert model.get_params()["dim"] == 16
    assert SphUnc(**model.get_params()).get_params() == model.get_params()
    assert repr(model).startswith("SphUnc(dim=16, horizon=2, seed=3")
