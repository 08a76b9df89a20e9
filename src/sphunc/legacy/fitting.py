"""From data to a fitted model: cross-fit, train, maybe refit; then support, structure, temperature and scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from sphunc.errors import DataError
from sphunc.hypergraph import TemporalHypergraph
from sphunc.legacy.calibration import FEWEST_TO_CALIBRATE, TemperatureLaw, carry_over, fit_temperature
from sphunc.legacy.config import SphUncConfig
from sphunc.legacy.conformal import ConformalScores
from sphunc.legacy.extremes import check_extremes
from sphunc.legacy.history import Callback, EpochRecord
from sphunc.legacy.knowledge import Knowledge
from sphunc.legacy.observed import observe
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.plan import Plan
from sphunc.legacy.structure import Structure, learn_structure, no_structure
from sphunc.legacy.targets import Targets, folds_of, targets_of
from sphunc.legacy.training import (
    LossFunction,
    Member,
    Stage,
    advance,
    make_optimizer,
    outlook_of,
    restore_best,
)
from sphunc.legacy.weights import load_weights
from sphunc.nn.encoder import feature_statistics

CROSS_FIT, TRAIN, REFIT = "cross-fit", "train", "refit"
STREAMS = {CROSS_FIT: 1, TRAIN: 2, REFIT: 3}
FOLDS, WEIGHTS = 0, 4
CROSS_FIT_SHARE = 1 / 3
"""Most passes of cross-fitting, as a share of all, where it tells typical errors and not when to stop."""
REFIT_SHARE = 1 / 3
"""A refit goes on from the trained network, and takes in the last times in so many of the passes that training took."""


@dataclass(frozen=True, eq=False)
class Session:
    """All that decides the result of a fit.

    Attributes:
        config: settings.
        data: the times that may be seen, on the device to train on.
        plan: which origins are for what.
        seed: of every random choice.
        make_network: from a generator to a fresh network.
        losses: the objective.
        knowledge: links that cannot exist, and those that do.
    """

    config: SphUncConfig
    data: TemporalHypergraph
    plan: Plan
    seed: int
    make_network: Callable[[torch.Generator], nn.Module]
    losses: LossFunction
    knowledge: Knowledge | None = None

    def generator(self, stream: int, index: int = 0) -> torch.Generator:
        """Return a generator of its own for each use, on the device of the data; networks are made on the CPU."""
        seed = (self.seed * 1_000_003 + stream * 1009 + index) % 2**63
        device = torch.device("cpu") if stream == WEIGHTS else self.data.device
        return torch.Generator(device=device).manual_seed(seed)


@dataclass(frozen=True, eq=False)
class Carry:
    """What finished stages hand on.

    Attributes:
        epochs: passes that held-out outcomes chose, and those of a refit; 0 before any stage has chosen.
        empirical: cross-fitted errors ``[T, N]``, or None.
        outlook: forecasts of held-out agents or times ``[T, N, ...]``, or None.
        network: weights of the network trained so far, or None.
        structure: its links.
    """

    epochs: int = 0
    empirical: Tensor | None = None
    outlook: Outlook | None = None
    network: dict[str, Tensor] | None = None
    structure: Structure | None = None


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of a fit; ``fingerprint`` tells its data, and is empty where nobody asked for it.

    ``knowledge`` holds the links that it was told of, by ids.
    """

    network: nn.Module
    structure: Structure
    temperature: TemperatureLaw
    conformal: ConformalScores
    history: list[EpochRecord]
    epochs: int
    fingerprint: str = ""
    knowledge: Knowledge = field(default_factory=Knowledge)


Keep = Callable[[Stage, Carry, list[EpochRecord]], None]
Begun = tuple[str, Carry, list[EpochRecord], Callable[[Stage], None]]


def stage_names(config: SphUncConfig, plan: Plan) -> list[str]:
    """Stages of a fit, in order."""
    names = [CROSS_FIT] if plan.by_agents or config.lambda_entropy > 0 else []
    return [*names, TRAIN, *([REFIT] if config.refit and not plan.by_agents else [])]


def fit_stages(
    session: Session,
    callback: Callback,
    *,
    keep: Keep | None = None,
    begun: Begun | None = None,
) -> tuple[Carry, list[EpochRecord]]:
    """Run all stages, or those from the one that had begun.

    Args:
        session: what to fit.
        callback: called with the record of every pass.
        keep: called after every pass with all that is needed to go on.
        begun: name of the stage to go on with, what was carried into it, the history, and how to set it up.
    """
    names, carry, history = stage_names(session.config, session.plan), Carry(), []
    if begun is not None:
        names, carry, history = names[names.index(begun[0]) :], begun[1], list(begun[2])
    check_outcomes(session)
    check_features(session)
    for name in names:
        stage = make_stage(session, name, carry)
        if begun is not None and name == begun[0]:
            begun[3](stage)
        while not stage.is_over(session.config.patience):
            renew_structure(session, stage)
            history.append(advance(stage, session.config, session.losses))
            if keep is not None:
                keep(stage, carry, history)
            callback(history[-1])
        carry = finish(session, stage, carry)
    return carry, history


