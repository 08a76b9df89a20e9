"""The estimator, end to end: fit, predict, score, save; ids, horizons, newcomers, gaps; no look at the future."""

import copy
import json
import math
from dataclasses import replace
from datetime import date
from inspect import unwrap
from uuid import UUID

import numpy as np
import polars as pl
import pytest
import torch

import sphunc
from sphunc.errors import (
    ArgumentError,
    ArgumentTypeError,
    CheckpointError,
    DataError,
    NotFittedError,
    SphuncError,
)
from sphunc.hypergraph import Split, scramble_future, time_split
from sphunc.legacy import estimator, fitting
from sphunc.legacy.bundle import sealed
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.estimator import SphUnc

SMALL = {"dim": 8, "layers": 1, "epochs": 3, "patience": 3, "folds": 2, "scm": False, "aleatoric_width": 4}
BY_TIMES = {**SMALL, "holdout": "times"}


def fitted(data, **settings):
    return SphUnc(**{**SMALL, **settings}).fit(data, verbose=False)


@pytest.fixture(scope="module")
def model(long_data):
    return fitted(long_data, holdout="times")


@pytest.fixture(scope="module")
def linked(short_data):
    return fitted(short_data, scm=True, structure_epochs=0)


def as_numbers(data, columns=1):
    y = data.y.float().unsqueeze(-1).repeat(1, 1, columns) * data.y_mask.unsqueeze(-1)
    return replace(data, y=y, class_names=())


def equal(one, two):
    return all(
        torch.equal(getattr(one, name), getattr(two, name))
        for name in ("probabilities", "epistemic", "epistemic_scaled", "aleatoric", "total")
    )


def test_public_names():
    assert sphunc.SphUnc is SphUnc
    assert sphunc.Forecast.__name__ == "Forecast"


def test_a_forecast_has_all_its_parts(model, long_data):
    forecast = model.predict(long_data)
    N, C = long_data.num_nodes, long_data.num_classes
    assert forecast.probabilities.shape == (N, C)
    assert torch.allclose(forecast.probabilities.sum(1), torch.ones(N), atol=1e-5)
    for part in (forecast.epistemic, forecast.epistemic_scaled, forecast.aleatoric, forecast.total):
        assert part.shape == (N,)
        assert part.isfinite().all()
    assert ((forecast.epistemic_scaled >= 0) & (forecast.epistemic_scaled <= 1)).all()
    assert (forecast.aleatoric >= 0).all()
    assert ((forecast.total > 0) & (forecast.total < 1)).all()
    assert (forecast.origin, forecast.target, forecast.agents) == (8, 9, long_data.node_ids)
    frame = forecast.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["agent"].to_list() == list(long_data.node_ids)
    assert torch.equal(model.predict_proba(long_data), forecast.probabilities)


@pytest.mark.parametrize("origin", [2, 5])
def test_nothing_after_the_origin_moves_a_forecast(model, linked, long_data, origin):
    for one in (model, linked):
        assert equal(one.predict(long_data, origin), one.predict(scramble_future(long_data, origin), origin))
        assert equal(one.predict(long_data, origin), one.predict(long_data.until_index(origin)))


def test_nothing_of_the_test_part_moves_the_fit(long_data):
    split = time_split(long_data)
    last = split.targets("calibration")[-1]
    models = [
        SphUnc(**BY_TIMES).fit(data, split, verbose=False) for data in (long_data, scramble_future(long_data, last))
    ]
    assert equal(*(one.predict(long_data, last) for one in models))
    assert models[0].known_.last == last


def test_same_seed_same_numbers(model, long_data):
    assert equal(model.predict(long_data), fitted(long_data, **BY_TIMES).predict(long_data))
    assert not equal(model.predict(long_data), fitted(long_data, **BY_TIMES, seed=1).predict(long_data))


def test_the_global_generator_is_left_alone(short_data):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    fitted(short_data).predict(short_data)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("times", [2, 4, 5])
def test_short_panels_are_fitted(times):
    data = sphunc.simulate("snare", agents=24, times=times, seed=0).data
    model = fitted(data)
    assert model.conformal_.source == "agents"
    assert model.predict(data, coverage=0.8).caveat.startswith("coverage was calibrated on held-out agents")


