"""The one trainer: AdamW, early stopping on held-out NLL, temperature on what is kept for calibration.

The plan is that of SphUnc (:mod:`sphunc.legacy.plan`): later times are held out, or, where times are too few, agents in
folds. Held-out outcomes choose the number of passes and the temperature. Where times were held out, the trained network
then goes on with every outcome that may be seen, for a third of these passes, as SphUnc does; where agents were, there
is a network per fold, and a fresh one learns from all agents for as many passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from sphunc._typing import Float
from sphunc.baselines.forecaster import predictive_entropy
from sphunc.baselines.network import ForecastNetwork, Run
from sphunc.baselines.panel import Panel, Scale, learn_scale, make_panel
from sphunc.baselines.settings import Count, Rate, Several, Weight
from sphunc.errors import ArgumentError, DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.calibration import FEWEST_TO_CALIBRATE, TemperatureLaw, carry_over, fit_temperature
from sphunc.legacy.fitting import REFIT_SHARE
from sphunc.legacy.outlook import Outlook, merge
from sphunc.legacy.plan import Plan
from sphunc.legacy.targets import Targets, folds_of, targets_of

WEIGHTS, STEPS, FOLDS = 0, 1, 2
GRADIENT_CLIP = 1.0
MakeNetwork = Callable[[torch.Generator], ForecastNetwork]


@dataclass(frozen=True)
class Training:
    """Settings that all peers share.

    Attributes:
        learning_rate: step size of AdamW.
        weight_decay: of AdamW.
        epochs: most passes.
        patience: passes without improvement before training ends.
        folds: parts of the agents where agents are held out.
        refit: whether the trained network goes on with validation and calibration outcomes too, once these have
            chosen the number of passes and the temperature.
    """

    learning_rate: Rate = 1e-3
    weight_decay: Weight = 1e-3
    epochs: Count = 200
    patience: Count = 30
    folds: Several = 3
    refit: bool = True


@dataclass(frozen=True, eq=False)
class Trained:
    """The result: network in evaluation, temperature, passes, NLL of held-out outcomes before any refit."""

    network: ForecastNetwork
    temperature: TemperatureLaw
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
            raise self._exploded(f"the loss became {value} in pass {epoch}")
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
    """The pass that served held-out outcomes best."""

    score: float
    epoch: int
    weights: list[dict[str, Tensor]]
    held: Tensor


def train(data: TemporalHypergraph, plan: Plan, make: MakeNetwork, settings: Training, seed: int) -> Trained:
    """Train a peer on the times that the plan allows."""
    check_outcomes(data, plan)
    return (
        _by_agents(data, plan, make, settings, seed) if plan.by_agents else _by_times(data, plan, make, settings, seed)
    )


def _by_times(data: TemporalHypergraph, plan: Plan, make: MakeNetwork, settings: Training, seed: int) -> Trained:
    scale, seen = learn_scale(data, plan.train_stop), data.window(0, plan.stop)
    panel = make_panel(data.window(0, plan.train[-1] + 1), scale, data.num_classes)
    mine = targets_of(data, plan.horizon, plan.train).until(plan.train[-1] + 1)
    watched = make_panel(data.window(0, plan.validation[-1] + 1), scale, data.num_classes)
    judged = targets_of(data, plan.horizon, plan.validation).until(plan.validation[-1] + 1)
    learner = _learner(make, panel, mine, settings, seed, 0)
    best = _train([learner], watched, judged, None, settings)
    learner.network.load_state_dict(best.weights[0])
    whole = learner.forecast(make_panel(seen, scale, data.num_classes))
    held = targets_of(seen, plan.horizon, plan.calibration)
    law = fit_temperature(outlook_of(whole), held)
    trained = Trained(learner.network.eval(), law, scale, best.epoch + 1, best.score)
    if not settings.refit:
        return trained
    panel, targets = make_panel(seen, scale, data.num_classes), targets_of(seen, plan.horizon, plan.everything)
    final = _set_up(learner.network, panel, targets, settings, _generator(seed, STEPS, 1, data.device))
    final.run(math.ceil(trained.epochs * REFIT_SHARE))
    rows = [outlook_of(forecasts).rows(held.mask) for forecasts in (whole, final.forecast(panel))]
    return replace(trained, network=final.network.eval(), temperature=carry_over(law, *rows))


def _by_agents(data: TemporalHypergraph, plan: Plan, make: MakeNetwork, settings: Training, seed: int) -> Trained:
    seen = data.window(0, plan.stop)
    scale = learn_scale(seen, plan.stop)
    panel = make_panel(seen, scale, data.num_classes)
    targets = targets_of(seen, plan.horizon, plan.train)
    count = min(settings.folds, data.num_nodes)
    fold = folds_of(data.num_nodes, count, _generator(seed, FOLDS, 0, data.device))
    learners = [_learner(make, panel, targets.only(fold != k), settings, seed, k + 1) for k in range(count)]
    best = _train(learners, panel, targets, fold, settings)
    final = _learner(make, panel, targets, settings, seed, 0)
    final.run(best.epoch + 1)
    law = fit_temperature(outlook_of(best.held), targets.latest(FEWEST_TO_CALIBRATE))
    return Trained(final.network.eval(), law, scale, best.epoch + 1, best.score)


def _train(learners: list[Learner], watched: Panel, judged: Targets, fold: Tensor | None, settings: Training) -> Best:
    best: Best | None = None
    for epoch in range(settings.epochs):
        for learner in learners:
            learner.step(epoch)
        parts = [learner.forecast(watched) for learner in learners]
        held = parts[0] if fold is None else _merged(parts, fold)
        score = float(mean_nll(held, judged))
        if best is None or score < best.score:
            weights = [{k: v.clone() for k, v in one.network.state_dict().items()} for one in learners]
            best = Best(score, epoch, weights, held)
        elif epoch - best.epoch >= settings.patience:
            break
    assert best is not None
    return best


def mean_nll(log_probabilities: Float[Tensor, "time agent class"], targets: Targets) -> Float[Tensor, ""]:
    """Mean negative log-likelihood of the outcomes that count, in nats."""
    picked = log_probabilities[targets.mask].gather(-1, targets.outcome[targets.mask].unsqueeze(-1))
    return -picked.mean()


def outlook_of(log_probabilities: Float[Tensor, "*batch class"]) -> Outlook:
    """Return the forecasts with their predictive entropy as total uncertainty, for the same calibration as SphUnc."""
    return Outlook(log_probabilities, None, None, predictive_entropy(log_probabilities.exp()))


def check_outcomes(data: TemporalHypergraph, plan: Plan) -> None:
    """Refuse to train or stop on nothing."""
    for part in ("train", "validation"):
        origins = getattr(plan, part)
        if origins and targets_of(data, plan.horizon, origins).count == 0:
            raise DataError(
                f"no outcome is observed at the targets of the {part} origins ({origins[0]} ... {origins[-1]}, horizon "
                f"{plan.horizon}); give outcomes there, or another split"
            )


def _merged(parts: list[Tensor], fold: Tensor) -> Tensor:
    merged = merge([outlook_of(part) for part in parts], fold).log_probabilities
    assert merged is not None
    return merged


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
