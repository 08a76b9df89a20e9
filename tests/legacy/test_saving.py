"""A fitted model is the same after a round trip; a damaged or mismatched folder is refused with what is wrong."""

import json
from dataclasses import replace
from datetime import date

import pytest
import torch
from standin import StandIn, session

from sphunc.errors import CheckpointError
from sphunc.legacy.alignment import Known
from sphunc.legacy.bundle import sealed
from sphunc.legacy.fitting import conclude, fit_stages
from sphunc.legacy.knowledge import Knowledge
from sphunc.legacy.saving import load_fitted, save_fitted


def make_network(config, known, generator):
    return StandIn(len(known.features), known.outputs, numeric=known.numeric, generator=generator)


@pytest.fixture(scope="module")
def made(short_data):
    one = session(short_data, scm=False)
    carry, history = fit_stages(one, lambda record: None)
    known = Known(("a", 2, date(2020, 1, 1)), short_data.feature_names, short_data.class_names, 3, date(2021, 1, 1))
    told = Knowledge((("a", 2), (2, date(2020, 1, 1))), ((date(2020, 1, 1), "a"),))
    return one.config, known, replace(conclude(one, carry, history), knowledge=told)


@pytest.fixture
def folder(made, tmp_path):
    save_fitted(tmp_path, {"dim": 128, "device": torch.device("cpu")}, *made)
    return tmp_path


def edit(folder, **changes):
    path = folder / "model.json"
    document = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(sealed({key: value for key, value in document.items() if value is not None})))


def put(folder, place, *value):
    """Change one entry of the document, or take it out."""
    path = folder / "model.json"
    document = inner = json.loads(path.read_text())
    *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    for part in way:
        inner = inner[part]
    if value:
        inner[last] = value[0]
    else:
        del inner[last]
    path.write_text(json.dumps(sealed(document)))


def test_everything_survives(made, folder):
    config, known, fitted = made
    params, config_back, known_back, back = load_fitted(folder, "cpu", make_network)
    assert (config_back, known_back) == (config, known)
    assert params == {"dim": 128, "device": "cpu"}
    assert (back.temperature, back.history, back.epochs) == (fitted.temperature, fitted.history, fitted.epochs)
    assert back.knowledge == fitted.knowledge
    assert torch.equal(back.conformal.scores, fitted.conformal.scores)
    for name, value in fitted.network.state_dict().items():
        assert torch.equal(value, back.network.state_dict()[name])
    assert not back.network.training


def test_no_pickle_is_written(folder):
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("lost", ["known", "temperature", "structure", "params", "knowledge"])
def test_a_part_that_is_missing_is_named(folder, lost):
    edit(folder, **{lost: None})
    with pytest.raises(CheckpointError, match=rf"model.json misses '{lost}'; it is damaged or foreign"):
        load_fitted(folder, "cpu", make_network)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("known", [], r"has \[\] for 'known': "),
        ("known.agents", "abc", "has 'abc' for 'known.agents': input should be a valid "),
        ("known.agents", [["a"]], r"\['a'\] is no id that sphunc saves"),
        ("known.agents", [{"date": 3}], r"{'date': 3} is no id that sphunc saves"),
        ("known.last", {"date": "2020-01-01", "tuple": []}, "is no id that sphunc saves"),
        ("known.features", "abc", "has 'abc' for 'known.features': "),
        ("known.features", [1, 2], "has 1 for 'known.features.0': input should be a valid string"),
        ("known.classes", None, "has None for 'known.classes': "),
        ("known.outputs", "3", "has '3' for 'known.outputs': input should be a valid integer"),
        ("known.outputs", -3, "has -3 for 'known.outputs': input should be greater than or equal to 1"),
        ("temperature", 1.0, "has 1.0 for 'temperature': "),
        ("temperature.offset", "warm", "has 'warm' for 'temperature.offset': input should be a valid number"),
        ("conformal", 5, "has 5 for 'conformal': "),
        ("conformal", "moons", "has 'moons' for 'conformal': input should be 'times', 'agents' or 'none'"),
        ("epochs", "many", "has 'many' for 'epochs': input should be a valid integer"),
        ("epochs", True, "has True for 'epochs': input should be a valid integer"),
        ("history", {}, "has {} for 'history': "),
        ("history", [3], "has 3 for 'history.0': "),
        ("history.0.seconds", "long", "has 'long' for 'history.0.seconds': input should be a valid number"),
        ("structure", None, "has None for 'structure': "),
        ("structure.graph", "none", "has 'none' for 'structure.graph': "),
        ("structure.graph", {}, "misses 'structure.graph.calibrated'"),
        ("knowledge.forbidden", [["a"]], "misses 'knowledge.forbidden.0.1'"),
        ("knowledge.required", [["a", [2]]], r"\[2\] is no id that sphunc saves"),
        ("params", [], r"has \[\] for 'params': "),
        ("params.seed", "a", "has 'a' for 'params.seed', which is no setting of this version"),
        ("params.dim", 8.0, "has 8.0 for 'params.dim', which is no setting"),
        ("params.warp", 9, "has 9 for 'params.warp', which is no setting of this version"),
        ("config", None, "the saved configuration cannot be read"),
        ("config.dim", "wide", "the saved configuration cannot be read"),
    ],
)
def test_a_part_of_a_wrong_type_is_named(folder, place, value, words):
    put(folder, place, value)
    with pytest.raises(CheckpointError, match=words):
        load_fitted(folder, "cpu", make_network)


@pytest.mark.parametrize(
    "place", ["known.outputs", "known.last", "temperature.offset", "history.0.stage", "structure.graph"]
)
def test_an_entry_that_is_missing_is_named(folder, place):
    put(folder, place)
    with pytest.raises(CheckpointError, match=rf"model.json misses '{place}'; it is damaged or foreign"):
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


def test_the_fingerprint_survives_and_may_be_missing(made, tmp_path):
    config, known, fitted = made
    save_fitted(tmp_path, {"dim": 128, "device": "cpu"}, config, known, replace(fitted, fingerprint="abc"))
    assert load_fitted(tmp_path, "cpu", make_network)[-1].fingerprint == "abc"
    put(tmp_path, "fingerprint")
    assert load_fitted(tmp_path, "cpu", make_network)[-1].fingerprint == ""


def test_a_fit_that_was_stopped_is_not_a_model(tmp_path):
    (tmp_path / "training.json").touch()
    with pytest.raises(CheckpointError, match=r"stopped before its end; go on with fit\(data, resume="):
        load_fitted(tmp_path, "cpu", make_network)