@pytest.mark.parametrize("horizon", [2, 3])
def test_horizons_beyond_one(long_data, horizon):
    forecast = fitted(long_data, horizon=horizon).predict(long_data, origin=4)
    assert (forecast.origin, forecast.target, forecast.horizon) == (4, 4 + horizon, horizon)


def test_intervals_of_numbers_that_never_change_hold_after_the_last_passes():
    data = sphunc.simulate("snare", agents=60, times=10, seed=0).data
    lasting = data.x[:1, :, :1].expand(10, -1, -1).contiguous()
    data = replace(data, y=lasting, y_mask=torch.ones(10, 60, dtype=torch.bool), class_names=())
    past = data.until_index(8)
    forecast = SphUnc(dim=8, epochs=20, seed=0).fit(past, verbose=False).predict(past, coverage=0.9)
    low, high = forecast.interval[:, 0].T
    assert float(((low <= data.y[9, :, 0]) & (data.y[9, :, 0] <= high)).float().mean()) > 0.75
    assert float((data.y[9] - forecast.mean).square().mean()) < 9 * float(forecast.variance.mean())


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers(long_data, columns):
    data = as_numbers(long_data, columns)
    model = fitted(data)
    forecast = model.predict(data, coverage=0.8)
    assert forecast.mean.shape == forecast.variance.shape == (30, columns)
    assert (forecast.variance > 0).all()
    assert forecast.interval.shape == (30, columns, 2)
    truth, guess = data.y[8], model.predict(data, 7).mean
    left, all_ = ((truth - point).square().sum(0) for point in (guess, truth.mean(0)))
    assert model.score(data, [7], metric="r2") == pytest.approx(float((1 - left / all_).mean()), abs=1e-5)
    silent = replace(data, y=None, y_mask=torch.zeros_like(data.y_mask), outcome_names=())
    assert bool(model.predict(silent).mean.isfinite().all())
    assert not torch.equal(model.predict(silent).mean, forecast.mean)
    with pytest.raises(ArgumentError, match="the model forecasts numbers, which have no probabilities"):
        model.predict_proba(data)
    with pytest.raises(ArgumentError, match="metric is 'accuracy'; choose log_likelihood or r2"):
        model.score(data, [7], metric="accuracy")


def test_agents_are_matched_by_id_whatever_their_order(linked, short_data):
    order = torch.randperm(short_data.num_nodes, generator=torch.Generator().manual_seed(0))
    rank = order.argsort()
    node, edge = short_data.hyperedge_index
    moved = torch.stack([rank[node], edge])
    shuffled = replace(
        short_data,
        x=short_data.x[:, order],
        x_mask=short_data.x_mask[:, order],
        y=short_data.y[:, order],
        y_mask=short_data.y_mask[:, order],
        hyperedge_index=moved[:, (moved[1] * short_data.num_nodes + moved[0]).argsort()],
        node_ids=tuple(short_data.node_ids[i] for i in order.tolist()),
        influence=None,
        influence_kind="",
    )
    straight, mixed = linked.predict(short_data), linked.predict(shuffled)
    assert torch.allclose(straight.probabilities[order], mixed.probabilities, atol=1e-4)
    assert mixed.agents == shuffled.node_ids


def test_newcomers_are_forecast(linked, short_data):
    renamed = replace(short_data, node_ids=tuple(f"new-{i}" for i in range(short_data.num_nodes)))
    forecast = linked.predict(renamed)
    assert forecast.probabilities.isfinite().all()
    assert forecast.agents[0] == "new-0"


def test_ids_that_became_text_are_told_of(short_data):
    numbered = replace(short_data, node_ids=tuple(range(short_data.num_nodes)))
    model = fitted(numbered, scm=True, structure_epochs=0)
    text = replace(short_data, node_ids=tuple(map(str, range(short_data.num_nodes))))
    with pytest.warns(UserWarning, match=r"have no learned links; 30 of them would .* 0 \(int\) for '0' \(str\)"):
        model.predict(text)


