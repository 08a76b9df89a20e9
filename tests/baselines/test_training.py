import math
from dataclasses import replace
from functools import partial

import pytest
import torch

from sphunc.baselines import forecaster
from sphunc.baselines.holdout import Targets, holdout_scheme, targets_of
from sphunc.baselines.panel import make_panel, statistics_of
from sphunc.baselines.regressions.logistic import LogisticNetwork
from sphunc.baselines.settings import NetworkSettings
from sphunc.baselines.temperature import FEWEST_TO_CALIBRATE
from sphunc.baselines.training import forecasts_of_held_out_agents, mean_nll, train_network
from sphunc.errors import ArgumentError
from sphunc.forecasting.distribution import Categorical
from sphunc.hypergraph import scramble_future

SETTINGS = NetworkSettings(learning_rate=0.05, epochs=15, patience=5)


def fit(data, scheme, **changes):
    settings = SETTINGS.model_copy(update=changes)
    make = partial(LogisticNetwork, data.num_features, data.num_classes, settings)
    return train_network(data, scheme, make, settings, seed=0)


def test_nll_by_hand() -> None:
    log_p = torch.tensor([[[0.5, 0.5], [0.25, 0.75]]]).log()
    targets = Targets(torch.tensor([[0, 1]]), torch.tensor([[True, True]]))
    assert float(mean_nll(log_p, targets)) == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)


def test_each_agent_is_forecast_by_the_network_that_did_not_learn_from_it() -> None:
    parts = [torch.full((2, 3, 1), float(k)) for k in range(2)]
    assert forecasts_of_held_out_agents(parts, torch.tensor([0, 1, 0]))[..., 0].tolist() == [[0.0, 1.0, 0.0]] * 2


def test_times_are_held_out_and_stopping_restores_the_best_epoch(data, split) -> None:
    scheme = holdout_scheme(data, 1, split)
    assert not scheme.by_agents
    trained = fit(data, scheme)
    assert 1 <= trained.epochs <= 15
    assert trained.temperature.count == int(data.y_mask[list(split.targets("calibration"))].sum())
    shorter = fit(data, scheme, epochs=trained.epochs)
    assert alike(trained, shorter)


def alike(one, other) -> bool:
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def changed_at(data, times):
    """Other outcomes at these times, and no others."""
    y = data.y.clone()
    y[list(times)] = (y[list(times)] + 1) % data.num_classes
    return replace(data, y=torch.where(data.y_mask, y, 0))


@pytest.mark.parametrize("part", ["validation", "calibration"])
def test_the_network_learns_from_held_out_outcomes_once_they_have_chosen(data, split, part) -> None:
    scheme = holdout_scheme(data, 1, split)
    last = changed_at(data, split.targets(part)[-1:])
    assert not alike(fit(data, scheme, epochs=1), fit(last, scheme, epochs=1))
    assert alike(fit(data, scheme, epochs=1, refit=False), fit(last, scheme, epochs=1, refit=False))


def test_a_refit_leaves_the_held_out_score_and_keeps_confidence(data, split) -> None:
    scheme = holdout_scheme(data, 1, split)
    held, final = fit(data, scheme, refit=False), fit(data, scheme)
    assert (final.validation, final.epochs) == (held.validation, held.epochs)
    assert torch.equal(final.statistics[0], statistics_of(data, scheme.train_stop)[0])
    readable = data.window(0, scheme.stop)
    rows = targets_of(readable, 1, scheme.calibration).mask
    before, after = (
        one.temperature.apply(Categorical(log_probabilities(one, readable)[rows])).confidence for one in (held, final)
    )
    assert float(after.mean()) == pytest.approx(float(before.mean()), abs=1e-3)


def test_a_refit_goes_on_from_the_trained_network_for_a_third_of_the_epochs(data, split) -> None:
    scheme = holdout_scheme(data, 1, split)
    rate = 1e-4
    epochs = 9
    held, final = (fit(data, scheme, refit=refit, epochs=epochs, learning_rate=rate) for refit in (False, True))
    assert held.epochs == epochs
    pairs = zip(held.network.parameters(), final.network.parameters(), strict=True)
    moved = max(float((a - b).detach().abs().max()) for a, b in pairs)
    assert 2 * rate < moved < 3.1 * rate  # a step of AdamW from its start is at most as long as its rate


@torch.no_grad()
def log_probabilities(trained, data):
    return trained.network(make_panel(data, trained.statistics, data.num_classes))[0]


def test_agents_are_held_out_where_times_are_few(data) -> None:
    short = data.window(0, 4)
    scheme = holdout_scheme(short, 1)
    assert scheme.by_agents
    trained = fit(short, scheme)
    assert trained.temperature.count == targets_of(short, 1).latest(FEWEST_TO_CALIBRATE).count
    assert trained.validation < math.log(data.num_classes)


def test_nothing_after_the_training_window_is_read(data, split) -> None:
    scheme = holdout_scheme(data, 1, split)
    first, second = fit(data, scheme), fit(scramble_future(data, scheme.stop - 1), scheme)
    assert first.validation == second.validation
    assert first.temperature == second.temperature
    assert torch.equal(first.statistics[0], second.statistics[0])
    assert alike(first, second)


def test_a_loss_that_explodes_names_the_learning_rate(data, split) -> None:
    with pytest.raises(ArgumentError, match="learning_rate is 1e\\+30, and training diverged in epoch"):
        fit(data, holdout_scheme(data, 1, split), learning_rate=1e30)


def test_a_network_that_breaks_down_names_the_learning_rate(data, split) -> None:
    with pytest.raises(ArgumentError, match=r"learning_rate is 10000, and training diverged"):
        forecaster("causal_sphhn", learning_rate=1e4).fit(data, split)
