"""Stages follow the plan, hand on what they must, never see the future, and end in a calibrated model."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from standin import session

from sphunc.errors import DataError
from sphunc.hypergraph import scramble_future, time_split
from sphunc.legacy import fitting
from sphunc.legacy.calibration import FEWEST_TO_CALIBRATE
from sphunc.legacy.estimator import SphUnc
from sphunc.legacy.fitting import (
    CROSS_FIT,
    REFIT,
    REFIT_SHARE,
    TRAIN,
    Carry,
    conclude,
    fit_stages,
    make_stage,
    stage_names,
)
from sphunc.legacy.inputs import check_settings
from sphunc.legacy.plan import make_plan
from sphunc.legacy.structure import learn_structure, no_structure
from sphunc.legacy.targets import targets_of
from sphunc.legacy.training import judge
from sphunc.worlds import simulate


def by_times(data, **settings):
    return session(data, **{"holdout": "times", **settings})


def fit(made):
    carry, history = fit_stages(made, lambda record: None)
    return conclude(made, carry, history)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"refit": False}, ["cross-fit", "train"]),
        ({"lambda_entropy": 0.0, "refit": False}, ["train"]),
        ({"lambda_entropy": 0.0, "refit": True}, ["train", "refit"]),
        ({"refit": True}, ["cross-fit", "train", "refit"]),
        ({"holdout": "agents", "lambda_entropy": 0.0, "refit": True}, ["cross-fit", "train"]),
    ],
)
def test_stages_follow_the_plan(long_data, settings, names):
    made = by_times(long_data, **settings)
    assert stage_names(made.config, made.plan) == names


@pytest.mark.parametrize(
    "settings", [{"refit": False}, {"holdout": "agents"}, {"refit": True}, {"lambda_entropy": 0.0}]
)
def test_the_same_seed_gives_the_same_model_and_another_one_does_not(long_data, settings):
    first, second, other = (fit(by_times(long_data, seed=seed, scm=False, **settings)) for seed in (0, 0, 1))
    assert same(first.network, second.network)
    assert first.temperature == second.temperature
    assert not same(first.network, other.network)


@pytest.mark.parametrize(
    ("times", "settings"),
    [
        (9, {"refit": False, "scm": False}),
        (9, {"holdout": "agents", "scm": False}),
        (9, {"refit": True, "scm": False}),
        (5, {"holdout": "agents"}),
    ],
)
def test_nothing_after_the_calibration_targets_moves_the_model(long_data, times, settings):
    whole = long_data.window(0, times)
    split = time_split(whole)
    last = split.targets("calibration")[-1]
    models = [fit(by_times(data, split=split, **settings)) for data in (whole, scramble_future(whole, last))]
    assert same(models[0].network, models[1].network)
    assert models[0].temperature == models[1].temperature
    assert torch.equal(models[0].structure.gates, models[1].structure.gates)


@pytest.mark.parametrize("refit", [False, True])
def test_validation_outcomes_choose_the_pass_but_never_train_before_a_refit(long_data, refit):
    settings = {"scm": False, "epochs": 3, "patience": 9, "refit": refit}
    made = by_times(long_data, **settings)
    start = made.plan.validation[0] + 1
    y = long_data.y.clone()
    y[start:] = (y[start:] + 1) % 3 * long_data.y_mask[start:]
    other = by_times(replace(long_data, y=y), **settings)
    first, second = (passes(one, _weights) for one in (made, other))
    for name in (CROSS_FIT, TRAIN):
        assert all(torch.equal(a, b) for a, b in zip(first[name], second[name], strict=True))
    assert (REFIT in first) == refit
    if refit:
        assert not torch.equal(first[REFIT][0], second[REFIT][0])


def passes(made, look):
    """What ``look`` sees of the stage after every pass, by stage."""
    seen = {}
    fit_stages(made, lambda record: None, keep=lambda stage, *_: seen.setdefault(stage.name, []).append(look(stage)))
    return seen


def _weights(stage):
    return torch.cat([p.detach().flatten() for member in stage.members for p in member.network.parameters()])


def test_short_panels_train_for_as_long_as_held_out_agents_say(short_data):
    made = session(short_data, scm=False)
    carry, history = fit_stages(made, lambda record: None)
    folds = [record for record in history if record.stage == "cross-fit"]
    final = [record for record in history if record.stage == "train"]
    best = min(folds, key=lambda record: record.validation)
    assert len(final) == best.epoch + 1 == carry.epochs
    assert all(record.validation is None for record in final)
    fitted = conclude(made, carry, history)
    assert fitted.conformal.source == "agents"
    every = targets_of(short_data, 1)
    assert fitted.temperature.count == every.latest(FEWEST_TO_CALIBRATE).count == every.count
    assert len(fitted.conformal.scores) == every.count


def test_later_origins_calibrate_where_they_have_enough(short_data, monkeypatch):
    monkeypatch.setattr(fitting, "FEWEST_TO_CALIBRATE", 20)
    made = session(short_data, scm=False)
    fitted = conclude(made, *fit_stages(made, lambda record: None))
    assert fitted.temperature.count == int(short_data.y_mask[-1].sum()) == 30


def test_long_panels_are_calibrated_on_their_own_times(long_data):
    made = by_times(long_data, scm=False)
    fitted = fit(made)
    held = sum(int(long_data.y_mask[o + 1].sum()) for o in made.plan.calibration)
    assert fitted.conformal.source == "times"
    assert fitted.temperature.count == held == len(fitted.conformal.scores)


def test_structure_is_learned_and_renewed_on_schedule(long_data):
    schedule = {"structure_epochs": 5, "structure_every": 2, "epochs": 6, "patience": 6, "refit": True}
    made = by_times(long_data.window(0, 5), lambda_entropy=0.0, **schedule)
    gates = passes(made, lambda stage: stage.structure.gates)
    changed = [not torch.equal(a, b) for a, b in pairwise(gates[TRAIN])]
    assert changed == [False, True, False, True, False]
    assert all(torch.equal(gates[REFIT][0], later) for later in gates[REFIT])


@pytest.mark.parametrize("chosen", [1, 3, 7])
def test_a_refit_goes_on_from_the_trained_network(long_data, chosen):
    made = by_times(long_data.window(0, 5), refit=True)
    trained = make_stage(made, TRAIN, Carry()).members[0].network
    with torch.no_grad():
        trained.encoder.add_(torch.randn(trained.encoder.shape, generator=torch.Generator().manual_seed(0)))
    weights = {name: value.clone() for name, value in trained.state_dict().items()}
    stage = make_stage(made, REFIT, Carry(epochs=chosen, network=weights, structure=no_structure("cpu")))
    assert same(stage.members[0].network, trained)
    assert stage.epochs == max(1, math.ceil(chosen * REFIT_SHARE))
    assert stage.observed.num_times == 5
    assert torch.equal(stage.observed.standard, stage.observed.x / trained.scale)  # as the trained network sees it
    assert torch.equal(stage.members[0].targets.mask, targets_of(made.data, 1).mask)
    assert stage.judged is None
    # What the encoder has learned, and times that training did not see, have a say in the links.
    window = made.data.window(0, 5)
    anew = learn_structure(trained.projected(stage.observed), window, max_lag=made.config.max_lag, seed=made.seed)
    assert torch.equal(stage.structure.gates, anew.gates)


def test_without_scm_there_are_no_links(long_data):
    assert fit(by_times(long_data, scm=False)).structure.graph is None


def test_numbers_are_fitted_too(long_data):
    numbers = replace(long_data, y=long_data.y.float().unsqueeze(-1), class_names=())
    fitted = fit(by_times(numbers, scm=False))
    assert fitted.temperature.count > 0
    assert fitted.history[-1].ece is None


def test_parts_without_outcomes_are_named(long_data):
    made = by_times(long_data)
    mask = long_data.y_mask.clone()
    mask[made.plan.validation[0] + 1] = False
    data = replace(long_data, y=long_data.y * mask, y_mask=mask)
    broken = replace(made, data=data, plan=make_plan(data, 1, holdout="times"))
    with pytest.raises(DataError, match=r"no outcome is observed at the targets of the validation origins"):
        fit_stages(broken, lambda record: None)


def test_outcomes_at_the_first_time_only_are_no_reason_to_hold_out_what_is_held_out_already(long_data):
    mask = long_data.y_mask.clone()
    mask[1:] = False
    data = replace(long_data, y=long_data.y * mask, y_mask=mask)
    with pytest.raises(DataError, match=r"targets of the train origins \(0 ... 7, horizon 1\); give outcomes there$"):
        fit_stages(session(data, holdout="agents"), lambda record: None)


@pytest.mark.parametrize("numeric", [False, True])
def test_outcomes_of_held_out_agents_never_reach_the_network_that_judges_them(numeric):
    data = simulate("snare", seed=0, agents=40, times=2).data
    if numeric:
        data = replace(
            data, y=data.x[..., :1].clone() * data.y_mask.unsqueeze(-1), class_names=(), outcome_names=("u",)
        )
    first, held = before_training(data)
    other = data.y.clone()
    other[1, held] = (1 - other[1, held]) if numeric else (other[1, held] + 1) % 3
    second, _ = before_training(replace(data, y=other))
    for name in ("log_probabilities", "mean", "variance"):
        one, two = (getattr(outlook, name) for outlook in (first, second))
        assert one is None or torch.equal(one[0, held], two[0, held])
    third = second.log_probabilities if second.mean is None else second.mean
    assert not torch.equal((first.log_probabilities if first.mean is None else first.mean)[0, ~held], third[0, ~held])


def before_training(data):
    """Forecasts of held-out agents before the first pass, and who is in the first fold."""
    model = SphUnc(dim=8, seed=0, epochs=1, holdout="agents")
    stage = make_stage(model._session(data, None, check_settings(model._settings())), CROSS_FIT, Carry())
    return judge(stage), stage.fold == 0