def test_missing_features_and_unseen_agents_still_get_a_forecast(model, long_data):
    x_mask = torch.rand(long_data.x.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    x_mask &= long_data.x_mask
    x_mask[:, 0] = False
    y_mask = long_data.y_mask.clone()
    y_mask[:, 0] = False
    sparse = replace(
        long_data, x=long_data.x * x_mask, x_mask=x_mask, y=torch.where(y_mask, long_data.y, 0), y_mask=y_mask
    )
    forecast = model.predict(sparse)
    assert forecast.probabilities.isfinite().all()
    assert forecast.epistemic.isfinite().all()


def test_data_without_outcomes_can_be_forecast(model, long_data):
    blind = replace(long_data, y=None, y_mask=torch.zeros_like(long_data.y_mask), class_names=())
    assert model.predict(blind).probabilities.shape == (30, 3)


def test_conformal_sets_hold_more_classes_for_more_coverage(model, long_data):
    sizes = [model.predict(long_data, coverage=c).set.sum() for c in (0.3, 0.6, 0.9)]
    assert sizes == sorted(sizes)
    assert "not guaranteed when the population drifts" in model.predict(long_data, coverage=0.9).caveat


def test_scores(model, long_data):
    nll = -model.score(long_data, [3, 4])
    p = [model.predict_proba(long_data, o) for o in (3, 4)]
    rows = [(p[k], long_data.y[o + 1], long_data.y_mask[o + 1]) for k, o in enumerate((3, 4))]
    expected = torch.cat([-q.gather(1, y[:, None])[m, 0].log() for q, y, m in rows]).mean()
    assert nll == pytest.approx(float(expected), abs=1e-5)
    hits = torch.cat([(q.argmax(1) == y)[m].double() for q, y, m in rows]).mean()
    assert model.score(long_data, [3, 4], metric="accuracy") == pytest.approx(float(hits))


def test_score_takes_what_fit_did_not_see(long_data):
    split = time_split(long_data)
    model = SphUnc(**SMALL).fit(long_data, split, verbose=False)
    assert model.score(long_data) == pytest.approx(model.score(long_data, split.test), abs=1e-9)
    dated = replace(long_data, times=tuple(date(2023, 1, 1 + t) for t in range(long_data.num_times)))
    assert model.score(dated, split.test) == model.score(long_data, split.test)
    with pytest.raises(
        DataError, match=r"times such as datetime.date\(2023, 1, 9\) \(date\), but fit saw times up to \d"
    ):
        model.score(dated)
    with pytest.raises(ArgumentError, match="data has no outcome later than 8, the last time that fit saw"):
        fitted(long_data).score(long_data)


def test_saved_and_loaded_is_the_same(linked, short_data, tmp_path):
    linked.save(tmp_path)
    loaded = SphUnc.load(tmp_path)
    assert equal(linked.predict(short_data), loaded.predict(short_data))
    assert loaded.get_params() == linked.get_params()
    assert loaded.influence().to_frame().equals(linked.influence().to_frame())
    assert loaded.history_ == linked.history_
    sets = [one.predict(short_data, coverage=0.7).set for one in (linked, loaded)]
    assert torch.equal(*sets)


@pytest.mark.parametrize("kill_after", [2, 5])
def test_a_killed_fit_resumes_to_the_same_forecast(model, long_data, tmp_path, kill_after):
    seen = []

    def kill(record):
        seen.append(record)
        if len(seen) == kill_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SphUnc(**BY_TIMES).fit(long_data, checkpoint=tmp_path, verbose=False, callbacks=[kill])
    resumed = SphUnc(**BY_TIMES).fit(long_data, resume=tmp_path, verbose=False)
    assert equal(model.predict(long_data), resumed.predict(long_data))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]
    again = SphUnc(**BY_TIMES).fit(long_data, resume=tmp_path, verbose=False)
    assert equal(model.predict(long_data), again.predict(long_data))


def test_a_finished_run_is_not_taken_for_other_data(long_data, tmp_path):
    SphUnc(**SMALL).fit(long_data, checkpoint=tmp_path, verbose=False)
    other = replace(long_data, node_ids=tuple(f"other{i}" for i in range(long_data.num_nodes)))
    with pytest.raises(
        CheckpointError, match=r"holds a model of other data, of another split of it, or of other links"
    ):
        SphUnc(**SMALL).fit(other, resume=tmp_path, verbose=False)


