"""The one trainer: AdamW, early stopping on held-out NLL, temperature on what is kept for calibration.

Later times are held out (:mod:`sphunc.baselines.holdout`), or, where times are too few, agents in folds. Held-out
outcomes choose the number of epochs and the temperature. Where times were held out, the trained network then goes on
with every outcome that may be read, for a third of these epochs; where agents were, there is a network per fold, and a
fresh one learns from all agents for as many epochs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from sphunc._typing import Float, Int
from sphunc.baselines.holdout import HoldoutScheme
from sphunc.baselines.network import ForecastNetwork, Run
from sphunc.baselines.panel import Panel, Scale, learn_scale, make_panel
from sphunc.baselines.settings import Count, Rate, Several, Weight
from sphunc.baselines.targets import Targets, deal_folds, targets_of
from sphunc.baselines.temperature import FEWEST_TO_CALIBRATE, Temperature, fit_temperature, match_confidence
from sphunc.errors import ArgumentError, DataError
from sphunc.forecasting.distribution import Categorical
from sphunc.hypergraph import TemporalHypergraph

WEIGHTS, STEPS, FOLDS = 0, 1, 2
GRADIENT_CLIP = 1.0
REFIT_SHARE = 1 / 3
"""Epochs of a refit on all outcomes, as a share of those that training took."""
MakeNetwork = Callable[[torch.Generator], ForecastNetwork]


@dataclass(frozen=True)
class Training:
    """Settings that all peers share.

    Attributes:
        learning_rate: step size of AdamW.
        weight_decay: of AdamW.
        epochs: most epochs.
        patience: epochs without improvement before training ends.
        folds: parts of the agents where agents are held out.
        refit: whether the trained network goes on with validation and calibration outcomes too, once these have
            chosen the number of epochs and the temperature.
    """

    learning_rate: Rate = 1e-3
    weight_decay: Weight = 1e-3
    epochs: Count = 200
    patience: Count = 30
    folds: Several = 3
    refit: bool = True


@dataclass(frozen=True, eq=False)
class Trained:
    """The result: network in evaluation, temperature, epochs, NLL of held-out outcomes before any refit."""

    network: ForecastNetwork
    temperature: Temperature
    scale: Scale
    epochs: int
    validation: float


@dataclass(eq=False)
class Learner:
    """One network on its way, with the outcomes that it learns from."""

    network: ForecastNetwork
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    panel: Panel
    targets: Targets

    def step(self, epoch: int) -> None:
        """Take one step on all outcomes."""
        self.network.train()
        run = self._run(self.panel, self.generator)
        nll = mean_nll(run.log_probabilities, self.targets)
        loss = self.network.spatial.objective(nll, run.encoding, self.panel, self.targets, epoch, self.generator)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise self._exploded(f"the loss became {value} in epoch {epoch}")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), GRADIENT_CLIP)
        self.optimizer.step()

    def run(self, epochs: int) -> None:
        """Take so many steps."""
        for epoch in range(epochs):
            self.step(epoch)

    @torch.no_grad()
    def forecast(self, panel: Panel) -> Float[Tensor, "time agent class"]:
        """Log-probabilities, without dropout."""
        self.network.eval()
        return self._run(panel, None).log_probabilities

    def _run(self, panel: Panel, generator: torch.Generator | None) -> Run:
        try:
            return self.network(panel, generator)
        except ArgumentError as error:  # no argument of the user's reaches the network but through its weights
            raise self._exploded(f"the network broke down ({error})") from None

    def _exploded(self, what: str) -> ArgumentError:
        return ArgumentError(f"learning_rate is {self.optimizer.param_groups[0]['lr']:g}, and {what}; lower it")


@dataclass(frozen=True, eq=False)
class Best:
    """The epoch that forecast held-out outcomes best."""

    score: float
    epoch: int
    weights: list[dict[str, Tensor]]
    held_out: Tensor


def train(data: TemporalHypergraph, scheme: HoldoutScheme, make: MakeNetwork, settings: Training, seed: int) -> Trained:
    """Train a baseline on the times that the hold-out scheme allows.

    Args:
        data: T times.
        scheme: what is held out.
        make: gives a fresh network.
        settings: of the optimisation.
        seed: of weights, dropout and folds.
    """
    check_outcomes(data, scheme)
    if scheme.by_agents:
        return _train_by_agents(data, scheme, make, settings, seed)
    return _train_by_times(data, scheme, make, settings, seed)


def _train_by_times(
    data: TemporalHypergraph, scheme: HoldoutScheme, make: MakeNetwork, settings: Training, seed: int
) -> Trained:
    # Train on the first origins, stop on the validation origins.
    scale = learn_scale(data, scheme.train_stop)
    train_end = scheme.train[-1] + 1
    validation_end = scheme.validation[-1] + 1
    panel = make_panel(data.window(0, train_end), scale, data.num_classes)
    targets = targets_of(data, scheme.horizon, scheme.train).until(train_end)
    validation_panel = make_panel(data.window(0, validation_end), scale, data.num_classes)
    validation_targets = targets_of(data, scheme.horizon, scheme.validation).until(validation_end)
    learner = _learner(make, panel, targets, settings, seed, 0)
    best = _train([learner], validation_panel, validation_targets, None, settings)
    learner.network.load_state_dict(best.weights[0])

    # Set the temperature on the calibration origins.
    readable = data.window(0, scheme.stop)
    all_panel = make_panel(readable, scale, data.num_classes)
    held_out = learner.forecast(all_panel)
    calibration_targets = targets_of(readable, scheme.horizon, scheme.calibration)
    temperature = fit_temperature(Categorical(held_out), calibration_targets)
    trained = Trained(learner.network.eval(), temperature, scale, best.epoch + 1, best.score)
    if not settings.refit:
        return trained

    # Go on with all outcomes, at the confidence that was calibrated.
    all_targets = targets_of(readable, scheme.horizon, scheme.all_origins)
    final = _set_up(learner.network, all_panel, all_targets, settings, _generator(seed, STEPS, 1, data.device))
    final.run(math.ceil(trained.epochs * REFIT_SHARE))
    mask = calibration_targets.mask
    matched = match_confidence(temperature, Categorical(held_out[mask]), Categorical(final.forecast(all_panel)[mask]))
    return replace(trained, network=final.network.eval(), temperature=matched)


def _train_by_agents(
    data: TemporalHypergraph, scheme: HoldoutScheme, make: MakeNetwork, settings: Training, seed: int
) -> Trained:
    readable = data.window(0, scheme.stop)
    scale = learn_scale(readable, scheme.stop)
    panel = make_panel(readable, scale, data.num_classes)
    targets = targets_of(readable, scheme.horizon, scheme.train)
    count = min(settings.folds, data.num_nodes)
    fold = deal_folds(data.num_nodes, count, _generator(seed, FOLDS, 0, data.device))
    learners = [_learner(make, panel, targets.only(fold != k), settings, seed, k + 1) for k in range(count)]
    best = _train(learners, panel, targets, fold, settings)
    final = _learner(make, panel, targets, settings, seed, 0)
    final.run(best.epoch + 1)
    temperature = fit_temperature(Categorical(best.held_out), targets.latest(FEWEST_TO_CALIBRATE))
    return Trained(final.network.eval(), temperature, scale, best.epoch + 1, best.score)


def _train(
    learners: list[Learner],
    validation_panel: Panel,
    validation_targets: Targets,
    fold: Tensor | None,
    settings: Training,
) -> Best:
    best: Best | None = None
    for epoch in range(settings.epochs):
        for learner in learners:
            learner.step(epoch)
        parts = [learner.forecast(validation_panel) for learner in learners]
        held_out = parts[0]
        if fold is not None:
            held_out = forecasts_of_held_out_agents(parts, fold)
        score = float(mean_nll(held_out, validation_targets))
        if best is None or score < best.score:
            weights = [{k: v.clone() for k, v in one.network.state_dict().items()} for one in learners]
            best = Best(score, epoch, weights, held_out)
        elif epoch - best.epoch >= settings.patience:
            break
    assert best is not None
    return best


def mean_nll(log_probabilities: Float[Tensor, "time agent class"], targets: Targets) -> Float[Tensor, ""]:
    """Mean negative log-likelihood of the outcomes that count, in nats."""
    picked = log_probabilities[targets.mask].gather(-1, targets.outcome[targets.mask].unsqueeze(-1))
    return -picked.mean()


def check_outcomes(data: TemporalHypergraph, scheme: HoldoutScheme) -> None:
    """Refuse to train or stop on nothing.

    Args:
        data: T times.
        scheme: what is held out.
    """
    for part in ("train", "validation"):
        origins = getattr(scheme, part)
        if origins and targets_of(data, scheme.horizon, origins).count == 0:
            raise DataError(
                f"no outcome is observed at the targets of the {part} origins ({origins[0]} ... {origins[-1]}, horizon "
                f"{scheme.horizon}); give outcomes there, or another split"
            )


def forecasts_of_held_out_agents(
    parts: list[Float[Tensor, "time agent class"]], fold: Int[Tensor, " agent"]
) -> Float[Tensor, "time agent class"]:
    """Take each agent's forecast from the network that did not learn from it.

    Args:
        parts: K forecasts, one per network.
        fold: network to read for each agent.
    """
    agents = torch.arange(len(fold), device=fold.device)
    return torch.stack(parts)[fold, :, agents].transpose(0, 1)


def _learner(make: MakeNetwork, panel: Panel, targets: Targets, settings: Training, seed: int, index: int) -> Learner:
    device = panel.inputs.device
    network = make(_generator(seed, WEIGHTS, 0, "cpu")).to(device)
    with torch.no_grad():
        network.spatial.prepare(panel)
    return _set_up(network, panel, targets, settings, _generator(seed, STEPS, index, device))


def _set_up(
    network: ForecastNetwork, panel: Panel, targets: Targets, settings: Training, generator: torch.Generator
) -> Learner:
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, foreach=False
    )
    return Learner(network, optimizer, generator, panel, targets)


def _generator(seed: int, stream: int, index: int, device: torch.device | str) -> torch.Generator:
    return torch.Generator(device=device).manual_seed((seed * 1_000_003 + stream * 1009 + index) % 2**63)