def make_stage(session: Session, name: str, carry: Carry) -> Stage:
    """Set up a stage at its first pass."""
    config, plan, data = session.config, session.plan, session.data
    whole = name == REFIT or plan.by_agents
    stop = plan.stop if whole else plan.train_stop
    targets = targets_of(data, config.horizon, plan.everything if whole else plan.train).until(stop)
    observed = observe(data, stop)
    fold = folds_of(data.num_nodes, config.folds, session.generator(FOLDS)) if name == CROSS_FIT else None
    fold = None if fold is None else fold % min(config.folds, data.num_nodes)
    trained = carry.network if name == REFIT else None
    members = _members(session, name, observed, targets, fold, trained)
    prepare: Any = members[0].network.prepare  # members differ in what they learn from, not in what they see
    observed = prepare(observed)
    # Links are learned from features, which folds share: what they began with, the next stage may begin with.
    structure = carry.structure if name == TRAIN else None
    structure = structure or _structure(session, members[0].network, observed)
    if trained is None:
        _open_readings(members, observed, structure)
    stage = Stage(name, members, observed, None, None, fold, config.epochs, structure, carry.empirical)
    if fold is not None:
        stage.watched, stage.judged = observed, targets
        if not plan.by_agents:
            stage.epochs = math.ceil(config.epochs * CROSS_FIT_SHARE)
    elif name == REFIT:
        stage.epochs = math.ceil(carry.epochs * REFIT_SHARE)
    elif whole:
        stage.epochs = max(carry.epochs, 1)
    else:
        stage.watched = prepare(observe(data, plan.validation[-1] + 1))
        stage.judged = targets_of(data, config.horizon, plan.validation).until(plan.validation[-1] + 1)
    return stage


def _members(
    session: Session,
    name: str,
    observed: Any,
    targets: Targets,
    fold: Tensor | None,
    weights: dict[str, Tensor] | None,
) -> list[Member]:
    """Networks that begin with ``weights``, or with statistics of all features and of the outcomes they learn from."""
    members = []
    for k in range(1 if fold is None else int(fold.max()) + 1):
        network: Any = session.make_network(session.generator(WEIGHTS)).to(session.data.device)
        mine = targets if fold is None else targets.only(fold != k)
        alone = mine.count == 0  # all labelled agents are in one fold: there is nobody else to learn from
        if weights is None:
            network.learn_scale(observed if fold is None or alone else observed.only_outcomes(fold != k))
        else:
            load_weights(network, weights)
        generator = session.generator(STREAMS[name], k)
        optimizer = make_optimizer(network, session.config)
        members.append(Member(network, optimizer, generator, targets if alone else mine))
    return members


def _open_readings(members: list[Member], observed: Any, structure: Structure) -> None:
    for member in members:
        network: Any = member.network
        network.open_reading(observed, structure.links, structure.gates, member.targets)


@torch.no_grad()
def _structure(session: Session, network: Any, observed: Any, **options: Any) -> Structure:
    if not session.config.scm:
        return no_structure(session.data.device)
    window = session.data.window(0, observed.num_times)
    projected = network.projected(observed)
    options |= {"max_lag": session.config.max_lag, "seed": session.seed, "knowledge": session.knowledge}
    return learn_structure(projected, window, **options)


def renew_structure(session: Session, stage: Stage) -> None:
    """Learn the structure anew from the projected features of now, on schedule.

    Folds keep the one that no outcome has touched; a refit begins with what the trained encoder sees in all times.
    """
    config = session.config
    due = 0 < stage.epoch < config.structure_epochs and stage.epoch % config.structure_every == 0
    if due and stage.name == TRAIN and config.scm:
        stage.members[0].network.eval()
        stage.structure = _structure(session, stage.members[0].network, stage.observed)