def test_a_finished_run_notices_one_value_and_another_split(long_data, tmp_path):
    SphUnc(**SMALL).fit(long_data, checkpoint=tmp_path, verbose=False)
    x, y = long_data.x.clone(), long_data.y.clone()
    x[1, 2, 3] = 1.5 * long_data.x_mask[1, 2, 3]
    y[1, 2] = (y[1, 2] + 1) % 3 * long_data.y_mask[1, 2]
    for other in (replace(long_data, x=x), replace(long_data, y=y)):
        with pytest.raises(
            CheckpointError, match="holds a model of other data, of another split of it, or of other links"
        ):
            SphUnc(**SMALL).fit(other, resume=tmp_path, verbose=False)
    split = Split((0, 1, 2, 3), (4, 5), (6,), (7,))
    with pytest.raises(CheckpointError, match="holds a model of other data, of another split of it, or of other links"):
        SphUnc(**SMALL).fit(long_data, split, resume=tmp_path, verbose=False)


def test_a_finished_run_that_does_not_tell_its_data_is_not_taken(long_data, tmp_path):
    SphUnc(**SMALL).fit(long_data, checkpoint=tmp_path, verbose=False)
    path = tmp_path / "model.json"
    document = json.loads(path.read_text())
    del document["fingerprint"]
    path.write_text(json.dumps(sealed(document)))
    assert SphUnc.load(tmp_path).fingerprint_ == ""
    with pytest.raises(CheckpointError, match=r"does not say which data it learned from; read it with SphUnc.load"):
        SphUnc(**SMALL).fit(long_data, resume=tmp_path, verbose=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpoint": 3}, "checkpoint=3 must be the path of a folder, got int"),
        ({"resume": 3}, "resume=3 must be the path of a folder, got int"),
        ({"callbacks": [3]}, r"callbacks=\[3\] must be a list of functions"),
        ({"callbacks": print}, r"callbacks=<built-in function print> must be a list of functions"),
    ],
)
def test_folders_and_callbacks_are_checked_before_any_work(long_data, monkeypatch, options, words):
    monkeypatch.setattr(estimator, "fit_rivals", None)
    # unwrapped, as users call it: pytest checks annotations, and would refuse it before our own words
    monkeypatch.setattr(estimator, "_folder", unwrap(estimator._folder))
    with pytest.raises(ArgumentTypeError, match=words):
        unwrap(SphUnc.fit)(SphUnc(**SMALL), long_data, **options)


def test_a_file_is_no_folder(model, long_data, monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ArgumentError, match=r"folder='.*file' cannot be written in \(it is a file\)"):
        model.save(file)
    with pytest.raises(ArgumentTypeError, match="folder=3 must be the path of a folder, got int"):
        unwrap(SphUnc.load.__func__)(SphUnc, 3)
    monkeypatch.setattr(estimator, "fit_rivals", None)
    with pytest.raises(ArgumentError, match=r"checkpoint='.*file' cannot be written in \(it is a file\)"):
        SphUnc(**SMALL).fit(long_data, checkpoint=file, verbose=False)


def test_a_fit_killed_before_its_first_pass_begins_anew(model, long_data, monkeypatch, tmp_path, capsys):
    def die(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "advance", die)
    with pytest.raises(KeyboardInterrupt):
        SphUnc(**BY_TIMES).fit(long_data, checkpoint=tmp_path, verbose=False)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="belongs to a run with another seed"):
        SphUnc(**BY_TIMES, seed=9).fit(long_data, resume=tmp_path, verbose=False)
    with pytest.raises(CheckpointError, match="holds a fit that was stopped before its end"):
        SphUnc.load(tmp_path)
    resumed = SphUnc(**BY_TIMES).fit(long_data, resume=tmp_path, verbose=True)
    told = " ".join(capsys.readouterr().err.split())
    assert "was stopped before its first pass ended: it begins anew" in told
    assert equal(model.predict(long_data), resumed.predict(long_data))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors"]


def test_a_fit_killed_before_anything_was_saved_begins_anew(model, long_data, tmp_path):
    for left in ("training-0123.safetensors", ".training.json.77.part"):
        (tmp_path / left).touch()
    resumed = SphUnc(**BY_TIMES).fit(long_data, resume=tmp_path, verbose=False)
    assert equal(model.predict(long_data), resumed.predict(long_data))


def test_a_fit_begun_over_an_older_model_is_the_one_to_resume(short_data, monkeypatch, tmp_path):
    SphUnc(**SMALL).fit(short_data, checkpoint=tmp_path, verbose=False)
    monkeypatch.setattr(fitting, "advance", None)
    with pytest.raises(TypeError):
        SphUnc(**SMALL, seed=5).fit(short_data, checkpoint=tmp_path, verbose=False)
    monkeypatch.undo()
    resumed = SphUnc(**SMALL, seed=5).fit(short_data, resume=tmp_path, verbose=False)
    assert equal(resumed.predict(short_data), SphUnc.load(tmp_path).predict(short_data))
    assert SphUnc.load(tmp_path).seed == 5


