"""Fitted values survive the way through a file to the last bit; what does not fit is refused in clear words."""

import json
import math

import pytest
import torch

from sphunc.errors import CheckpointError
from sphunc.forecasting.distribution import Categorical
from sphunc.forecasting.storage import read_bundle, write_bundle
from sphunc.model.base import Standardiser
from sphunc.model.fitting import ComparisonRow, FittedModel
from sphunc.model.persistence import CLASSES, deserialise, serialise
from sphunc.model.uncertainty import Fusion, Temperature


def through_json(value):
    tensors = {}
    document = serialise(value, "value", tensors)
    return deserialise(json.loads(json.dumps(document, allow_nan=False)), tensors)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, 0.1, 1e-300, math.pi, math.inf, -math.inf, "für", (), (1, (2.5, None)), ("a", math.inf)],
)
def test_plain_values_come_back_as_they_were(value):
    found = through_json(value)
    assert found == value
    assert type(found) is type(value)


def test_nan_comes_back_as_nan():
    assert math.isnan(through_json(math.nan))
    assert math.isnan(through_json((1.0, math.nan))[1])


def test_dataclasses_come_back_with_their_fields():
    row = ComparisonRow("covariates", 0.5, -math.inf, math.nan)
    found = through_json(row)
    assert isinstance(found, ComparisonRow)
    assert (found.model, found.nll, found.gain) == ("covariates", 0.5, -math.inf)
    assert math.isnan(found.error)
    assert through_json(Temperature(0.1, 0.2, 0.3)) == Temperature(0.1, 0.2, 0.3)
    assert through_json((Fusion(), Temperature())) == (Fusion(), Temperature())


def test_tensors_come_back_to_the_bit(tmp_path):
    values = torch.tensor([0.1, math.inf, -math.inf, math.nan, -0.0, 5e-324], dtype=torch.float64)
    given = Standardiser(values, values.flip(0), torch.tensor([True, False, True, True, False, False]))
    tensors = {}
    document = serialise(given, "it", tensors)
    assert set(tensors) == {"it.mean", "it.scale", "it.is_constant"}
    write_bundle(tmp_path, "model", {"value": document}, tensors)
    read, stored = read_bundle(tmp_path, "model")
    found = deserialise(read["value"], stored)
    assert found.mean.view(torch.int64).tolist() == values.view(torch.int64).tolist()
    assert found.scale.view(torch.int64).tolist() == values.flip(0).view(torch.int64).tolist()
    assert torch.equal(found.is_constant, given.is_constant)


def test_a_model_read_from_a_file_forecasts_the_same_to_the_bit(snare_inputs, snare_model, tmp_path):
    inputs = snare_inputs
    model = snare_model
    tensors = {}
    document = serialise(model, "model", tensors)
    write_bundle(tmp_path, "model", {"value": document}, tensors)
    read, stored = read_bundle(tmp_path, "model")
    again = deserialise(read["value"], stored)
    assert isinstance(again, FittedModel)
    before = model.forecast(inputs)
    after = again.forecast(inputs)
    assert isinstance(after.distribution, Categorical)
    assert torch.equal(after.distribution.log_probabilities, before.distribution.log_probabilities)
    for name in ("epistemic", "epistemic_scaled", "aleatoric", "total", "kappa"):
        assert torch.equal(getattr(after, name), getattr(before, name)), name
    assert again.comparison == model.comparison
    assert (again.weight, again.held_out) == (model.weight, model.held_out)


def test_every_tensor_of_a_model_comes_back(snare_model):
    tensors = {}
    document = serialise(snare_model, "model", tensors)
    again = {}
    serialise(deserialise(document, tensors), "model", again)
    assert set(again) == set(tensors)
    assert all(torch.equal(again[name], tensors[name]) for name in tensors)


def test_a_missing_tensor_is_named():
    with pytest.raises(CheckpointError, match=r"tensor 'model.base' is missing; the folder is damaged"):
        deserialise({"tensor": "model.base"}, {})


@pytest.mark.parametrize("document", [{"class": "Popen", "fields": {}}, {"class": "Fusion"}, {}, {"float": "7"}])
def test_only_registered_classes_are_made(document):
    with pytest.raises(CheckpointError, match="is no part of a model; the folder is damaged or foreign"):
        deserialise(document, {})
    assert "Popen" not in CLASSES


def test_fields_of_another_version_ask_for_another_fit():
    with pytest.raises(CheckpointError, match=r"Fusion does not fit what was saved \(.*colour.*\); fit again"):
        deserialise({"class": "Fusion", "fields": {"colour": 1}}, {})


def test_what_cannot_be_saved_is_named():
    with pytest.raises(TypeError, match="it is a set, which cannot be saved"):
        serialise({1, 2}, "it", {})
    with pytest.raises(TypeError, match="Generator"):
        serialise((torch.Generator(),), "it", {})