def finish(session: Session, stage: Stage, carry: Carry) -> Carry:
    """Take from a finished stage what the next one needs."""
    restore_best(stage)
    if stage.fold is not None:
        outlook, judged = stage.best_outlook, stage.judged
        assert outlook is not None
        assert judged is not None
        errors = outlook.squared_error(judged.outcome, judged.mask)
        return Carry(stage.best_epoch + 1, errors, outlook, None, stage.structure)
    weights = {name: value.clone() for name, value in stage.members[0].network.state_dict().items()}
    before = carry.epochs if stage.name == REFIT else 0
    carry = replace(carry, epochs=before + stage.best_epoch + 1, network=weights, structure=stage.structure)
    return _look_ahead(session, stage, carry) if stage.name == TRAIN and not session.plan.by_agents else carry


@torch.no_grad()
def _look_ahead(session: Session, stage: Stage, carry: Carry) -> Carry:
    # Forecasts of the calibration origins by a network that never saw them; a refit, which does learn from all
    # held-out origins, is held to these errors there.
    network: Any = stage.members[0].network
    network.store_support(stage.observed)
    outlook = outlook_of(network(observe(session.data), stage.structure.links, stage.structure.gates))
    if carry.empirical is None:
        return replace(carry, outlook=outlook)
    targets = targets_of(session.data, session.config.horizon)
    errors = outlook.squared_error(targets.outcome, targets.mask)
    trained = session.plan.train[-1] + 1
    errors[:trained] = carry.empirical[:trained]
    return replace(carry, outlook=outlook, empirical=errors)


def check_outcomes(session: Session) -> None:
    """Refuse to train or stop on nothing."""
    for part in ("train", "validation"):
        origins = getattr(session.plan, part)
        if origins and targets_of(session.data, session.config.horizon, origins).count == 0:
            otherwise = "" if session.plan.by_agents else ", another split, or holdout='agents'"
            raise DataError(
                f"no outcome is observed at the targets of the {part} origins ({origins[0]} ... {origins[-1]}, horizon "
                f"{session.config.horizon}); give outcomes there{otherwise}"
            )


def check_features(session: Session) -> None:
    """Refuse features that are extreme by the statistics of the times that training sees first."""
    stop = session.plan.stop if session.plan.by_agents else session.plan.train_stop
    seen = session.data.window(0, stop)
    check_extremes(session.data, *feature_statistics(seen.x, seen.x_mask))


@torch.no_grad()
def conclude(session: Session, carry: Carry, history: list[EpochRecord]) -> Fitted:
    """Make the fitted model: calibrate on held-out outcomes, then take in every time that may be seen.

    The held-out forecasts were made with the structure and support that training used; what is renewed on all times
    is renewed after them, so that nothing of the calibration targets helped to predict them.
    """
    assert carry.network is not None
    assert carry.outlook is not None
    by_agents = session.plan.by_agents
    network: Any = session.make_network(session.generator(WEIGHTS)).to(session.data.device)
    load_weights(network, carry.network)
    network.eval()
    observed = network.prepare(observe(session.data))
    network.store_support(observed)
    held = targets_of(
        session.data, session.config.horizon, session.plan.train if by_agents else session.plan.calibration
    )
    # Later origins know more, as the forecast will; the others make up for it where these are few.
    temperature = fit_temperature(carry.outlook, held.latest(FEWEST_TO_CALIBRATE) if by_agents else held)
    scores = _scores(temperature, carry.outlook, held)
    structure = _final_structure(session, network, observed, carry)
    final = outlook_of(network(observed, structure.links, structure.gates))
    temperature = carry_over(temperature, carry.outlook.rows(held.mask), final.rows(held.mask))
    if final.mean is not None:
        temperature = _humbled(temperature, final, held)
        scores = torch.maximum(scores, _scores(temperature, final, held))
    conformal = ConformalScores(scores, "agents" if by_agents else "times")
    return Fitted(network, structure, temperature, conformal, history, carry.epochs)


def _humbled(temperature: TemperatureLaw, final: Outlook, held: Targets) -> TemperatureLaw:
    # The last passes may leave means worse than they were, in units of a deviation that became minute: it shows even in
    # the outcomes that they learned from.
    again, rows = fit_temperature(final, held), final.rows(held.mask)
    return again if again.apply(rows).sureness() < temperature.apply(rows).sureness() else temperature


def _scores(temperature: TemperatureLaw, outlook: Outlook, held: Targets) -> Tensor:
    return temperature.apply(outlook).rows(held.mask).scores(held.outcome[held.mask]).sort().values


def _final_structure(session: Session, network: Any, observed: Any, carry: Carry) -> Structure:
    # Trained on every time there is, a network keeps the links it was trained with; otherwise later times have more
    # to say about them.
    whole = session.plan.by_agents or session.config.refit
    if whole and not session.config.calibrate_links and carry.structure is not None:
        return carry.structure
    return _structure(session, network, observed, calibrate=session.config.calibrate_links)
