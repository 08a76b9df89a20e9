"""A fitted model is the same after a round trip; a damaged or mismatched folder is refused with what is wrong."""

import json
from datetime import date

import pytest
import torch
from standin import StandIn, session

from sphunc.errors import CheckpointError
from sphunc.model.alignment import Known
from sphunc.model.fitting import conclude, fit_stages
from sphunc.model.saving import load_fitted, save_fitted


def make_network(config, known, generator):
    return StandIn(len(known.features), known.outputs, numeric=known.numeric, generator=generator)


@pytest.fixture(scope="module")
def made(short_data):
    one = session(short_data, scm=False)
    carry, history = fit_stages(one, lambda record: None)
    known = Known(("a", 2, date(2020, 1, 1)), short_data.feature_names, short_data.class_names, 3, date(2021, 1, 1))
    return one.config, known, conclude(one, carry, history)


@pytest.fixture
def folder(made, tmp_path):
    save_fitted(tmp_path, {"dim": 128, "device": torch.device("cpu")}, *made)
    return tmp_path


def edit(folder, **changes):
    path = folder / "model.json"
    document = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))


def test_everything_survives(made, folder):
    config, known, fitted = made
    params, config_back, known_back, back = load_fitted(folder, "cpu", make_network)
    assert (config_back, known_back) == (config, known)
    assert params == {"dim": 128, "device": "cpu"}
    assert (back.temperature, back.history, back.epochs) == (fitted.temperature, fitted.history, fitted.epochs)
    assert torch.equal(back.conformal.scores, fitted.conformal.scores)
    for name, value in fitted.network.state_dict().items():
        assert torch.equal(value, back.network.state_dict()[name])
    assert not back.network.training


def test_no_pickle_is_written(folder):
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("lost", ["known", "temperature", "structure", "params"])
def test_a_part_that_is_missing_is_named(folder, lost):
    edit(folder, **{lost: None})
    with pytest.raises(CheckpointError, match=rf"model.json misses '{lost}'; it is damaged or foreign"):
        load_fitted(folder, "cpu", make_network)


def test_settings_of_another_version_are_refused(folder, made):
    edit(folder, config=made[0].model_dump() | {"warp": 9})
    with pytest.raises(CheckpointError, match="the saved configuration cannot be read: "):
        load_fitted(folder, "cpu", make_network)


def test_weights_of_other_data_are_refused(folder, made):
    known = json.loads((folder / "model.json").read_text())["known"]
    edit(folder, known=known | {"features": known["features"][1:]})
    with pytest.raises(CheckpointError, match="the saved weights do not fit the saved configuration"):
        load_fitted(folder, "cpu", make_network)