def test_resume_needs_a_run(long_data, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "features.csv").touch()
    for folder in (tmp_path / "none", tmp_path / "mine"):
        with pytest.raises(CheckpointError, match=r"holds no run to resume; begin one with fit\(checkpoint="):
            SphUnc(**SMALL).fit(long_data, resume=folder, verbose=False)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ArgumentError, match="a run goes on in its own folder"):
        SphUnc(**SMALL).fit(long_data, resume=tmp_path, checkpoint=tmp_path / "other", verbose=False)


def test_influence_has_probabilities(linked, short_data):
    frame = linked.influence().to_frame()
    assert set(frame.columns) == {"source", "target", "probability", "strength", "lag"}
    assert set(frame["source"]) <= set(short_data.node_ids)


def test_influence_says_why_it_is_not_there(model):
    with pytest.raises(ArgumentError, match="no influence could be learned: scm is False"):
        model.influence()
    with pytest.raises(ArgumentError, match=r"diagnose=True needs the data again"):
        model.influence(diagnose=True)


def test_influence_names_agents_who_are_seen_once(linked, short_data):
    agent = torch.arange(short_data.num_nodes)
    once = (agent % short_data.num_times).unsqueeze(0) == torch.arange(short_data.num_times).unsqueeze(1)
    x_mask = short_data.x_mask & once.unsqueeze(-1)
    threads = replace(short_data, x=short_data.x * x_mask, x_mask=x_mask, y=short_data.y * once, y_mask=once)
    words = "learned: .* nobody who is seen at two times, nothing that changes, or no link that is not forbidden"
    with pytest.raises(ArgumentError, match=words):
        linked.influence(threads)


def test_history_has_a_record_per_pass(model):
    stages = [record.stage for record in model.history_]
    in_order = ["cross-fit", "train", *(["refit"] if SphUncConfig().refit else [])]
    assert list(dict.fromkeys(stages)) == in_order
    assert stages == sorted(stages, key=in_order.index)
    best = [max(r.epoch for r in model.history_ if r.stage == stage and r.is_best) + 1 for stage in in_order[1:]]
    assert model.epochs_ == sum(best)


def test_settings_are_stored_untouched_and_can_be_copied():
    model = SphUnc(dim=8, dropout=0.25, batch_size=None)
    assert model.get_params() == {
        "dim": 8, "horizon": 1, "seed": 0, "device": "cpu", "dropout": 0.25, "batch_size": None,
    }  # fmt: skip
    twin = SphUnc(**model.get_params()).set_params(seed=3, epochs=5)
    assert (twin.seed, twin.get_params()["epochs"]) == (3, 5)
    assert repr(model) == "SphUnc(dim=8, horizon=1, seed=0, dropout=0.25, batch_size=None)"


def test_every_setting_is_an_attribute():
    model = SphUnc(epochs=20)
    assert (model.epochs, model.dim) == (20, 128)
    defaults = SphUncConfig().model_dump()
    assert {name: getattr(SphUnc(), name) for name in defaults} == defaults
    model.epochs, model.patience = 7, 3
    assert model.get_params().items() >= {"epochs": 7, "patience": 3}.items()
    twin = copy.copy(model).set_params(epochs=9)
    assert (twin.epochs, model.epochs) == (9, 7)
    with pytest.raises(AttributeError, match="'SphUnc' object has no attribute 'epoch'"):
        _ = model.epoch


def test_a_configuration_is_given_by_its_settings():
    config = SphUncConfig.paper()
    with pytest.raises(
        ArgumentTypeError, match=r"dim is a SphUncConfig; settings are given by name: SphUnc\(\*\*config.m"
    ):
        unwrap(SphUnc.__init__)(SphUnc(), config)
    model = SphUnc(**config.model_dump(), seed=0)
    assert model.get_params() == {**config.model_dump(), "seed": 0, "device": "cpu"}


def test_sklearn_can_clone_it():
    from sklearn.base import clone

    model = SphUnc(dim=8, dropout=0.25)
    assert clone(model).get_params() == model.get_params()


