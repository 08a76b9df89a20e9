import math
from inspect import unwrap
from types import SimpleNamespace

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
    tuning._try("logistic", data, split, {"weight_decay": 0.1}, 0, {"weight_decay": 0.5, "epochs": 2})
    assert [settings["weight_decay"] for settings in made] == [0.5] * len(made)
    assert [settings["seed"] for settings in made] == [3, 3, 0]


@pytest.mark.parametrize(
    "name, trials, fixed", [("logistic", 3, {}), ("sphunc", 1, {"dim": 4, "layers": 1, "lambda_entropy": 0.0})]
)
def test_no_trial_refits_and_scores_are_those_of_models_that_do(name, trials, fixed, data, split, monkeypatch) -> None:
    made = []

    def spy(name, **settings):
        made.append(settings)
        return forecaster(name, **settings)

    monkeypatch.setattr(tuning, "forecaster", spy)
    fixed = {"epochs": 2, **fixed}
    for trial in tune(name, data, split, trials=trials, refit=True, **fixed):
        fitted = forecaster(name, seed=0, **trial.settings, **fixed).fit(data, split, verbose=False)
        assert trial.validation == validation_nll(fitted)
        assert "refit" not in trial.settings
    assert [settings["refit"] for settings in made] == [True, *[False] * trials]  # the first only checks what is fixed


def test_a_trial_that_fails_counts_and_says_why(data, split) -> None:
    (trial,) = tune("logistic", data, split, trials=1, learning_rate=1e30)
    assert trial.validation == math.inf
    assert "learning_rate is 1e+30" in trial.error


@pytest.mark.parametrize(
    "stages, wanted",
    [
        ([("cross-fit", 0.1), ("train", 0.7), ("train", 0.5), ("train", 0.6), ("refit", None)], 0.5),
        ([("cross-fit", 0.4), ("cross-fit", 0.3), ("train", None)], 0.3),
    ],
)
def test_sphunc_is_judged_on_the_outcomes_that_it_stops_on(stages, wanted) -> None:
    model = SimpleNamespace(history_=[SimpleNamespace(stage=stage, validation=score) for stage, score in stages])
    assert validation_nll(model) == wanted


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
