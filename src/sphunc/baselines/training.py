"""Training of a network on a hold-out scheme: by times, or by agents in folds.

Held-out outcomes choose the number of epochs and the temperature. Where times were held out, the
trained network then goes on with every outcome that may be read, for a third of these epochs; where
agents were, there is a network per fold, and a fresh one learns from all agents for as many epochs.
The gradient loop is that of :mod:`sphunc.forecasting.training`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor, nn

from sphunc._typing import Float, Int
from sphunc.baselines.holdout import HoldoutScheme, Targets, deal_folds, targets_of
from sphunc.baselines.panel import Panel, Statistics, make_panel, statistics_of
from sphunc.baselines.settings import NetworkSettings
from sphunc.baselines.temperature import FEWEST_TO_CALIBRATE, HeldOut, Temperature
from sphunc.baselines.temporal import Encoding, ForecastNetwork, LogProbabilities
from sphunc.errors import ArgumentError
from sphunc.forecasting import TOTAL, Categorical, TrainingEpoch, train
from sphunc.hypergraph import TemporalHypergraph

WEIGHTS_STREAM = 0
STEPS_STREAM = 1
FOLDS_STREAM = 2
REFIT_SHARE = 1 / 3
"""Epochs of a refit on all outcomes, as a share of those that training took."""
MakeNetwork = Callable[[Generator], ForecastNetwork]


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """What training gives.

    Attributes:
        network: in evaluation mode.
        statistics: that its features are standardised with.
        temperature: of its forecasts.
        epochs: up to the lowest held-out NLL.
        validation: that NLL, before any refit.
        held_out: what the temperature was fitted to; None once it is saved.
    """

    network: ForecastNetwork
    statistics: Statistics
    temperature: Temperature
    epochs: int
    validation: float
    held_out: HeldOut | None = None


def train_network(
    data: TemporalHypergraph,
    scheme: HoldoutScheme,
    make: MakeNetwork,
    settings: NetworkSettings,
    seed: int,
) -> TrainedNetwork:
    """Train a network on the times that the hold-out scheme allows.

    Args:
        data: T times.
        scheme: what is held out.
        make: gives a fresh network.
        settings: of the optimisation.
        seed: of weights, dropout and folds.
    """
    if scheme.by_agents:
        return _train_by_agents(data, scheme, make, settings, seed)
    return _train_by_times(data, scheme, make, settings, seed)


def _train_by_times(
    data: TemporalHypergraph,
    scheme: HoldoutScheme,
    make: MakeNetwork,
    settings: NetworkSettings,
    seed: int,
) -> TrainedNetwork:
    # Train on the first origins, stop on the validation origins.
    statistics = statistics_of(data, scheme.train_stop)
    panel, targets = _part(data, scheme, scheme.train, statistics)
    validation_panel, validation_targets = _part(data, scheme, scheme.validation, statistics)
    network = _fresh_network(make, panel, seed)

    def validate() -> float:
        log_probabilities, _ = _forward(network, validation_panel, settings)
        return float(mean_nll(log_probabilities, validation_targets))

    noise = _generator(seed, STEPS_STREAM, 0, data.device)
    history = _fit([network], panel, [targets], [noise], settings, settings.epochs, validate)
    epochs, validation = _best_epoch(history)

    # Forecast the calibration origins, then go on with all outcomes at the confidence that these ask for.
    readable = data.window(0, scheme.stop)
    all_panel = make_panel(readable, statistics, data.num_classes)
    calibration = targets_of(readable, scheme.horizon, scheme.calibration)
    held_out = HeldOut(_forecasts(network, all_panel, settings), calibration)
    if settings.refit:
        all_targets = targets_of(readable, scheme.horizon, scheme.all_origins)
        noise = _generator(seed, STEPS_STREAM, 1, data.device)
        _fit([network], all_panel, [all_targets], [noise], settings, math.ceil(epochs * REFIT_SHARE))
        held_out = replace(held_out, final=_forecasts(network, all_panel, settings))
    temperature = held_out.temperature(settings.scaling)
    return TrainedNetwork(network, statistics, temperature, epochs, validation, held_out)


def _train_by_agents(
    data: TemporalHypergraph,
    scheme: HoldoutScheme,
    make: MakeNetwork,
    settings: NetworkSettings,
    seed: int,
) -> TrainedNetwork:
    readable = data.window(0, scheme.stop)
    statistics = statistics_of(readable, scheme.stop)
    panel = make_panel(readable, statistics, data.num_classes)
    targets = targets_of(readable, scheme.horizon, scheme.train)

    # One network per fold of agents; together they forecast every agent held out.
    count = min(settings.folds, data.num_nodes)
    fold = deal_folds(data.num_nodes, count, _generator(seed, FOLDS_STREAM, 0, data.device))
    networks = [_fresh_network(make, panel, seed) for _ in range(count)]
    learned = [targets.only(fold != k) for k in range(count)]
    noise = [_generator(seed, STEPS_STREAM, k + 1, data.device) for k in range(count)]

    def held_out() -> LogProbabilities:
        parts = [_forward(network, panel, settings)[0] for network in networks]
        return forecasts_of_held_out_agents(parts, fold)

    def validate() -> float:
        return float(mean_nll(held_out(), targets))

    history = _fit(networks, panel, learned, noise, settings, settings.epochs, validate)
    epochs, validation = _best_epoch(history)
    with torch.no_grad():
        forecasts = HeldOut(Categorical(held_out()), targets.latest(FEWEST_TO_CALIBRATE))
    temperature = forecasts.temperature(settings.scaling)

    # A fresh network learns from all agents.
    final = _fresh_network(make, panel, seed)
    final_noise = _generator(seed, STEPS_STREAM, 0, data.device)
    _fit([final], panel, [targets], [final_noise], settings, epochs)
    return TrainedNetwork(final, statistics, temperature, epochs, validation, forecasts)


def _fit(
    networks: Sequence[ForecastNetwork],
    panel: Panel,
    targets: Sequence[Targets],
    generators: Sequence[Generator],
    settings: NetworkSettings,
    epochs: int,
    validate: Callable[[], float | None] = lambda: None,
) -> list[TrainingEpoch]:
    """Train networks next to each other, each on its own outcomes: one step of each per epoch."""

    def losses(index: int) -> Mapping[str, Tensor]:
        network = networks[index]
        log_probabilities, encoding = _forward(network, panel, settings, generators[index])
        nll = mean_nll(log_probabilities, targets[index])
        extra = network.spatial.extra_losses(encoding, panel, targets[index], generators[index])
        return {TOTAL: sum(extra, start=nll)}

    module = nn.ModuleList(networks)
    return train(
        module,
        [list(module.parameters())],
        lambda: range(len(networks)),
        losses,
        validate,
        epochs=epochs,
        patience=settings.patience,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
    )


def _best_epoch(history: Sequence[TrainingEpoch]) -> tuple[int, float]:
    """Epochs up to the lowest held-out NLL, and that NLL."""
    scores = [record.validation for record in history if record.validation is not None]
    lowest = min(scores)
    return scores.index(lowest) + 1, lowest


def _forward(
    network: ForecastNetwork,
    panel: Panel,
    settings: NetworkSettings,
    generator: Generator | None = None,
) -> tuple[LogProbabilities, Encoding]:
    try:
        return network(panel, generator)
    except ArgumentError as error:  # what a layer refuses here comes from the weights alone
        raise ArgumentError(
            f"learning_rate is {settings.learning_rate:g}, and training diverged ({error}); "
            "choose a smaller learning_rate, or look for features with extreme values"
        ) from None


@torch.no_grad()
def _forecasts(network: ForecastNetwork, panel: Panel, settings: NetworkSettings) -> Categorical:
    return Categorical(_forward(network, panel, settings)[0])


def mean_nll(log_probabilities: LogProbabilities, targets: Targets) -> Float[Tensor, ""]:
    """Mean negative log-likelihood of the outcomes that count, in nats.

    Args:
        log_probabilities: of the classes, for every origin and agent.
        targets: outcomes of the same origins and agents.
    """
    outcome = targets.outcome[targets.mask].unsqueeze(-1)
    return -log_probabilities[targets.mask].gather(-1, outcome).mean()


def forecasts_of_held_out_agents(parts: Sequence[LogProbabilities], fold: Int[Tensor, " agent"]) -> LogProbabilities:
    """Take each agent's forecast from the network that did not learn from it.

    Args:
        parts: K forecasts, one per network.
        fold: network to read for each agent.
    """
    agents = torch.arange(len(fold), device=fold.device)
    return torch.stack(list(parts))[fold, :, agents].transpose(0, 1)


def _part(
    data: TemporalHypergraph, scheme: HoldoutScheme, origins: tuple[int, ...], statistics: Statistics
) -> tuple[Panel, Targets]:
    """Inputs up to the last of these origins, and the outcomes that are forecast from them."""
    end = origins[-1] + 1
    panel = make_panel(data.window(0, end), statistics, data.num_classes)
    return panel, targets_of(data, scheme.horizon, origins).until(end)


def _fresh_network(make: MakeNetwork, panel: Panel, seed: int) -> ForecastNetwork:
    network = make(_generator(seed, WEIGHTS_STREAM, 0, "cpu")).to(panel.inputs.device)
    with torch.no_grad():
        network.spatial.prepare(panel)
    return network


def _generator(seed: int, stream: int, index: int, device: torch.device | str) -> Generator:
    return Generator(device=device).manual_seed((seed * 1_000_003 + stream * 1009 + index) % 2**63)
