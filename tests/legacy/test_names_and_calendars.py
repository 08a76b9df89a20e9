"""Names and times of the user's data, from fit to forecast: outcomes by name, classes by when they occur, calendars."""

from dataclasses import replace
from datetime import date

import polars as pl
import pytest
import torch

import sphunc
from sphunc.errors import CheckpointError, DataError

SMALL = {"dim": 8, "layers": 1, "epochs": 3, "patience": 3, "folds": 2, "aleatoric_width": 4, "seed": 0}


def fitted(data, **settings):
    return sphunc.SphUnc(**{**SMALL, **settings}).fit(data, verbose=False)


@pytest.fixture(scope="module")
def numbers(short_data):
    y = torch.stack([short_data.y.float() + 5.0, -3.0 * short_data.y.float()], -1)
    y = torch.where(short_data.y_mask.unsqueeze(-1), y, 0.0)
    return replace(short_data, y=y, class_names=(), outcome_names=("valence", "arousal"))


@pytest.fixture(scope="module")
def swapped(numbers):
    return replace(numbers, y=numbers.y.flip(-1), outcome_names=("arousal", "valence"))


@pytest.fixture(scope="module")
def model(numbers):
    return fitted(numbers.until_index(2))


def test_the_order_of_outcome_columns_does_not_matter(model, numbers, swapped):
    assert torch.equal(model.predict(swapped).mean, model.predict(numbers).mean)
    assert model.score(swapped) == model.score(numbers)
    do = sphunc.Do(numbers.node_ids[0], observed=numbers.node_ids[1])
    asked = {"origin": 2, "samples": 8, "seed": 0}
    assert torch.equal(
        model.intervene(do, data=swapped, **asked).outcomes, model.intervene(do, data=numbers, **asked).outcomes
    )
    told = (model.counterfactual(do, data=data, **asked).outcomes for data in (swapped, numbers))
    assert torch.equal(*told)


def test_another_name_is_refused(model, numbers):
    renamed = replace(numbers, outcome_names=("valence", "joy"))
    asked = (model.predict, model.score, lambda data: model.intervene(data=data, samples=8))
    for ask in asked:
        with pytest.raises(
            DataError, match=r"\('valence', 'joy'\), but the model forecasts 2 \('valence', 'arousal'\)"
        ):
            ask(renamed)


def test_names_reach_the_answers(model, numbers):
    forecast = model.predict(numbers)
    assert forecast.to_frame().columns[2:6] == [
        "mean_valence",
        "deviation_valence",
        "mean_arousal",
        "deviation_arousal",
    ]
    effect = model.intervene(data=numbers, samples=8)
    first = numbers.node_ids[0]
    assert set(effect.of(first)) == {"mean_valence", "mean_arousal"}
    difference = model.average_causal_effect(
        first, {first: numbers.node_ids[1]}, observed_data=numbers, num_samples_to_draw=8
    )
    assert set(difference) == {"mean_valence", "mean_arousal"}


def test_every_number_is_drawn(model, numbers):
    drawn = model.interventional_samples((), numbers, 8)
    first = str(numbers.node_ids[0])
    assert drawn.columns[:2] == [f"{first} valence", f"{first} arousal"]
    assert drawn.shape == (8, 2 * numbers.num_nodes)
    assert drawn[f"{first} valence"].mean() > 0 > drawn[f"{first} arousal"].mean()


def test_names_are_saved(model, numbers, swapped, tmp_path):
    model.save(tmp_path)
    again = sphunc.SphUnc.load(tmp_path)
    assert again.known_ == model.known_
    assert again.known_.outcomes == ("valence", "arousal")
    assert torch.equal(again.predict(swapped).mean, model.predict(numbers).mean)


def test_a_run_goes_on_with_the_same_names_only(numbers, swapped, tmp_path):
    sphunc.SphUnc(**SMALL).fit(numbers, checkpoint=tmp_path, verbose=False)
    with pytest.raises(CheckpointError, match="other data"):
        sphunc.SphUnc(**SMALL).fit(swapped, resume=tmp_path, verbose=False)


def test_a_class_that_comes_later_is_no_matter(short_data):
    model = fitted(short_data.until_index(2))
    late = short_data.y.clone()
    late[3] = torch.where(short_data.y_mask[3], 3, 0)
    data = replace(short_data, y=late, class_names=(*short_data.class_names, "new"))
    expected = model.predict(short_data, origin=2).probabilities
    assert torch.equal(model.predict(data, origin=2).probabilities, expected)
    assert torch.equal(model.predict(data.until_index(2)).probabilities, expected)
    assert model.score(data, origins=[1]) == model.score(short_data, origins=[1])
    model.intervene(data=data, origin=2, samples=8)
    for ask in (model.predict, model.score):
        with pytest.raises(DataError, match="data has the class 'new', which training never saw"):
            ask(data)


def test_data_without_features_is_refused(short_data):
    bare = replace(short_data, x=short_data.x[..., :0], x_mask=short_data.x_mask[..., :0], feature_names=())
    with pytest.raises(DataError, match=r"data has no features, .*; give the features table at least one column"):
        fitted(bare)


def test_forecasts_go_on_with_the_months(short_data):
    months = replace(short_data, times=tuple(date(2025, month, 1) for month in (9, 10, 11, 12)))
    frame = fitted(months).predict(months).to_frame()
    assert frame["time"].dtype == pl.Date
    assert set(frame["time"]) == {date(2026, 1, 1)}
