"""A forecast is a value: shapes agree, ids survive into the frame, and it says what it is."""

from datetime import date

import pytest
import torch

from sphunc.errors import ArgumentError
from sphunc.legacy.forecast import Forecast, next_time

PARTS = {name: torch.tensor([0.1, 0.2]) for name in ("epistemic", "epistemic_scaled", "aleatoric", "total")}


def classes(**changes):
    given = {
        "agents": ("ann", 7),
        "origin": 3,
        "target": 4,
        "horizon": 1,
        "class_names": ("no", "yes"),
        "probabilities": torch.tensor([[0.9, 0.1], [0.4, 0.6]]),
    }
    return Forecast(**(given | PARTS | changes))


def numbers(**changes):
    shape = {"mean": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "variance": torch.full((2, 2), 4.0)}
    return Forecast(**({"agents": ("a", "b"), "origin": 0, "target": 1, "horizon": 1} | PARTS | shape | changes))


def test_classes_are_named_with_their_probability():
    forecast = classes(set=torch.tensor([[True, False], [True, True]]), coverage=0.9)
    frame = forecast.to_frame()
    assert frame["prediction"].to_list() == ["no", "yes"]
    assert frame["p(yes)"].to_list() == pytest.approx([0.1, 0.6])
    assert frame["confidence"].to_list() == pytest.approx([0.9, 0.6])
    assert frame["set"].to_list() == [["no"], ["no", "yes"]]
    assert frame["time"].to_list() == [4, 4]
    assert forecast.prediction.tolist() == [0, 1]


@pytest.mark.parametrize("ids", [("ann", "bob"), (4, 9), (date(2020, 1, 1), date(2021, 1, 1))])
def test_ids_survive_with_their_type(ids):
    assert tuple(classes(agents=ids).to_frame()["agent"].to_list()) == ids


def test_numbers_have_mean_deviation_and_interval():
    forecast = numbers(interval=torch.tensor([[[0.0, 2.0]] * 2] * 2), coverage=0.9)
    frame = forecast.to_frame()
    assert frame["mean_1"].to_list() == [2.0, 4.0]
    assert frame["deviation_0"].to_list() == [2.0, 2.0]
    assert frame["high_0"].to_list() == [2.0, 2.0]
    assert forecast.numeric
    assert torch.equal(forecast.prediction, forecast.mean)
    assert torch.allclose(forecast.confidence, 1 - forecast.total)


def test_several_numbers_are_called_by_their_names():
    frame = numbers(outcome_names=("valence", "arousal"), interval=torch.zeros(2, 2, 2)).to_frame()
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total": torch.zeros(3)}, r"total has shape \(3,\); 2 agents ask for \(2,\)"),
        ({"probabilities": torch.zeros(2, 3)}, r"probabilities has shape \(2, 3\); 2 agents ask for \(2, 2\)"),
        ({"probabilities": None}, "either probabilities"),
        ({"set": torch.zeros(2, dtype=torch.bool)}, r"set has shape \(2,\)"),
    ],
)
def test_shapes_must_agree(changes, message):
    with pytest.raises(ArgumentError, match=message):
        classes(**changes)


@pytest.mark.parametrize(
    ("times", "index", "label"),
    [
        ((3, 5, 7), 1, 5),
        ((3, 5, 7), 4, 11),
        ((3, 5, 8), 3, "8 + 1"),
        ((date(2020, 1, 1), date(2020, 1, 3)), 2, date(2020, 1, 5)),
        ((date(2033, 1, 1), date(2034, 1, 1)), 2, date(2035, 1, 1)),
        (tuple(date(2026, month, 1) for month in (1, 2, 3)), 4, date(2026, 5, 1)),
        ((date(2026, 1, 1), date(2026, 2, 1), date(2026, 2, 2)), 3, "2026-02-02 + 1"),
        ((4,), 1, "4 + 1"),
        (("a", "b"), 3, "b + 2"),
    ],
)
def test_target_continues_a_regular_calendar(times, index, label):
    assert next_time(times, index) == label


def test_numbers_have_a_confidence_too():
    forecast = numbers()
    assert forecast.to_frame()["confidence"].to_list() == (1.0 - forecast.total).tolist()


def test_agents_of_mixed_types_stay_apart_in_the_frame():
    assert classes(agents=(1, "1")).to_frame()["agent"].to_list() == ["1", "'1'"]
