"""`SphUnc`: fit, predict, score, influence, intervene, save. The estimator that users call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sphunc._typing import Whole
from sphunc.causal import InfluenceGraph
from sphunc.causal.counts import seed_number, whole_number
from sphunc.errors import ArgumentError, CheckpointError, NotFittedError
from sphunc.hypergraph import Split, TemporalHypergraph
from sphunc.model.alignment import Known, align, known_of
from sphunc.model.bundle import has_bundle, remove_bundle
from sphunc.model.calibration import TemperatureLaw
from sphunc.model.checkpoint import MODEL, TRAINING, load_training, save_training
from sphunc.model.config import SphUncConfig, check_setting
from sphunc.model.conformal import ConformalScores, class_sets, intervals
from sphunc.model.fitting import Fitted, Session, conclude, fit_stages
from sphunc.model.forecast import Forecast, next_time
from sphunc.model.grouping import regroup
from sphunc.model.history import Callback, EpochRecord
from sphunc.model.inputs import check_data, check_device, check_origins, check_settings, plain_numbers
from sphunc.model.network import Network
from sphunc.model.objective import losses
from sphunc.model.observed import observe
from sphunc.model.outlook import Outlook
from sphunc.model.plan import make_plan
from sphunc.model.progress import ProgressBar
from sphunc.model.saving import load_fitted, save_fitted
from sphunc.model.structure import Structure, learn_structure, place
from sphunc.model.targets import targets_of
from sphunc.model.training import outlook_of
from sphunc.model.whatif import WhatIf

Device = str | torch.device
METRICS = {False: ("log_likelihood", "accuracy"), True: ("log_likelihood", "r2")}


class SphUnc(WhatIf):
    """Forecasts with decomposed, calibrated uncertainty for agents that meet in groups.

    Args:
        dim: D, dimension of the latent sphere.
        horizon: steps ahead.
        seed: of every random choice; the same seed gives the same numbers on the same machine.
        device: where to compute.
        **settings: any other setting of :class:`~sphunc.SphUncConfig`; kept untouched, checked in :meth:`fit`.

    Attributes:
        config_: the settings in full.
        network_: the trained network.
        structure_: influence links with their gates.
        temperature_: calibration of confidence.
        conformal_: held-out scores for sets of stated coverage.
        history_: one :class:`~sphunc.model.history.EpochRecord` per pass.
        epochs_: passes that the network was trained for.
        known_: agents, features and classes of the training data.

    Example:
        >>> import sphunc
        >>> world = sphunc.simulate("snare", agents=40, times=4, seed=0)
        >>> model = SphUnc(dim=8, epochs=2, folds=2, seed=0).fit(world.data, verbose=False)
        >>> model.predict(world.data).probabilities.shape
        torch.Size([40, 3])
    """

    config_: SphUncConfig
    network_: nn.Module
    structure_: Structure
    temperature_: TemperatureLaw
    conformal_: ConformalScores
    history_: list[EpochRecord]
    epochs_: int
    known_: Known

    def __init__(
        self, dim: Whole = 128, horizon: Whole = 1, seed: Whole = 0, *, device: Device = "cpu", **settings: Any
    ) -> None:
        for name in settings:
            check_setting(name)
        self.dim, self.horizon, self.seed, self.device = dim, horizon, seed, device
        self._settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given, as given."""
        named = {"dim": self.dim, "horizon": self.horizon, "seed": self.seed, "device": self.device}
        return {**named, **self._settings}

    def set_params(self, **params: Any) -> SphUnc:
        """Change settings; a fitted model keeps what it learned until it is fitted again."""
        for name, value in params.items():
            if name in ("dim", "horizon", "seed", "device"):
                setattr(self, name, value)
            else:
                check_setting(name)
                self._settings[name] = value
        return self

    def fit(
        self,
        data: TemporalHypergraph,
        split: Split | None = None,
        *,
        resume: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> SphUnc:
        """Learn from ``data``.

        Args:
            data: agents, groups, features and outcomes.
            split: origins to train, validate and calibrate on; its test origins, and all that comes after the last
                calibration target, are not looked at. None uses all times. Panels that leave fewer than 4 training
                origins hold out agents instead of times: see :mod:`sphunc.model.plan`.
            resume: folder of a run that was stopped; goes on from its last pass to the result that it would have had.
            checkpoint: folder to save every pass in, and the fitted model at the end.
            verbose: show progress; None does so on a terminal.
            callbacks: called with the :class:`~sphunc.model.history.EpochRecord` of every pass.
        """
        data = check_data("fit", data)
        config = check_settings({"dim": self.dim, "horizon": self.horizon, **self._settings})
        session = self._session(data, split, config)
        folder = _folder(resume, checkpoint)
        if resume is not None and not has_bundle(Path(resume), TRAINING):
            return self._take_finished(Path(resume), config, known_of(session.data))
        begun = None if resume is None else load_training(Path(resume), session)
        keep = None if folder is None else partial(save_training, folder, session)
        with ProgressBar(verbose) as bar:
            carry, history = fit_stages(session, _all([bar, *callbacks]), keep=keep, begun=begun)
        self._take(config, known_of(session.data), conclude(session, carry, history))
        if folder is not None:
            self.save(folder)
            remove_bundle(folder, TRAINING)
        return self

    def predict(
        self, data: TemporalHypergraph, origin: Whole | None = None, *, coverage: float | None = None
    ) -> Forecast:
        """Forecast every agent's outcome ``horizon`` steps after ``origin``.

        Args:
            data: the past; features, groups and outcomes after the origin are not looked at. Agents are matched by id,
                and may be new.
            origin: time index to forecast from; the last time by default.
            coverage: also return conformal sets (intervals, for numbers) for this coverage. It holds on average if
                what comes resembles what was held out, which time may break: ``forecast.caveat`` says what it rests on.
        """
        self._check_fitted("predict")
        data = check_data("predict", data)
        origin = data.num_times - 1 if origin is None else whole_number("origin", origin)
        past = self._prepare(data.until(origin))
        links, gates = place(self.structure_, self.known_.agents, past.node_ids)
        # Earlier origins would be forecast too by a plain pass, and their support looked up.
        network: Any = self.network_
        run = network.origin(observe(past), links, gates, self.config_.horizon).run
        last = self.temperature_.apply(outlook_of(run).at(-1))
        extras = _sets(last, self.conformal_, coverage)
        return Forecast(
            agents=past.node_ids,
            origin=past.times[-1],
            target=next_time(data.times, origin + self.config_.horizon),
            horizon=self.config_.horizon,
            epistemic=run.epistemic[-1].cpu(),
            epistemic_scaled=run.epistemic_scaled[-1].cpu(),
            aleatoric=(run.variance if run.mean is None else run.variance.mean(-1))[-1].cpu(),
            total=last.total,
            class_names=self.known_.classes,
            probabilities=None if last.log_probabilities is None else last.log_probabilities.exp(),
            mean=last.mean,
            variance=last.variance,
            **extras,
        )

    def predict_proba(self, data: TemporalHypergraph, origin: Whole | None = None) -> Tensor:
        """Return class probabilities ``[N, C]``."""
        self._check_fitted("predict_proba")
        data = check_data("predict_proba", data)
        probabilities = self.predict(data, origin).probabilities
        if probabilities is None:
            raise ArgumentError("the model forecasts numbers, which have no probabilities; call predict")
        return probabilities

    def score(
        self, data: TemporalHypergraph, origins: Iterable[Whole] | None = None, *, metric: str = "log_likelihood"
    ) -> float:
        """Score forecasts against the outcomes in ``data``; larger is better.

        Args:
            data: past and outcomes.
            origins: time indices to forecast from; by default all whose target is later than what fit saw.
            metric: "log_likelihood", the mean over agents in nats (minus the NLL): rewards probabilities that are
                right; "accuracy", the share of classes named right; "r2" for numbers.
        """
        self._check_fitted("score")
        data = check_data("score", data)
        if metric not in METRICS[self.known_.numeric]:
            raise ArgumentError(f"metric is {metric!r}; choose {' or '.join(METRICS[self.known_.numeric])}")
        chosen = self._unseen_origins(data) if origins is None else check_origins(origins)
        data = align(data, self.known_)
        targets = targets_of(data, self.config_.horizon, newcomers=True)
        rows = [_judge(self.predict(data, o), targets.outcome[o].cpu(), targets.mask[o].cpu(), metric) for o in chosen]
        if not sum(len(row) for row in rows):
            raise ArgumentError(f"no outcome is observed {self.config_.horizon} after origins {chosen}; give others")
        return _summary(torch.cat(rows), metric)

    def influence(self, data: TemporalHypergraph | None = None, *, diagnose: bool = False) -> InfluenceGraph:
        """Return who influences whom, as learned in :meth:`fit`; with ``data``, learned anew from its times."""
        self._check_fitted("influence")
        structure = self.structure_
        if data is not None:
            aligned = self._prepare(check_data("influence", data))
            with torch.no_grad():
                network: Any = self.network_
                projected = network.projected(observe(aligned))
            options: dict[str, Any] = {"max_lag": self.config_.max_lag, "seed": seed_number(self.seed)}
            structure = learn_structure(projected, aligned, calibrate=True, diagnose=diagnose, **options)
        elif diagnose:
            raise ArgumentError("diagnose=True needs the data again; call influence(data, diagnose=True)")
        if structure.graph is None:
            why = "scm is False" if not self.config_.scm else "fewer than 3 times, no groups, or nothing that changes"
            raise ArgumentError(f"no influence could be learned: {why}")
        return structure.graph

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors, replaced as one."""
        self._check_fitted("save")
        fitted = Fitted(self.network_, self.structure_, self.temperature_, self.conformal_, self.history_, self.epochs_)
        save_fitted(Path(folder), plain_numbers(self.get_params()), self.config_, self.known_, fitted)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: Device = "cpu") -> SphUnc:
        """Read a model that :meth:`save` wrote."""
        check_device(device)
        params, config, known, fitted = load_fitted(Path(folder), device, _network)
        model = cls(**params)
        model._take(config, known, fitted)
        return model

    def _session(self, data: TemporalHypergraph, split: Split | None, config: SphUncConfig) -> Session:
        seed, device, known = seed_number(self.seed), check_device(self.device), known_of(data)
        plan = make_plan(data, config.horizon, split, config.holdout)
        window = regroup(data.until(plan.stop - 1), config.grouping).to(device)
        return Session(config, window, plan, seed, partial(_network, config, known), losses)

    def _prepare(self, data: TemporalHypergraph) -> TemporalHypergraph:
        return regroup(align(data, self.known_), self.config_.grouping).to(check_device(self.device))

    def _take(self, config: SphUncConfig, known: Known, fitted: Fitted) -> None:
        self.config_, self.known_ = config, known
        self.network_, self.structure_ = fitted.network, fitted.structure
        self.temperature_, self.conformal_ = fitted.temperature, fitted.conformal
        self.history_, self.epochs_ = fitted.history, fitted.epochs

    def _take_finished(self, folder: Path, config: SphUncConfig, known: Known) -> SphUnc:
        if not has_bundle(folder, MODEL):
            raise CheckpointError(f"{folder} holds no run to resume; begin one with fit(checkpoint={str(folder)!r})")
        finished = SphUnc.load(folder, device=self.device)
        if finished.config_ != config or finished.seed != self.seed:
            raise CheckpointError(f"{folder} holds a finished model with other settings; begin anew with checkpoint=")
        if finished.known_ != known:
            raise CheckpointError(
                f"{folder} holds a model of other data; resume with its data, or begin anew with checkpoint="
            )
        vars(self).update({name: value for name, value in vars(finished).items() if name.endswith("_")})
        return self

    def _unseen_origins(self, data: TemporalHypergraph) -> list[int]:
        horizon = self.config_.horizon
        unseen = [o for o in range(data.num_times - horizon) if data.times[o + horizon] > self.known_.last]
        if not unseen:
            raise ArgumentError(
                f"data has no outcome later than {self.known_.last}, the last time that fit saw; give later data, or "
                "name origins= and bear in mind that the model learned from their outcomes"
            )
        return unseen

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or SphUnc.load(folder), first")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if name != "device")
        return f"SphUnc({given})"


def _network(config: SphUncConfig, known: Known, generator: torch.Generator) -> Network:
    return Network(config, len(known.features), known.outputs, numeric=known.numeric, generator=generator)


def _folder(resume: str | os.PathLike[str] | None, checkpoint: str | os.PathLike[str] | None) -> Path | None:
    if resume is not None and checkpoint is not None and Path(resume) != Path(checkpoint):
        raise ArgumentError(f"resume is {resume} and checkpoint {checkpoint}; a run goes on in its own folder")
    given = resume if checkpoint is None else checkpoint
    return None if given is None else Path(given)


def _all(callbacks: Sequence[Callback]) -> Callback:
    def call(record: EpochRecord) -> None:
        for callback in callbacks:
            callback(record)

    return call


def _sets(outlook: Outlook, conformal: ConformalScores, coverage: float | None) -> dict[str, Any]:
    if coverage is None:
        return {}
    threshold = conformal.threshold(coverage)
    words = {"coverage": coverage, "caveat": conformal.caveat}
    if outlook.log_probabilities is not None:
        return {"set": class_sets(outlook, threshold), **words}
    return {"interval": intervals(outlook, threshold), **words}


def _judge(forecast: Forecast, outcome: Tensor, mask: Tensor, metric: str) -> Tensor:
    log_p = None if forecast.probabilities is None else forecast.probabilities.log()
    outlook = Outlook(log_p, forecast.mean, forecast.variance, forecast.total).rows(mask)
    truth = outcome[mask]
    if metric == "log_likelihood":
        return -outlook.surprise(truth)
    if metric == "accuracy":
        return (forecast.prediction[mask] == truth).double()
    return torch.cat([truth, forecast.prediction[mask]], -1)


def _summary(rows: Tensor, metric: str) -> float:
    if metric != "r2":
        return float(rows.double().mean())
    truth, guess = rows.double().chunk(2, -1)
    return float(1 - (truth - guess).square().sum() / (truth - truth.mean(0)).square().sum())
