import math
from inspect import unwrap
from types import SimpleNamespace

import polars as pl
import pytest

from sphunc.baselines import FORECASTERS, forecaster, tune, tuning
from sphunc.baselines.tuning import draw_settings, search_space, validation_nll
from sphunc.errors import ArgumentError, ArgumentTypeError


@pytest.mark.parametrize("name", FORECASTERS)
def test_every_search_space_names_real_settings_and_no_trial_comes_twice(name) -> None:
    drawn = draw_settings(name, 10, seed=0)
    assert drawn[0] == {}
    assert len({tuple(one.items()) for one in drawn}) == len(drawn)
    assert len(drawn) == (10 if search_space(name) else 1)
    for settings in drawn:
        forecaster(name, **settings)


@pytest.mark.parametrize("name", [name for name in FORECASTERS if search_space(name)])
def test_no_trial_spells_the_default_out(name) -> None:
    default = forecaster(name)
    holder = getattr(default, "settings", default)
    size = math.prod(len(choices) for choices in search_space(name).values())
    for seed, trials in ((0, 2 * size), *((seed, 4) for seed in range(1, 30))):
        drawn = draw_settings(name, trials, seed)
        as_default = [all(getattr(holder, key) == value for key, value in one.items()) for one in drawn]
        assert as_default == [True, *[False] * (len(drawn) - 1)]
        assert len(drawn) >= min(trials, size)


def test_the_best_trial_comes_first_and_everything_is_seeded(data, split) -> None:
    trials = tune("logistic", data, split, trials=3, epochs=4)
    assert len(trials) == 3
    assert [t.validation for t in trials] == sorted(t.validation for t in trials)
    assert trials == tune("logistic", data, split, trials=3, epochs=4)


def test_what_is_fixed_is_not_drawn_and_no_trial_comes_twice() -> None:
    drawn = draw_settings("logistic", 10, seed=0, fixed={"learning_rate": 1e-2})
    assert drawn == [{}, *({"weight_decay": w["weight_decay"]} for w in drawn[1:])]
    default = forecaster("logistic").settings.weight_decay
    others = set(search_space("logistic")["weight_decay"]) - {default}
    assert sorted(w["weight_decay"] for w in drawn[1:]) == sorted(others)
    assert draw_settings("logistic", 10, seed=0, fixed=search_space("logistic")) == [{}]


def test_drawn_settings_never_override_the_fixed_ones(data, split, monkeypatch) -> None:
    made = []

    def spy(name, **settings):
        made.append(settings)
        return forecaster(name, **settings)

    monkeypatch.setattr(tuning, "forecaster", spy)
    tune("logistic", data, split, trials=4, seed=3, epochs=2, weight_decay=0.5, learning_rate=1e-2)
    tuning._try("logistic", data, split, {"weight_decay": 0.1}, {"seed": 0, "weight_decay": 0.5, "epochs": 2})
    assert [settings["weight_decay"] for settings in made] == [0.5] * len(made)
    assert [settings["seed"] for settings in made] == [3, 3, 0]


def test_no_trial_refits_and_scores_are_those_of_models_that_do(data, split, monkeypatch) -> None:
    name = "logistic"
    trials = 3
    made = []

    def spy(name, **settings):
        made.append(settings)
        return forecaster(name, **settings)

    monkeypatch.setattr(tuning, "forecaster", spy)
    fixed = {"epochs": 2}
    for trial in tune(name, data, split, trials=trials, refit=True, **fixed):
        fitted = forecaster(name, seed=0, **trial.settings, **fixed).fit(data, split, verbose=False)
        assert trial.validation == validation_nll(fitted)
        assert "refit" not in trial.settings
    assert [settings["refit"] for settings in made] == [True, *[False] * trials]  # the first only checks what is fixed


def test_a_trial_that_fails_counts_and_says_why(data, split) -> None:
    (trial,) = tune("logistic", data, split, trials=1, learning_rate=1e30)
    assert trial.validation == math.inf
    assert "learning_rate is 1e+30" in trial.error


def fitted_sphunc(weight, history=(), rows=()):
    comparison = pl.DataFrame(list(rows), schema={"model": pl.String, "nll": pl.Float64}, orient="row")
    return SimpleNamespace(history_=history, comparison_=comparison, model_=SimpleNamespace(weight=weight))


def test_sphunc_is_scored_by_the_nested_model_that_it_chose() -> None:
    rows = [
        ("persistence", 0.9),
        ("covariates", 0.5),
        ("covariates + states", 0.6),
        ("covariates + states + links", 0.4),
    ]
    assert validation_nll(fitted_sphunc(0.0, rows=rows)) == 0.5
    assert validation_nll(fitted_sphunc(0.25, rows=rows)) == 0.4


def test_the_papers_model_is_scored_by_its_best_epoch() -> None:
    history = [SimpleNamespace(validation=score) for score in (0.7, 0.5, 0.6)]
    assert validation_nll(fitted_sphunc(0.0, history)) == 0.5
    assert validation_nll(fitted_sphunc(0.0)) == math.inf


def test_sphunc_has_nothing_to_tune(data, split) -> None:
    (trial,) = tune("sphunc", data, split, trials=4, quick=True)
    assert trial.settings == {}
    assert 0.0 < trial.validation < math.log(data.num_classes)


def test_a_fixed_setting_at_fault_is_no_failed_trial(data, split) -> None:
    with pytest.raises(ArgumentError, match="width is 0; give a whole number, 1 or more"):
        tune("hypergcn", data, split, trials=2, width=0)


def test_a_budget_of_nothing_is_refused(data) -> None:
    with pytest.raises(ArgumentError, match="trials=0 must be at least 1"):
        tune("majority", data, trials=0)
    for trials in (1.5, "2", True):
        with pytest.raises(ArgumentTypeError, match=r"trials=.* must be a whole number"):
            unwrap(tune)("majority", data, trials=trials)
    with pytest.raises(ArgumentTypeError, match="seed='a' must be a whole number"):
        unwrap(tune)("majority", data, seed="a")
