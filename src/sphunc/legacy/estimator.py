"""`SphUnc`: fit, predict, score, influence, intervene, save. The estimator that users call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sphunc._typing import Whole
from sphunc.causal import InfluenceGraph
from sphunc.causal.counts import seed_number
from sphunc.errors import ArgumentError, ArgumentTypeError, CheckpointError, NotFittedError
from sphunc.hypergraph import Split, TemporalHypergraph
from sphunc.legacy.alignment import Known, align, check_features, known_of
from sphunc.legacy.bundle import has_bundle, remove_bundle
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.checkpoint import MODEL, TRAINING, check_ids, fingerprint, is_begun
from sphunc.legacy.config import SphUncConfig, check_setting, plain_numbers
from sphunc.legacy.conformal import ConformalScores, class_sets, intervals
from sphunc.legacy.extremes import check_extremes, set_aside
from sphunc.legacy.fitting import Fitted, Session, conclude
from sphunc.legacy.forecast import Forecast, next_time
from sphunc.legacy.grouping import regroup
from sphunc.legacy.history import Callback, EpochRecord
from sphunc.legacy.inputs import (
    check_callbacks,
    check_coverage,
    check_data,
    check_device,
    check_folder,
    check_noise,
    check_origin,
    check_origins,
    check_settings,
    check_times,
    warn_of_weights,
    writable_folder,
)
from sphunc.legacy.knowledge import Knowledge, Pair, check_knowledge
from sphunc.legacy.network import Network
from sphunc.legacy.objective import losses
from sphunc.legacy.observed import observe
from sphunc.legacy.outlook import Outlook
from sphunc.legacy.plan import make_plan
from sphunc.legacy.progress import ProgressBar
from sphunc.legacy.rivals import fit_rivals, forget_rival, without_what_is_seen
from sphunc.legacy.run import Run
from sphunc.legacy.saving import load_fitted, save_fitted
from sphunc.legacy.scoring import explained, judge
from sphunc.legacy.structure import WHY_NONE, Structure, learn_structure, place
from sphunc.legacy.targets import targets_of
from sphunc.legacy.training import outlook_of
from sphunc.legacy.whatif import WhatIf

Device = str | torch.device
METRICS = {False: ("log_likelihood", "accuracy"), True: ("log_likelihood", "r2")}


class SphUnc(WhatIf):
    """Forecasts with decomposed, calibrated uncertainty for agents that meet in groups.

    Args:
        dim: D, dimension of the latent sphere.
        horizon: steps ahead.
        seed: of every random choice; the same seed gives the same numbers on the same machine.
        device: where to compute.
        **settings: any other setting of :class:`~sphunc.SphUncConfig`; kept untouched, checked in :meth:`fit`, and
            an attribute like the others.

    Attributes:
        config_: the settings in full.
        network_: the trained network.
        structure_: influence links with their gates.
        temperature_: calibration of confidence.
        conformal_: held-out scores for sets of stated coverage.
        history_: one :class:`~sphunc.legacy.history.EpochRecord` per pass.
        epochs_: passes that the network was trained for.
        fingerprint_: digest of the training data and its split.
        knowledge_: links that fit was told of, by ids.
        known_: agents, features and outcomes (names of classes, or of numbers) of the training data.

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
    fingerprint_: str
    knowledge_: Knowledge

    def __init__(
        self, dim: Whole = 128, horizon: Whole = 1, seed: Whole = 0, *, device: Device = "cpu", **settings: Any
    ) -> None:
        if isinstance(dim, SphUncConfig):
            raise ArgumentTypeError(
                "dim is a SphUncConfig; settings are given by name: SphUnc(**config.model_dump(), seed=0)"
            )
        self.dim, self.horizon, self.seed, self.device = dim, horizon, seed, device
        self.set_params(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given, as given."""
        named = {"dim": self.dim, "horizon": self.horizon, "seed": self.seed, "device": self.device}
        return {**named, **self._settings()}

    def set_params(self, **params: Any) -> SphUnc:
        """Change settings; a fitted model keeps what it learned until it is fitted again."""
        for name, value in params.items():
            if name not in ("seed", "device"):
                check_setting(name)
            setattr(self, name, value)
        return self

    def __getattr__(self, name: str) -> Any:
        """Return the default of a setting that was not given."""
        if name in SphUncConfig.model_fields:
            return SphUncConfig.model_fields[name].default
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in SphUncConfig.model_fields}

    def fit(
        self,
        data: TemporalHypergraph,
        split: Split | None = None,
        *,
        resume: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
        callbacks: Sequence[Callback] = (),
        forbidden: Iterable[Pair] | None = None,
        required: Iterable[Pair] | None = None,
    ) -> SphUnc:
        """Learn from ``data``.

        Args:
            data: agents, groups, features and outcomes.
            split: origins to train, validate and calibrate on; its test origins, and all that comes after the last
                calibration target, are not looked at. None uses all times. Panels that leave fewer than 4 training
                origins hold out agents instead of times: see :mod:`sphunc.legacy.plan`.
            resume: folder of a run that was stopped; goes on from its last pass to the result that it would have had,
                or begins anew where no pass had ended.
            checkpoint: folder to save every pass in, and the fitted model at the end.
            verbose: show progress; None does so on a terminal.
            callbacks: called with the :class:`~sphunc.legacy.history.EpochRecord` of every pass, those of a rival too.
            forbidden: links (source, target) between ids that do not exist, such as ``[("a01", "a02")]``.
            required: links that exist, also between agents who never meet; at most 7 of one target.
        """
        data = check_data("fit", data)
        config, called = check_settings(self._settings()), check_callbacks(callbacks)
        warn_of_weights(data)
        folder = _folder(resume, checkpoint)
        told = check_knowledge(data, forbidden, required, scm=config.scm)
        session = replace(self._session(data, split, config), knowledge=told)
        if folder is not None and resume is not None and not is_begun(folder):
            return self._take_finished(folder, session)
        if folder is not None:
            check_ids(session.data)
            writable_folder("checkpoint" if resume is None else "resume", folder)
        rival = without_what_is_seen(session, _network, known_of(session.data))
        with ProgressBar(verbose) as bar:
            kept: dict[str, Any] = {"folder": folder, "resume": resume is not None}
            carry, history = fit_rivals(session, rival, _all([bar, *called]), bar.say, **kept)
        digest = fingerprint(session.data, session.plan, session.knowledge)
        fitted = replace(conclude(session, carry, history), fingerprint=digest, knowledge=told)
        self._take(config, known_of(session.data), fitted)
        if folder is not None:
            self.save(folder)
            forget_rival(folder)
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
        data, coverage = check_data("predict", data), check_coverage(coverage)
        origin = data.num_times - 1 if origin is None else check_origin(data, origin)
        past = self._prepare(data.until_index(origin))
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
            aleatoric=_noise(run, network.scale).cpu(),
            total=last.total,
            class_names=self.known_.classes,
            outcome_names=self.known_.outcomes,
            probabilities=None if last.log_probabilities is None else last.log_probabilities.exp(),
            mean=last.mean,
            variance=None if last.variance is None else last.raw_variance,
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
                right; "accuracy", the share of classes named right; "r2" for numbers, the mean over them.
        """
        self._check_fitted("score")
        data = check_data("score", data)
        if metric not in METRICS[self.known_.numeric]:
            raise ArgumentError(f"metric is {metric!r}; choose {' or '.join(METRICS[self.known_.numeric])}")
        chosen = self._unseen_origins(data) if origins is None else check_origins(data, origins)
        last = min(max(chosen, default=0) + self.config_.horizon, data.num_times - 1)
        data = align(data.until_index(last), self.known_)
        targets = targets_of(data, self.config_.horizon, newcomers=True)
        scale: Any = self.network_.scale
        judged = partial(judge, metric=metric, scale=scale.cpu())
        rows = [judged(self.predict(data, o), targets.outcome[o].cpu(), targets.mask[o].cpu()) for o in chosen]
        if not sum(len(row) for row in rows):
            raise ArgumentError(f"no outcome is observed {self.config_.horizon} after origins {chosen}; give others")
        return explained(torch.cat(rows)) if metric == "r2" else float(torch.cat(rows).double().mean())

    def influence(self, data: TemporalHypergraph | None = None, *, diagnose: bool = False) -> InfluenceGraph:
        """Return who influences whom, as learned in :meth:`fit`; with ``data``, learned anew from its times.

        Links that fit was told of count there too, as far as both agents are in ``data``.
        """
        self._check_fitted("influence")
        structure = self.structure_
        if data is not None:
            aligned = self._prepare(check_data("influence", data))
            with torch.no_grad():
                network: Any = self.network_
                projected = network.projected(observe(aligned))
            options: dict[str, Any] = {"max_lag": self.config_.max_lag, "seed": seed_number(self.seed)}
            options |= {"calibrate": True, "diagnose": diagnose, "knowledge": self.knowledge_}
            structure = learn_structure(projected, aligned, **options)
        elif diagnose:
            raise ArgumentError("diagnose=True needs the data again; call influence(data, diagnose=True)")
        if structure.graph is None:
            why = "scm is False" if not self.config_.scm else WHY_NONE
            raise ArgumentError(f"no influence could be learned: {why}")
        return structure.graph

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors, replaced as one."""
        self._check_fitted("save")
        check_settings(self._settings())
        learned = self.network_, self.structure_, self.temperature_, self.conformal_
        fitted = Fitted(*learned, self.history_, self.epochs_, self.fingerprint_, self.knowledge_)
        save_fitted(
            writable_folder("folder", folder), plain_numbers(self.get_params()), self.config_, self.known_, fitted
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: Device = "cpu") -> SphUnc:
        """Read a model that :meth:`save` wrote."""
        check_device(device)
        params, config, known, fitted = load_fitted(check_folder("folder", folder), device, _network)
        model = cls(**params)
        model._take(config, known, fitted)
        return model

    def _session(self, data: TemporalHypergraph, split: Split | None, config: SphUncConfig) -> Session:
        seed, device, known = seed_number(self.seed), check_device(self.device), known_of(data)
        check_features(data)
        check_noise(known.numeric, config)
        plan = make_plan(data, config.horizon, split, config.holdout)
        window = regroup(data.until_index(plan.stop - 1), config.grouping).to(device)
        return Session(config, window, plan, seed, partial(_network, config, known), losses)

    def _prepare(self, data: TemporalHypergraph) -> TemporalHypergraph:
        prepared = regroup(align(data, self.known_), self.config_.grouping).to(check_device(self.device))
        encoder: Any = self.network_.encoder
        check_extremes(prepared, encoder.mean, encoder.deviation)
        return set_aside(prepared, encoder.mean, encoder.deviation)

    def _take(self, config: SphUncConfig, known: Known, fitted: Fitted) -> None:
        self.config_, self.known_, self.knowledge_ = config, known, fitted.knowledge
        self.network_, self.structure_ = fitted.network, fitted.structure
        self.temperature_, self.conformal_ = fitted.temperature, fitted.conformal
        self.history_, self.epochs_, self.fingerprint_ = fitted.history, fitted.epochs, fitted.fingerprint

    def _take_finished(self, folder: Path, session: Session) -> SphUnc:
        if not has_bundle(folder, MODEL):
            raise CheckpointError(f"{folder} holds no run to resume; begin one with fit(checkpoint={str(folder)!r})")
        finished = SphUnc.load(folder, device=self.device)
        if finished.config_ != session.config or finished.seed != self.seed:
            raise CheckpointError(f"{folder} holds a finished model with other settings; begin anew with checkpoint=")
        if not finished.fingerprint_:
            raise CheckpointError(
                f"{folder} holds a finished model that does not say which data it learned from; read it with "
                "SphUnc.load, or begin anew with checkpoint="
            )
        if finished.fingerprint_ != fingerprint(session.data, session.plan, session.knowledge):
            raise CheckpointError(
                f"{folder} holds a model of other data, of another split of it, or of other links told; resume with "
                "these, or begin anew with checkpoint="
            )
        vars(self).update({name: value for name, value in vars(finished).items() if name.endswith("_")})
        return self

    def _unseen_origins(self, data: TemporalHypergraph) -> list[int]:
        horizon = self.config_.horizon
        check_times(data, self.known_.last)
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
    folders = {"resume": resume, "checkpoint": checkpoint}
    given = [check_folder(name, folder) for name, folder in folders.items() if folder is not None]
    if len(set(given)) > 1:
        raise ArgumentError(f"resume is {resume} and checkpoint {checkpoint}; a run goes on in its own folder")
    return given[0] if given else None


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


def _noise(run: Run, scale: Tensor) -> Tensor:
    """Aleatoric part of every agent; several numbers are averaged in units that they share."""
    if run.noise is None:
        return run.variance[-1]
    noise = run.noise[-1]
    return noise[:, 0].double() * scale.double().square() if len(scale) == 1 else noise.mean(-1)
