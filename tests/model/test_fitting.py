"""Stages follow the plan, hand on what they must, never see the future, and end in a calibrated model."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from standin import session

from sphunc.errors import DataError
from sphunc.hypergraph import scramble_future, time_split
from sphunc.model.fitting import conclude, fit_stages, stage_names
from sphunc.model.plan import make_plan


def fit(made):
    carry, history = fit_stages(made, lambda record: None)
    return conclude(made, carry, history)


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["cross-fit", "train"]),
        ({"lambda_entropy": 0.0}, ["train"]),
        ({"refit": True}, ["cross-fit", "train", "refit"]),
        ({"holdout": "agents", "lambda_entropy": 0.0, "refit": True}, ["cross-fit", "train"]),
    ],
)
def test_stages_follow_the_plan(long_data, settings, names):
    made = session(long_data, **settings)
    assert stage_names(made.config, made.plan) == names


@pytest.mark.parametrize("settings", [{}, {"holdout": "agents"}, {"refit": True}, {"lambda_entropy": 0.0}])
def test_the_same_seed_gives_the_same_model_and_another_one_does_not(long_data, settings):
    first, second, other = (fit(session(long_data, seed=seed, scm=False, **settings)) for seed in (0, 0, 1))
    assert same(first.network, second.network)
    assert first.temperature == second.temperature
    assert not same(first.network, other.network)


@pytest.mark.parametrize(
    ("times", "settings"),
    [(9, {"scm": False}), (9, {"holdout": "agents", "scm": False}), (9, {"refit": True, "scm": False}), (5, {})],
)
def test_nothing_after_the_calibration_targets_moves_the_model(long_data, times, settings):
    whole = long_data.window(0, times)
    split = time_split(whole)
    last = split.targets("calibration")[-1]
    models = [fit(session(data, split=split, **settings)) for data in (whole, scramble_future(whole, last))]
    assert same(models[0].network, models[1].network)
    assert models[0].temperature == models[1].temperature
    assert torch.equal(models[0].structure.gates, models[1].structure.gates)


def test_validation_outcomes_choose_the_pass_but_never_train(long_data):
    made = session(long_data, scm=False, epochs=3, patience=9, holdout="times")
    first = made.plan.validation[0] + 1
    y = long_data.y.clone()
    y[first:] = (y[first:] + 1) % 3 * long_data.y_mask[first:]
    other = session(replace(long_data, y=y), scm=False, epochs=3, patience=9, holdout="times")
    seen = []
    for one in (made, other):
        weights = []
        fit_stages(one, lambda record: None, keep=lambda stage, *_, w=weights: w.append(_weights(stage)))
        seen.append(weights)
    assert all(torch.equal(a, b) for a, b in zip(*seen, strict=True))


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
    assert fitted.temperature.count == int(short_data.y_mask[1:].sum())


def test_long_panels_are_calibrated_on_their_own_times(long_data):
    made = session(long_data, scm=False)
    fitted = fit(made)
    held = sum(int(long_data.y_mask[o + 1].sum()) for o in made.plan.calibration)
    assert fitted.conformal.source == "times"
    assert fitted.temperature.count == held == len(fitted.conformal.scores)


def test_structure_is_learned_and_renewed_on_schedule(long_data):
    schedule = {"structure_epochs": 5, "structure_every": 2, "epochs": 6, "patience": 6}
    made = session(long_data.window(0, 5), holdout="times", lambda_entropy=0.0, **schedule)
    gates = []
    fit_stages(made, lambda record: None, keep=lambda stage, *_: gates.append(stage.structure.gates))
    changed = [not torch.equal(a, b) for a, b in pairwise(gates)]
    assert changed == [False, True, False, True, False]


def test_without_scm_there_are_no_links(long_data):
    assert fit(session(long_data, scm=False)).structure.graph is None


def test_numbers_are_fitted_too(long_data):
    numbers = replace(long_data, y=long_data.y.float().unsqueeze(-1), class_names=())
    fitted = fit(session(numbers, scm=False))
    assert fitted.temperature.count > 0
    assert fitted.history[-1].ece is None


def test_parts_without_outcomes_are_named(long_data):
    made = session(long_data)
    mask = long_data.y_mask.clone()
    mask[made.plan.validation[0] + 1] = False
    data = replace(long_data, y=long_data.y * mask, y_mask=mask)
    broken = replace(made, data=data, plan=make_plan(data, 1))
    with pytest.raises(DataError, match=r"no outcome is observed at the targets of the validation origins"):
        fit_stages(broken, lambda record: None)
