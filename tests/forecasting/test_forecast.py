"""A forecast is a value: shapes agree, ids survive into the frame, sets are conformal, and it says what it is."""

import math
from datetime import date

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.forecasting.distribution import Categorical, Gaussian
from sphunc.forecasting.forecast import Forecast

NAMES = ("epistemic", "epistemic_scaled", "aleatoric", "total", "kappa")
PARTS = {name: torch.tensor([0.1, 0.2]) for name in NAMES}
HELD = {"scores": torch.linspace(0.01, 0.99, 99), "held_out": "origins"}


def classes(**changes):
    given = {
        "agents": ("ann", 7),
        "origin": 3,
        "target": 4,
        "horizon": 1,
        "class_names": ("no", "yes"),
        "probabilities": torch.tensor([[0.9, 0.1], [0.4, 0.6]]),
    }
    return Forecast(**(given | PARTS | HELD | changes))


def numbers(**changes):
    given = {
        "agents": ("a", "b"),
        "origin": 0,
        "target": 1,
        "horizon": 1,
        "mean": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "variance": torch.full((2, 2), 4.0),
    }
    return Forecast(**(given | PARTS | HELD | changes))


def test_classes_are_named_with_their_probability():
    forecast = classes(coverage=0.96)
    frame = forecast.to_frame()
    assert frame["prediction"].to_list() == ["no", "yes"]
    assert frame["p(yes)"].to_list() == pytest.approx([0.1, 0.6])
    assert frame["confidence"].to_list() == pytest.approx([0.9, 0.6])
    assert frame["set"].to_list() == [["no"], ["no", "yes"]]  # expected ranks .45 and 1; .75 and .95
    assert frame["time"].to_list() == [4, 4]
    assert forecast.prediction.tolist() == [0, 1]
    assert forecast.interval is None


@pytest.mark.parametrize("ids", [("ann", "bob"), (4, 9), (date(2020, 1, 1), date(2021, 1, 1))])
def test_ids_survive_with_their_type(ids):
    assert tuple(classes(agents=ids).to_frame()["agent"].to_list()) == ids


def test_agents_of_mixed_types_stay_apart_in_the_frame():
    assert classes(agents=(1, "1")).to_frame()["agent"].to_list() == ["1", "'1'"]


def test_numbers_have_mean_deviation_and_interval():
    forecast = numbers(coverage=0.5)
    frame = forecast.to_frame()
    assert frame["mean_1"].to_list() == [2.0, 4.0]
    assert frame["deviation_0"].to_list() == [2.0, 2.0]
    assert frame["high_0"].to_list() == pytest.approx([2.0, 4.0])  # the median score is 0.5
    assert frame["low_1"].to_list() == pytest.approx([1.0, 3.0])
    assert forecast.numeric
    assert forecast.set is None
    assert torch.equal(forecast.prediction, forecast.mean)
    assert frame["confidence"].to_list() == pytest.approx((1 / (1 + forecast.total)).tolist())


def test_without_a_coverage_there_is_no_set_and_none_in_the_frame():
    assert classes().set is None
    assert numbers().interval is None
    assert "set" not in classes().to_frame().columns
    assert "low_0" not in numbers().to_frame().columns


def test_a_prediction_set_of_any_coverage_can_be_had_afterwards():
    assert classes().prediction_set(0.3).tolist() == [[True, False], [False, True]]
    assert classes().prediction_set(0.995).tolist() == [[True, True], [True, True]]
    assert numbers().prediction_set(0.995).isinf().all()
    assert numbers().prediction_set(0.5).shape == (2, 2, 2)


def test_distribution_is_that_of_the_fields():
    of_classes = classes().distribution
    assert isinstance(of_classes, Categorical)
    torch.testing.assert_close(of_classes.probabilities, classes().probabilities)
    of_numbers = numbers().distribution
    assert isinstance(of_numbers, Gaussian)
    assert torch.equal(of_numbers.variance, numbers().variance)


def test_several_numbers_are_called_by_their_names():
    frame = numbers(outcome_names=("valence", "arousal"), coverage=0.5).to_frame()
    ends = [f"{part}_{name}" for name in ("valence", "arousal") for part in ("mean", "deviation", "low", "high")]
    assert frame.columns[2:10] == ends
    assert frame["mean_arousal"].to_list() == [2.0, 4.0]
    with pytest.raises(ArgumentError, match="outcome_names has 1 entries; give one for each of 2 numbers"):
        numbers(outcome_names=("valence",))


def test_one_number_is_called_by_its_name_and_needs_no_count_without():
    one = {"mean": torch.zeros(2, 1), "variance": torch.ones(2, 1)}
    assert numbers(**one, outcome_names=("joy",)).to_frame().columns[2:4] == ["mean_joy", "deviation_joy"]
    assert numbers(**one).to_frame().columns[2:4] == ["mean", "deviation"]


def test_it_says_what_it_is():
    assert repr(classes()) == "Forecast(2 agents, 2 classes, 3 -> 4, mean confidence 0.75, mean total 0.15)"
    assert "numbers, 0 -> 1" in repr(numbers())
    assert "sets for coverage 0.9" in repr(classes(coverage=0.9))
    assert "population drifts" in classes().caveat
    assert "nothing was held out" in classes(held_out="nothing", scores=torch.zeros(0)).caveat


def test_nothing_held_out_puts_every_class_in_every_set():
    forecast = classes(held_out="nothing", scores=torch.zeros(0), coverage=0.9)
    assert forecast.set.all()
    interval = numbers(held_out="nothing", scores=torch.zeros(0), coverage=0.9).interval
    assert interval[..., 1].tolist() == [[math.inf] * 2] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total": torch.zeros(3)}, r"total has shape \(3,\); 2 agents ask for \(2,\)"),
        ({"kappa": torch.zeros(1)}, r"kappa has shape \(1,\); 2 agents ask for \(2,\)"),
        ({"probabilities": torch.zeros(2, 3)}, r"probabilities has shape \(2, 3\); 2 agents ask for \(2, 2\)"),
        ({"probabilities": None}, "either probabilities"),
        ({"mean": torch.zeros(2, 1)}, "either probabilities"),
    ],
)
def test_shapes_must_agree(changes, message):
    with pytest.raises(ArgumentError, match=message):
        classes(**changes)


def test_means_come_with_variances():
    with pytest.raises(ArgumentError, match="a forecast of numbers has a mean and a variance"):
        numbers(variance=None)
