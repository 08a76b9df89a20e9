"""`SphUnc`: fit, predict, score, influence, intervene, counterfactual, save, load. The estimator that users call."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import torch

from sphunc._checks import did_you_mean, seed_number, some_names, whole_number
from sphunc._typing import Float, Tensor, Whole
from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError, ArgumentTypeError, CheckpointError, DataError, NotFittedError
from sphunc.forecasting import (
    METRICS,
    Forecast,
    ProgressBar,
    StageRecord,
    TrainingSchema,
    align,
    check_callbacks,
    check_data,
    check_device,
    check_folder,
    decode_id,
    decode_schema,
    encode_id,
    encode_schema,
    has_bundle,
    mean_score,
    origin_position,
    read_bundle,
    schema_of,
    time_label,
    writable_folder,
    write_bundle,
)
from sphunc.hypergraph import Split, TemporalHypergraph, suspicions
from sphunc.interventions import (
    Contrast,
    Effect,
    EntityIndex,
    Plan,
    Simulation,
    System,
    counterfactual,
    dowhy,
    intervene,
    system_of,
)
from sphunc.model import (
    FittedModel,
    Preparation,
    PreparedData,
    SphUncConfig,
    StageStore,
    check_setting,
    comparison_frame,
    comparison_table,
    describe_fit,
    deserialise,
    fingerprint_of,
    fit_model,
    influence_graph,
    learn_preparation,
    places,
    prepare,
    serialise,
)
from sphunc.model.paper import FittedPaper, PaperConfig, TrackedIntervention, fit_paper

Device = str | torch.device
Pair = tuple[Hashable, Hashable]
Callback = Callable[[Any], None]
MODEL = "model"
SIMULATION_OPTIONS = ("origin", "origin_index", "horizon", "structures", "seed")


class SphUnc:
    """Forecasts with decomposed, calibrated uncertainty for agents that meet in groups.

    Args:
        dim: most state axes; the data choose how many are used. Or a configuration:
            ``SphUnc(SphUncConfig.paper())`` is the paper to the letter.
        horizon: steps ahead.
        seed: of every random choice; the same seed gives the same numbers on the same machine.
        device: where to compute.
        config: all settings at once, in place of single ones.
        **settings: any other setting of :class:`~sphunc.SphUncConfig`; checked in :meth:`fit`.

    Attributes:
        config_: the settings in full.
        model_: what was learned.
        schema_: agents, features and outcomes of the training data.
        dim_: state axes that are used; 0 without states.
        comparison_: nested models on held-out outcomes: class frequencies, persistence, covariates, states, links.
        verdict_: what the fit is worth, in one sentence.
        history_: records of the stages, or of the epochs of the paper's model.
        fingerprint_: digest of the training data and the settings.

    Example:
        >>> import sphunc
        >>> world = sphunc.simulate("snare", agents=40, times=6, seed=0)
        >>> model = SphUnc(seed=0).fit(world.data, verbose=False)
        >>> model.predict(world.data).probabilities.shape
        torch.Size([40, 3])
    """

    config_: SphUncConfig | PaperConfig
    model_: FittedModel | FittedPaper
    schema_: TrainingSchema
    preparation_: Preparation
    dim_: int
    comparison_: pl.DataFrame
    verdict_: str
    history_: list[Any]
    fingerprint_: str

    def __init__(
        self,
        dim: Whole | SphUncConfig | PaperConfig = 128,
        horizon: Whole = 1,
        seed: Whole = 0,
        *,
        device: Device = "cpu",
        config: SphUncConfig | PaperConfig | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(dim, SphUncConfig | PaperConfig):
            config = dim
            dim = config.dim
            horizon = config.horizon
        self.dim = dim
        self.horizon = horizon
        self.seed = seed
        self.device = device
        self.config = config
        self.set_params(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given, as given.

        Args:
            deep: for scikit-learn; makes no difference.
        """
        named = {"dim": self.dim, "horizon": self.horizon, "seed": self.seed, "device": self.device}
        others = {name: value for name, value in vars(self).items() if name in SphUncConfig.model_fields}
        return {**named, "config": self.config, **others}

    def set_params(self, **params: Any) -> SphUnc:
        """Change settings; a fitted model keeps what it learned until it is fitted again."""
        for name, value in params.items():
            if name not in ("seed", "device", "config"):
                check_setting(name)
                if self.config is not None:
                    raise ArgumentError(f"{name} is given beside config=; settings go into the configuration")
            setattr(self, name, value)
        return self

    def __getattr__(self, name: str) -> Any:
        """Return the default of a setting that was not given."""
        if name in SphUncConfig.model_fields:
            return SphUncConfig.model_fields[name].default
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(
        self,
        data: TemporalHypergraph,
        split: Split | object | None = None,
        *,
        resume: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool | None = None,
        callbacks: Sequence[Callback] = (),
        forbidden: Iterable[Pair] | None = None,
        required: Iterable[Pair] | None = None,
        track: TrackedIntervention | None = None,
    ) -> SphUnc:
        """Learn from ``data``.

        Args:
            data: agents, groups, features and outcomes.
            split: a :class:`~sphunc.hypergraph.Split`, whose test origins and all that comes after the last
                calibration target are not looked at; or the label of the last time to learn from. None uses all times.
            resume: folder of a fit that was stopped; goes on from its last stage to the result that it would have had.
            checkpoint: folder to keep every stage in, and the fitted model at the end.
            verbose: show progress and the verdict; None does so on a terminal.
            callbacks: called with a record of every stage, or of every epoch of the paper's model.
            forbidden: links (source, target) between ids that do not exist, such as ``[("a01", "a02")]``.
            required: links that exist, also between agents who never meet.
            track: the paper's model only: intervention of which H_causal is recorded after every epoch.
        """
        data = check_data("fit", data)
        config = self._config()
        seed = seed_number(self.seed)
        device = check_device(self.device)
        heard = check_callbacks(callbacks)
        data = _learnable(data, split, config.horizon)
        schema = schema_of(data)
        absent = _positions("forbidden", forbidden, data)
        present = _positions("required", required, data)
        _check_knowledge(absent, present, data)
        folder = _folder(resume, checkpoint)
        digest = fingerprint_of(data, config, seed, sorted(absent), sorted(present))
        for pair in (*data.node_ids, data.times[-1]):
            encode_id(pair)
        if track is not None and not isinstance(config, PaperConfig):
            raise ArgumentError("track= follows the epochs of the paper's model; give SphUnc(SphUncConfig.paper())")
        if isinstance(config, PaperConfig):
            if absent or present:
                raise ArgumentError("forbidden= and required= are not part of the paper's model; leave them out")
            self._fit_paper(data.to(device), config, schema, seed, verbose, heard, track)
        else:
            stages = StageStore(folder, digest)
            if resume is not None and not stages.has_any():
                return self._take_finished(folder, digest)
            if checkpoint is not None and resume is None:
                stages.clear()
            stages.begin()
            knowledge = (absent, present)
            self._fit_default(data.to(device), config, schema, seed, verbose, heard, knowledge, stages)
        self.fingerprint_ = digest
        if folder is not None:
            self.save(folder)
            StageStore(folder).clear()
        return self

    def _config(self) -> SphUncConfig | PaperConfig:
        if self.config is not None:
            if not isinstance(self.config, SphUncConfig | PaperConfig):
                raise ArgumentTypeError(
                    f"config is a {type(self.config).__name__}; give a SphUncConfig, such as SphUncConfig.paper()"
                )
            return self.config
        settings = {name: getattr(self, name) for name in SphUncConfig.model_fields}
        for name, value in settings.items():
            if isinstance(value, bool) and name != "quick":
                raise ArgumentTypeError(f"{name}={value!r} must be a number, got bool")
        return SphUncConfig(**settings)

    def _fit_default(
        self,
        data: TemporalHypergraph,
        config: SphUncConfig,
        schema: TrainingSchema,
        seed: int,
        verbose: bool | None,
        callbacks: Sequence[Callback],
        knowledge: tuple[list[tuple[int, int]], list[tuple[int, int]]],
        stages: StageStore,
    ) -> None:
        preparation = learn_preparation(data, schema)
        prepared = prepare(data, schema, preparation)
        _warn((*suspicions(data, kinds=("gaps", "codes")), *prepared.warnings))
        place = {k: position for position, k in enumerate(prepared.order.tolist())}
        absent, present = ([(place[s], place[t]) for s, t in pairs] for pairs in knowledge)
        started = time.perf_counter()
        history: list[StageRecord] = []
        with ProgressBar(verbose) as bar:

            def report(stage: str, share: float) -> None:
                record = StageRecord(stage, share, time.perf_counter() - started)
                history.append(record)
                for callback in (bar, *callbacks):
                    callback(record)

            report("regression", 0.0)
            model = fit_model(
                prepared.inputs,
                horizon=config.horizon,
                most_axes=config.dim,
                quick=config.quick,
                seed=seed,
                forbidden=absent,
                required=present,
                report=report,
                stages=stages,
            )
            report("done", 1.0)
            self._take(config, schema, preparation, model, history)
            bar.say(comparison_table(model.comparison))
            bar.say(self.verdict_)

    def _fit_paper(
        self,
        data: TemporalHypergraph,
        config: PaperConfig,
        schema: TrainingSchema,
        seed: int,
        verbose: bool | None,
        callbacks: Sequence[Callback],
        track: TrackedIntervention | None,
    ) -> None:
        preparation = learn_preparation(data, schema)
        with ProgressBar(verbose) as bar:

            def show(record: Any) -> None:
                bar(StageRecord(f"epoch {record.epoch}", (record.epoch + 1) / config.epochs, record.seconds))

            model = fit_paper(data, config, seed=seed, device=data.device, callbacks=[show, *callbacks], track=track)
        self._take(config, schema, preparation, model, list(model.history))

    def _take(
        self,
        config: SphUncConfig | PaperConfig,
        schema: TrainingSchema,
        preparation: Preparation,
        model: FittedModel | FittedPaper,
        history: list[Any],
    ) -> None:
        self.config_ = config
        self.schema_ = schema
        self.preparation_ = preparation
        self.model_ = model
        self.history_ = history
        if isinstance(model, FittedModel):
            self.dim_ = model.num_axes
            self.comparison_ = comparison_frame(model.comparison)
            self.verdict_ = describe_fit(model)
        else:
            self.dim_ = model.config.dim
            self.comparison_ = comparison_frame(())
            self.verdict_ = "the paper's model, trained by its Algorithm 1; it is the reference, not the default"

    def predict(
        self,
        data: TemporalHypergraph,
        origin: object = None,
        *,
        origin_index: Whole | None = None,
        coverage: float | None = None,
    ) -> Forecast:
        """Forecast every agent's outcome ``horizon`` steps after ``origin``.

        Args:
            data: the past; features, groups and outcomes after the origin are not looked at. Agents are matched by id,
                and may be new.
            origin: label of the time to forecast from (wave 5, a date); the last time by default.
            origin_index: or its position in ``data.times``.
            coverage: also return conformal sets (intervals, for numbers) for this coverage. It holds on average if
                what comes resembles what was held out, which time may break: ``forecast.caveat`` says what it rests on.
        """
        self._check_fitted("predict")
        data = check_data("predict", data)
        position = origin_position(data, origin, origin_index)
        past = align(data.until_index(position), self.schema_).to(check_device(self.device))
        common: dict[str, Any] = {
            "agents": past.node_ids,
            "origin": past.times[-1],
            "target": time_label(data.times, position + self.config_.horizon),
            "horizon": self.config_.horizon,
            "class_names": self.schema_.classes,
            "outcome_names": self.schema_.outcomes,
            "coverage": coverage,
        }
        if isinstance(self.model_, FittedPaper):
            forecast = _paper_forecast(self.model_, past, self.preparation_, common)
        else:
            forecast = self._default_forecast(self.model_, past, common)
        if coverage is not None:
            forecast.prediction_set(coverage)
        return forecast

    def _default_forecast(self, model: FittedModel, past: TemporalHypergraph, common: dict[str, Any]) -> Forecast:
        prepared = prepare(past, self.schema_, self.preparation_)
        _warn(prepared.warnings)
        found = model.forecast(prepared.inputs, self._places(past, prepared))
        unit = 1.0
        if self.schema_.numeric and self.schema_.outputs == 1:
            unit = float(self.preparation_.scale[0]) ** 2
        values = _outcome_values(found.distribution, self.preparation_)
        values = {name: prepared.restore(value).cpu() for name, value in values.items()}
        return Forecast(
            epistemic=prepared.restore(found.epistemic).cpu(),
            epistemic_scaled=prepared.restore(found.epistemic_scaled).cpu(),
            aleatoric=prepared.restore(found.aleatoric).cpu() * unit,
            total=prepared.restore(found.total).cpu() * unit,
            kappa=prepared.restore(found.kappa).cpu(),
            scores=model.scores.cpu(),
            held_out=model.held_out,
            tails=model.tails,
            **values,
            **common,
        )

    def _places(self, data: TemporalHypergraph, prepared: PreparedData) -> Tensor:
        return places(data.node_ids, self.schema_.agents, prepared.order)

    def predict_proba(
        self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None
    ) -> Float[Tensor, "agent class"]:
        """Return class probabilities ``[N, C]``.

        Args:
            data: the past.
            origin: label of the time to forecast from; the last time by default.
            origin_index: or its position.
        """
        probabilities = self.predict(data, origin, origin_index=origin_index).probabilities
        if probabilities is None:
            raise ArgumentError("the outcomes are numbers, which have no class probabilities; use predict")
        return probabilities

    def score(
        self, data: TemporalHypergraph, metric: str = "log_likelihood", *, origins: Iterable[object] | None = None
    ) -> float:
        """Mean score of forecasts of outcomes that fit did not see.

        Args:
            data: with outcomes after the last time of the training data.
            metric: "log_likelihood", "accuracy" (classes) or "r2" (numbers).
            origins: labels of the times to forecast from; None takes all whose target is later than the training data.
        """
        self._check_fitted("score")
        data = check_data("score", data)
        allowed = METRICS[self.schema_.numeric]
        if metric not in allowed:
            raise ArgumentError(f"metric is {metric!r}{did_you_mean(metric, allowed)}; choose {' or '.join(allowed)}")
        positions = self._later_origins(data) if origins is None else [data.time_index(o) for o in origins]
        aligned = align(data, self.schema_)
        parts = []
        for position in positions:
            target = position + self.config_.horizon
            if target >= data.num_times:
                raise ArgumentError(f"origins has {data.times[position]!r}, but its outcome is not in the data")
            forecast = self.predict(data, origin_index=position)
            assert aligned.y is not None
            parts.append((forecast, aligned.y[target].cpu(), aligned.y_mask[target].cpu()))
        return mean_score(parts, metric)

    def _later_origins(self, data: TemporalHypergraph) -> list[int]:
        horizon = self.config_.horizon
        last = self.schema_.last
        try:
            later = [o for o in range(data.num_times - horizon) if data.times[o + horizon] > last]
        except TypeError:
            raise DataError(
                f"data has times such as {data.times[-1]!r}, but fit saw times up to {last!r}, so that none can be "
                "told to be later; give times of the same kind, or name origins="
            ) from None
        if not later:
            raise ArgumentError(
                f"data has no outcome later than {last}, the last time that fit saw; give later data, or name "
                "origins= and bear in mind that the model learned from their outcomes"
            )
        return later

    def influence(self) -> InfluenceGraph:
        """Return who influences whom, as learned in :meth:`fit`."""
        self._check_fitted("influence")
        return influence_graph(self.model_, self.schema_.agents)

    def intervene(
        self,
        *interventions: Any,
        data: TemporalHypergraph | None = None,
        origin: object = None,
        origin_index: Whole | None = None,
        horizon: Whole | None = None,
        samples: Whole | None = None,
        structures: Whole | None = None,
        seed: Whole = 0,
    ) -> Effect:
        """Simulate what interventions do to every agent's outcome.

        States and outcomes are drawn forward with and without the interventions under the same random numbers;
        structures and coefficients are drawn from their posteriors.

        Args:
            *interventions: what is changed; see :class:`~sphunc.Do` and its relatives. None gives the forecast.
            data: the past, as for :meth:`predict`.
            origin: label of the time to start from; the last time by default.
            origin_index: or its position.
            horizon: steps to simulate; that of the model by default.
            samples: Monte Carlo samples; the setting by default.
            structures: drawn from the posterior; chosen by the number of samples by default.
            seed: of noise, structures and coefficients.

        Example:
            >>> import sphunc
            >>> world = sphunc.simulate("snare", agents=40, times=6, seed=0)
            >>> model = sphunc.SphUnc(seed=0).fit(world.data, verbose=False)
            >>> first, name = world.data.node_ids[0], world.data.class_names[0]
            >>> effect = model.intervene(sphunc.Do(first, toward=name), data=world.data, horizon=2)
            >>> bool((effect.within + effect.identification == effect.entropy).all())
            True
        """
        system, simulation = self._question("intervene", data, origin, origin_index, horizon, samples, structures, seed)
        return intervene(system, Plan(interventions), simulation)

    def counterfactual(
        self,
        *interventions: Any,
        data: TemporalHypergraph | None = None,
        origin: object = None,
        origin_index: Whole | None = None,
        horizon: Whole | None = None,
        samples: Whole | None = None,
        structures: Whole | None = None,
        seed: Whole = 0,
    ) -> Effect:
        """Tell what would have happened: abduct from all of ``data``, act, and replay.

        Arguments as for :meth:`intervene`, but ``data`` reaches beyond the origin, by default the last time but
        ``horizon``. ``result.coupling`` names what is held fixed. With nothing observed after the origin the answer is
        that of :meth:`intervene`.

        Args:
            *interventions: what is changed.
            data: what happened.
            origin: label of the time to start from.
            origin_index: or its position.
            horizon: steps to replay; that of the model by default.
            samples: Monte Carlo samples; the setting by default.
            structures: drawn from the posterior.
            seed: of what is not abducted.
        """
        asked = "counterfactual"
        system, simulation = self._question(asked, data, origin, origin_index, horizon, samples, structures, seed)
        return counterfactual(system, Plan(interventions), simulation)

    def sweep(
        self,
        agent: Hashable,
        toward: Any = None,
        angles: Sequence[float] = dowhy.ANGLES,
        *,
        observed: Any = None,
        data: TemporalHypergraph | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """H_causal against the strength of an intervention: an agent's state is turned by each of the angles.

        Args:
            agent: who is turned.
            toward: a class, an agent or a unit vector.
            angles: radians.
            observed: in place of ``toward``, an agent or a time as in :class:`~sphunc.Do`.
            data: the past.
            **options: of :meth:`intervene`.
        """
        dowhy.dowhy_options("sweep", options, (*SIMULATION_OPTIONS, "samples"))
        ask, _ = self._asker("sweep", data, **options)
        return dowhy.sweep(ask, agent, toward, angles, observed=observed)

    def effect(
        self,
        target_node: Hashable,
        interventions_alternative: Any,
        interventions_reference: Any = (),
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> Contrast:
        """Compare two interventions in one agent's outcome, under the same random numbers; names as in ``dowhy.gcm``.

        Args:
            target_node: the agent.
            interventions_alternative: interventions, or a mapping from agents to what their state is set to.
            interventions_reference: the same; nothing by default.
            observed_data: the past.
            num_samples_to_draw: Monte Carlo samples.
            **options: origin, horizon, structures and seed of :meth:`intervene`.
        """
        dowhy.dowhy_options("effect", options, SIMULATION_OPTIONS)
        ask, entities = self._asker("effect", observed_data, samples=num_samples_to_draw, **options)
        arms = (interventions_alternative, interventions_reference)
        return dowhy.effect(ask, target_node, *arms, entities)

    def average_causal_effect(
        self,
        target_node: Hashable,
        interventions_alternative: Any,
        interventions_reference: Any = (),
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> dict[str, float]:
        """Return the difference that :meth:`effect` finds, by class or number.

        Args:
            target_node: the agent.
            interventions_alternative: interventions, or a mapping from agents to states.
            interventions_reference: the same; nothing by default.
            observed_data: the past.
            num_samples_to_draw: Monte Carlo samples.
            **options: of :meth:`intervene`.
        """
        dowhy.dowhy_options("average_causal_effect", options, SIMULATION_OPTIONS)
        ask, entities = self._asker("average_causal_effect", observed_data, samples=num_samples_to_draw, **options)
        arms = (interventions_alternative, interventions_reference)
        return dowhy.average_causal_effect(ask, target_node, *arms, entities)

    def interventional_samples(
        self,
        interventions: Any,
        observed_data: TemporalHypergraph | None = None,
        num_samples_to_draw: Whole | None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Draw outcomes at the target after interventions: one row per sample, one column per agent.

        Args:
            interventions: interventions, or a mapping from agents to states.
            observed_data: the past.
            num_samples_to_draw: Monte Carlo samples.
            **options: of :meth:`intervene`.
        """
        dowhy.dowhy_options("interventional_samples", options, SIMULATION_OPTIONS)
        ask, entities = self._asker("interventional_samples", observed_data, samples=num_samples_to_draw, **options)
        return dowhy.interventional_samples(ask, interventions, entities)

    def counterfactual_samples(
        self,
        interventions: Any,
        observed_data: TemporalHypergraph | None = None,
        noise_data: None = None,
        **options: Any,
    ) -> pl.DataFrame:
        """Draw counterfactual outcomes at the target; noise is always abducted from ``observed_data``.

        Args:
            interventions: interventions, or a mapping from agents to states.
            observed_data: what happened.
            noise_data: has a place in dowhy only.
            **options: of :meth:`counterfactual`.
        """
        dowhy.dowhy_options("counterfactual_samples", options, (*SIMULATION_OPTIONS, "samples"))
        ask, entities = self._asker("counterfactual_samples", observed_data, **options)
        return dowhy.counterfactual_samples(ask, interventions, entities, noise_data=noise_data)

    def _asker(
        self, asked: str, data: TemporalHypergraph | None, **options: Any
    ) -> tuple[Callable[[Plan], Effect], EntityIndex]:
        """Return a function that answers plans from one origin, and what they may name; beliefs are made once."""
        system, simulation = self._question(asked, data, **options)
        answer = counterfactual if _is_counterfactual(asked) else intervene
        return lambda plan: answer(system, plan, simulation), system.entities

    def _question(
        self,
        asked: str,
        data: TemporalHypergraph | None,
        origin: object = None,
        origin_index: Whole | None = None,
        horizon: Whole | None = None,
        samples: Whole | None = None,
        structures: Whole | None = None,
        seed: Whole = 0,
    ) -> tuple[System, Simulation]:
        """Model and data to ask, and how to simulate; everything is checked before any work."""
        self._check_fitted(asked)
        data = check_data(asked, data)
        if isinstance(self.model_, FittedPaper):
            raise ArgumentError(
                f"{asked} is answered by the default model; the paper's model records H_causal with fit(track=...)"
            )
        with_future = _is_counterfactual(asked)
        steps = _or_setting("horizon", horizon, self.config_.horizon)
        drawn = None
        if structures is not None:
            drawn = whole_number("structures", structures, least=1)
        simulation = Simulation(steps, _or_setting("samples", samples, self.config_.samples), drawn, seed_number(seed))
        if origin is None and origin_index is None and with_future:
            origin_index = max(0, data.num_times - 1 - steps)
        position = origin_position(data, origin, origin_index)
        end = position
        if with_future:
            end = min(data.num_times - 1, position + steps)
        known = align(data.until_index(end), self.schema_).to(check_device(self.device))
        return system_of(self.model_, known, self.schema_, self.preparation_, position), simulation

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors, replaced as one."""
        self._check_fitted("save")
        path = writable_folder("folder", folder)
        tensors: dict[str, Tensor] = {}
        document: dict[str, Any] = {
            "config": {"kind": type(self.config_).__name__, "settings": self.config_.model_dump()},
            "seed": seed_number(self.seed),
            "fingerprint": self.fingerprint_,
            "schema": encode_schema(self.schema_),
            "preparation": serialise(self.preparation_, "preparation", tensors),
            "history": [asdict(record) for record in self.history_],
        }
        if isinstance(self.model_, FittedPaper):
            document["paper"], own = self.model_.to_tensors()
            document["paper"]["agents"] = [encode_id(agent) for agent in self.model_.agents]
            tensors |= {f"paper.{name}": value for name, value in own.items()}
        else:
            document["model"] = serialise(self.model_, "model", tensors)
        write_bundle(path, MODEL, document, tensors)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: Device = "cpu") -> SphUnc:
        """Read a model that :meth:`save` wrote.

        Args:
            folder: where it is.
            device: where to compute.
        """
        place = check_device(device)
        path = check_folder("folder", folder)
        document, found = read_bundle(path, MODEL)
        tensors = {name: value.to(place) for name, value in found.items()}
        try:
            kinds = {"SphUncConfig": SphUncConfig, "PaperConfig": PaperConfig}
            config = kinds[document["config"]["kind"]](**document["config"]["settings"])
            schema = decode_schema(document["schema"])
            preparation: Any = deserialise(document["preparation"], found)
            if "paper" in document:
                paper = dict(document["paper"])
                paper["agents"] = [decode_id(agent) for agent in paper["agents"]]
                own = {k.removeprefix("paper."): v for k, v in tensors.items() if k.startswith("paper.")}
                fitted: Any = FittedPaper.from_tensors(paper, own)
                history = list(fitted.history)
            else:
                fitted = deserialise(document["model"], tensors)
                history = [StageRecord(**record) for record in document["history"]]
            given: dict[str, Any] = {"dim": config}
            if isinstance(config, SphUncConfig):
                given = config.model_dump(exclude_defaults=True)
            model = cls(seed=document["seed"], device=device, **given)
            model.fingerprint_ = document["fingerprint"]
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{path} does not hold a model of this version ({error}); fit again") from None
        model._take(config, schema, preparation, fitted, history)
        return model

    def _take_finished(self, folder: Path | None, digest: str) -> SphUnc:
        assert folder is not None
        if not has_bundle(folder, MODEL):
            raise CheckpointError(f"{folder} holds no fit to resume; begin one with fit(checkpoint={str(folder)!r})")
        finished = SphUnc.load(folder, device=self.device)
        if finished.fingerprint_ != digest:
            raise CheckpointError(
                f"{folder} holds a finished model of other data or settings; resume with these, or begin anew with "
                "checkpoint="
            )
        vars(self).update({name: value for name, value in vars(finished).items() if name.endswith("_")})
        return self

    def _check_fitted(self, asked: str) -> None:
        if "model_" not in vars(self):
            raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or SphUnc.load(folder), first")

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if name != "device" and value is not None}
        return f"SphUnc({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _is_counterfactual(asked: str) -> bool:
    return asked.startswith("counterfactual")


def _or_setting(name: str, value: Whole | None, setting: int) -> int:
    if value is None:
        return setting
    return whole_number(name, value, least=1)


def _learnable(data: TemporalHypergraph, split: object, horizon: int) -> TemporalHypergraph:
    """Times to learn from; refused where no outcome follows anything that was known."""
    if isinstance(split, Split):
        data = data.until_index(min(data.num_times - 1, split.targets("calibration")[-1]))
    elif split is not None:
        data = data.until(split)
    if data.num_times <= horizon:
        raise DataError(
            f"{data.num_times} {'time is' if data.num_times == 1 else 'times are'} too few to learn what happens "
            f"{horizon} later; give at least {horizon + 1} times"
        )
    seen = (data.x_mask.any(-1) | data.y_mask).cumsum(0) > 0
    if data.y is not None and not bool((seen[:-horizon] & data.y_mask[horizon:]).any()):
        raise DataError(f"no outcome is observed {horizon} after anything else of its agent; give more outcomes")
    return data


def _positions(name: str, pairs: Iterable[Pair] | None, data: TemporalHypergraph) -> list[tuple[int, int]]:
    """Positions of links that were given by ids."""
    if pairs is None:
        return []
    place = {agent: k for k, agent in enumerate(data.node_ids)}
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentTypeError(f"{name} has {pair!r}; give pairs (source, target) of ids")
        for agent in pair:
            if agent not in place:
                raise ArgumentError(
                    f"{name} names {agent!r}, who is not in the data; its agents are {some_names(data.node_ids)}"
                )
        source, target = pair
        if source == target:
            raise ArgumentError(f"{name} has a link of {source!r} with itself; leave it out")
        found.append((place[source], place[target]))
    return found


def _check_knowledge(absent: list[tuple[int, int]], present: list[tuple[int, int]], data: TemporalHypergraph) -> None:
    both = set(absent) & set(present)
    if both:
        source, target = sorted(both)[0]
        raise ArgumentError(
            f"the link of {data.node_ids[source]!r} on {data.node_ids[target]!r} is both forbidden and required; "
            "choose one"
        )


def _folder(resume: str | os.PathLike[str] | None, checkpoint: str | os.PathLike[str] | None) -> Path | None:
    if resume is not None and checkpoint is not None and Path(resume) != Path(checkpoint):
        raise ArgumentError(f"resume is {resume} and checkpoint {checkpoint}; a fit goes on in its own folder")
    if resume is not None:
        return check_folder("resume", resume)
    if checkpoint is not None:
        return writable_folder("checkpoint", checkpoint)
    return None


def _warn(sentences: Sequence[str]) -> None:
    if sentences:
        warnings.warn("; ".join(sentences), UserWarning, stacklevel=4)


def _outcome_values(distribution: Any, preparation: Preparation) -> dict[str, Tensor]:
    """Probabilities, or mean and variance in the unit of the data."""
    if hasattr(distribution, "probabilities"):
        return {"probabilities": distribution.probabilities}
    centre = preparation.centre.to(distribution.mean)
    scale = preparation.scale.to(distribution.mean)
    return {"mean": distribution.mean * scale + centre, "variance": distribution.variance * scale.square()}


def _paper_forecast(
    model: FittedPaper, past: TemporalHypergraph, preparation: Preparation, common: dict[str, Any]
) -> Forecast:
    found = model.forecast(past)
    values: dict[str, Any] = {}
    if found.log_probabilities is not None:
        values["probabilities"] = found.log_probabilities.exp().cpu()
    else:
        assert found.mean is not None
        assert found.variance is not None
        values["mean"] = found.mean.cpu()
        values["variance"] = found.variance.cpu()
    return Forecast(
        epistemic=found.epistemic.cpu(),
        epistemic_scaled=found.epistemic_scaled.cpu(),
        aleatoric=found.aleatoric.cpu(),
        total=found.total.cpu(),
        kappa=found.kappa.cpu(),
        scores=torch.zeros(0),
        held_out="nothing",
        **values,
        **common,
    )