def test_a_fitted_model_can_be_copied(model, long_data):
    assert equal(copy.deepcopy(model).predict(long_data), model.predict(long_data))


def test_bad_settings_are_named():
    with pytest.raises(ArgumentError, match=r"'epoch' is not a setting of SphUnc \(did you mean epochs\?\)"):
        SphUnc(epoch=3)


def test_values_are_checked_in_fit(long_data):
    with pytest.raises(ArgumentError, match="dim is 0: input should be greater than or equal to 2"):
        SphUnc(dim=0).fit(long_data)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seed": "a"}, "seed='a' must be a whole number, got str"),
        ({"seed": 1.5}, "seed=1.5 must be a whole number, got float"),
        ({"seed": True}, "seed=True must be a whole number, got bool"),
        ({"seed": None}, "seed=None must be a whole number, got NoneType"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"horizon": True}, "horizon=True must be a number, got bool"),
        ({"device": "nonsense"}, "device='nonsense' is not there; on this machine choose 'cpu'"),
        ({"device": "cuda:99"}, "device='cuda:99' is not there; on this machine choose 'cpu'"),
    ],
)
def test_seed_and_device_are_kept_as_given_and_checked_in_fit(long_data, settings, words):
    model = SphUnc(**SMALL).set_params(**settings)
    assert model.get_params().items() >= settings.items()
    with pytest.raises(SphuncError, match=words):
        model.fit(long_data)


def test_a_device_that_is_not_there_is_refused_later_too(model, long_data, tmp_path):
    moved = copy.copy(model).set_params(device="nonsense")
    with pytest.raises(ArgumentError, match="device='nonsense' is not there"):
        moved.predict(long_data)
    with pytest.raises(ArgumentError, match="device='nonsense' is not there"):
        SphUnc.load(tmp_path, device="nonsense")


@pytest.mark.parametrize("given", [None, [1, 2], "folder"])
@pytest.mark.parametrize("asked", ["fit", "predict", "predict_proba", "score", "influence"])
def test_what_is_no_data_says_how_to_get_some(model, asked, given):
    if asked == "influence" and given is None:
        return  # it asks for what was learned
    # unwrapped, as users call it: pytest checks annotations, and would refuse it before our own words
    with pytest.raises(ArgumentTypeError, match=rf"{asked} needs data=, .*; got .* sphunc.read_tables"):
        unwrap(getattr(SphUnc, asked))(model, given)


def test_numbers_of_numpy_are_as_good_as_those_of_python(short_data, tmp_path):
    settings = {"dim": np.int64(8), "horizon": np.int64(1), "seed": np.int64(0), "epochs": np.int64(3)}
    numpy, python = fitted(short_data, **settings), fitted(short_data)
    assert equal(numpy.predict(short_data, np.int64(2)), python.predict(short_data, 2))
    assert numpy.score(short_data, np.array([1, 2])) == python.score(short_data, [1, 2])
    numpy.save(tmp_path)
    loaded = SphUnc.load(tmp_path)
    assert loaded.get_params() == numpy.get_params()
    assert type(loaded.seed) is int
    with pytest.raises(ArgumentTypeError, match="origin=True must be a whole number, got bool"):
        python.predict(short_data, True)
    with pytest.raises(ArgumentTypeError, match="origins=True must be a whole number, got bool"):
        python.score(short_data, [True])


@pytest.mark.parametrize("asked", ["predict", "predict_proba", "score", "influence", "save"])
def test_what_needs_a_fit_says_so(asked, long_data, tmp_path):
    argument = {"save": [tmp_path], "influence": []}.get(asked, [long_data])
    with pytest.raises(NotFittedError, match=rf"{asked} needs a fitted model; call fit\(data\)"):
        getattr(SphUnc(), asked)(*argument)


def test_other_features_and_classes_are_refused(model, long_data):
    fewer = replace(
        long_data, x=long_data.x[..., 1:], x_mask=long_data.x_mask[..., 1:], feature_names=long_data.feature_names[1:]
    )
    with pytest.raises(DataError, match=f"data misses '{long_data.feature_names[0]}': the model learned from 24"):
        model.predict(fewer)
    with pytest.raises(DataError, match="data has the class 'other', which training never saw"):
        model.predict(replace(long_data, class_names=("class-0", "class-1", "other")))


@pytest.mark.parametrize("origin", [-1, 9])
def test_origins_outside_the_data_are_refused(model, long_data, origin):
    with pytest.raises(ArgumentError, match=f"origin is {origin}, but the data has 9 times; choose 0 ... 8"):
        model.predict(long_data, origin)


def test_too_few_times_are_refused(long_data):
    with pytest.raises(ArgumentError, match="1 time is too few to learn a forecast 1 ahead; give at least 2 times"):
        SphUnc(**SMALL).fit(long_data.window(0, 1))


def test_origins_of_a_score_are_those_of_the_whole_data(model, long_data):
    with pytest.raises(ArgumentError, match="origins has -1, but the data has 9 times"):
        model.score(long_data, origins=[-1])
    with pytest.raises(ArgumentError, match="origins has 7 more than once"):
        model.score(long_data, origins=[7, 7])


def test_where_nothing_varies_nothing_is_explained(long_data):
    data = as_numbers(long_data)
    model = fitted(data)
    alike = replace(data, y=torch.where(data.y_mask.unsqueeze(-1), 2.0, 0.0))
    count = int(data.y_mask[8].sum())
    with pytest.raises(
        ArgumentError, match=f"metric is 'r2'.* all {count} outcomes are 2 there, and nothing varies; give"
    ):
        model.score(alike, [7], metric="r2")
    mask = data.y_mask.clone()
    mask[8, int(mask[8].nonzero()[0]) + 1 :] = False
    alone = replace(data, y=torch.where(mask.unsqueeze(-1), data.y, 0.0), y_mask=mask)
    with pytest.raises(ArgumentError, match="only one outcome is there, and nothing varies"):
        model.score(alone, [7], metric="r2")
    assert math.isfinite(model.score(alone, [7]))


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**-40, 2.0**40])
def test_forecasts_of_numbers_do_not_hang_on_their_unit(long_data, unit):
    plain = as_numbers(long_data, 2)
    plain = replace(plain, y=plain.y + torch.where(plain.y_mask.unsqueeze(-1), plain.x[..., :2], 0.0))
    small = replace(plain, y=unit * plain.y)
    models = [fitted(data) for data in (plain, small)]
    one, other = (model.predict(data, coverage=0.8) for model, data in zip(models, (plain, small), strict=True))
    assert torch.equal(unit * one.mean, other.mean)
    # Where the search for a temperature ends hangs on the size of the log-likelihood, and so on the unit.
    torch.testing.assert_close(unit**2 * one.variance, other.variance, rtol=1e-3, atol=0.0)
    torch.testing.assert_close(unit * one.interval, other.interval, rtol=1e-3, atol=1e-3 * unit)
    torch.testing.assert_close(one.aleatoric, other.aleatoric)
    scores = models[0].score(plain, [7]), models[1].score(small, [7]) + 2 * math.log(unit)
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_a_number_that_never_changed_is_forecast_and_scored(long_data):
    data = replace(as_numbers(long_data), y=torch.where(long_data.y_mask.unsqueeze(-1), 100.1, 0.0))
    model = fitted(data)
    forecast = model.predict(data, coverage=0.8)
    torch.testing.assert_close(forecast.mean, torch.full((30, 1), 100.1))
    assert ((forecast.variance > 0) & (forecast.variance < 1e-6)).all()
    assert math.isfinite(model.score(data, [7]))


def test_ids_that_cannot_be_saved_are_refused_before_training(short_data, tmp_path):
    data, passes = replace(short_data, node_ids=tuple(map(UUID, [f"{i:032}" for i in range(30)]))), []
    with pytest.raises(CheckpointError, match=r"id UUID.* which JSON cannot keep"):
        SphUnc(**SMALL).fit(data, checkpoint=tmp_path, verbose=False, callbacks=[passes.append])
    assert passes == []


def test_settings_of_another_type_are_refused_where_load_would(short_data, tmp_path):
    model = SphUnc(**SMALL).fit(short_data, verbose=False)
    for name, value in (("dim", "8"), ("dim", 8.0), ("dropout", "0.1")):
        other = copy.copy(model).set_params(**{name: value})
        for ask in (lambda m: m.fit(short_data, verbose=False), lambda m: m.save(tmp_path)):
            with pytest.raises(ArgumentError, match=rf"{name} is {value!r}: input should be a valid"):
                ask(other)
