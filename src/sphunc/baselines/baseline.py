"""`Baseline`: an estimator like `SphUnc`; `NetworkBaseline`: one that is trained by gradient."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor

from sphunc._checks import did_you_mean, seed_number, whole_number
from sphunc._typing import Links, Whole
from sphunc.baselines.forecaster import BaselineForecast, DecomposedForecast
from sphunc.baselines.holdout import HoldoutScheme, check_outcomes, holdout_scheme
from sphunc.baselines.influence import InfluenceScores
from sphunc.baselines.panel import Statistics, count_inputs, make_panel
from sphunc.baselines.settings import NetworkSettings, SearchSpace, Settings, make_settings
from sphunc.baselines.temperature import HeldOut, Temperature
from sphunc.baselines.temporal import (
    ForecastNetwork,
    LinkScores,
    SpatialEncoder,
    TemporalNetwork,
    load_weights,
)
from sphunc.baselines.training import TrainedNetwork, train_network
from sphunc.errors import ArgumentError, CheckpointError, DataError, NotFittedError
from sphunc.forecasting import (
    Categorical,
    TrainingSchema,
    align,
    check_data,
    check_device,
    decode_schema,
    encode_schema,
    origin_position,
    read_bundle,
    schema_of,
    time_label,
    write_bundle,
)
from sphunc.hypergraph import Split, TemporalHypergraph, comembers

BUNDLE = "baseline"
"""Name of the files of a saved baseline."""
WEIGHTS = "weights."
"""Prefix of the names of a network's tensors in these files."""
Document = dict[str, Any]
"""Numbers and words of a saved baseline, as JSON."""
Tensors = dict[str, Tensor]


class Baseline(ABC):
    """A system behind the interface of :class:`~sphunc.baselines.Forecaster`.

    A leaf names itself and its settings, and defines how it learns, how it forecasts, and what of
    it is saved. The rest is shared: checks, hold-out scheme, names of agents and times, files.

    Args:
        horizon: steps ahead.
        seed: of every random choice.
        device: where to compute.
        **settings: any setting of the leaf's ``Settings``; one out of its range is refused here.

    Attributes:
        schema_: agents, features and classes of the training data.
        validation_: NLL of held-out outcomes, before any refit.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    search: ClassVar[SearchSpace] = MappingProxyType({})
    needs_features: ClassVar[bool] = False

    schema_: TrainingSchema
    validation_: float

    def __init__(
        self, *, horizon: Whole = 1, seed: Whole = 0, device: str | torch.device = "cpu", **settings: object
    ) -> None:
        self.horizon = whole_number("horizon", horizon, least=1)
        self.seed = seed_number(seed)
        self.device = device
        self._check_names(settings)
        self._given = tuple(settings)
        self.settings = make_settings(self.Settings, settings)

    @abstractmethod
    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        """Learn from ``data``, all of which may be read, on the origins of the scheme."""

    @abstractmethod
    def _forecast(self, past: TemporalHypergraph) -> Mapping[str, Tensor]:
        """Probabilities ``horizon`` steps after the last time of ``past``, and the parts of their uncertainty, if any.

        Under the names of the fields of :class:`BaselineForecast` or :class:`DecomposedForecast`.
        """

    @abstractmethod
    def _state(self) -> tuple[Document, Tensors]:
        """Return what was learned, to be saved."""

    @abstractmethod
    def _restore(self, document: Document, tensors: Tensors) -> None:
        """Take what :meth:`_state` returned; ``schema_`` is there already."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return all that the constructor was given."""
        given = {name: getattr(self.settings, name) for name in self._given}
        return {"horizon": self.horizon, "seed": self.seed, "device": self.device, **given}

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> Baseline:
        """Learn from ``data``, on the origins that the hold-out scheme gives.

        Args:
            data: agents, groups, features and outcomes (classes).
            split: origins to train, validate and calibrate on; None uses all times.
            verbose: taken because every forecaster takes it; baselines show no progress.
        """
        data = check_data("fit", data)
        device = check_device(self.device)
        self._check_learnable(data)
        scheme = holdout_scheme(data, self.horizon, split)
        readable = data.until_index(scheme.stop - 1).to(device)
        check_outcomes(readable, scheme)
        schema = schema_of(readable)
        self._learn(readable, scheme, schema)
        self.schema_ = schema
        return self

    @torch.no_grad()
    def predict(
        self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None
    ) -> BaselineForecast:
        """Forecast every agent's outcome ``horizon`` steps after the origin; agents may be new.

        Args:
            data: the past; nothing after the origin is read.
            origin: label of the time to forecast from (wave 5, a date); the last time by default.
            origin_index: or its position in ``data.times``.
        """
        self._check_fitted("predict")
        data = check_data("predict", data)
        position = origin_position(data, origin, origin_index)
        past = align(data.until_index(position), self.schema_).to(self.device)
        found = {name: value.cpu() for name, value in self._forecast(past).items()}
        kind = BaselineForecast
        if "epistemic" in found:
            kind = DecomposedForecast
        return kind(
            agents=data.node_ids,
            origin=data.times[position],
            target=time_label(data.times, position + self.horizon),
            horizon=self.horizon,
            class_names=self.schema_.classes,
            **found,
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors, no pickle."""
        self._check_fitted("save")
        learned, tensors = self._state()
        document = {
            "baseline": self.name,
            "params": {**self.get_params(), "device": str(self.device)},
            "schema": encode_schema(self.schema_),
            "validation": self.validation_,
            "learned": learned,
        }
        write_bundle(Path(folder), BUNDLE, document, tensors)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> Baseline:
        """Read a model that :meth:`save` wrote.

        Args:
            folder: where it is.
            device: where to compute.
        """
        document, tensors = read_bundle(Path(folder), BUNDLE)
        if document.get("baseline") != cls.name:
            found = document.get("baseline")
            raise CheckpointError(f"{folder} holds the baseline {found!r}, not {cls.name!r}; use load_forecaster")
        model = cls(**{**document["params"], "device": device})
        model.schema_ = decode_schema(document["schema"])
        model.validation_ = document["validation"]
        model._restore(document["learned"], {name: value.to(device) for name, value in tensors.items()})
        return model

    def _check_names(self, given: Mapping[str, object]) -> None:
        allowed = ["horizon", "seed", "device", *self.Settings.model_fields]
        unknown = [
            f"{name!r} is not a setting of {type(self).__name__}{did_you_mean(name, allowed)}"
            for name in given
            if name not in allowed
        ]
        if unknown:
            raise ArgumentError(f"{'; '.join(unknown)}; allowed: {', '.join(allowed)}")

    def _check_learnable(self, data: TemporalHypergraph) -> None:
        kind = type(self).__name__
        if schema_of(data).numeric:
            raise DataError(f"{kind} forecasts classes, but data has numbers; bin them, or use SphUnc")
        if self.needs_features and not data.num_features:
            raise DataError(
                f"data has no features, which {kind} needs; give the features table at least one "
                "column of numbers next to time and agent"
            )

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "schema_"):
            kind = type(self).__name__
            raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or {kind}.load(folder)")

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if name != "device"]
        return f"{type(self).__name__}({', '.join(given)})"


class CalibratedBaseline(Baseline):
    """A baseline whose confidence is calibrated on outcomes that it had not learned from.

    Attributes:
        temperature_: calibration of confidence.
        held_out_: what it was fitted to; None in a model that was loaded.
    """

    temperature_: Temperature
    held_out_: HeldOut | None = None

    @abstractmethod
    def uncalibrated(self, past: TemporalHypergraph) -> tuple[Categorical, Mapping[str, Tensor]]:
        """Forecast before the temperature, and the parts of its uncertainty by name, if any.

        Args:
            past: aligned with the training data; forecast from its last time.
        """

    def _forecast(self, past: TemporalHypergraph) -> Mapping[str, Tensor]:
        forecast, parts = self.uncalibrated(past)
        return {"probabilities": self.temperature_.apply(forecast).probabilities, **parts}


class NetworkBaseline(CalibratedBaseline):
    """A spatial encoder in the shared network over time, trained by gradient.

    A leaf names its settings, its encoder and its search space. One whose encoder scores links
    derives from :class:`InfluenceBaseline`.

    Attributes:
        network_: the trained network.
        statistics_: mean and deviation of each feature.
        epochs_: epochs that the network was trained for.
        influence_: native scores of the candidate links, or None.
    """

    Settings = NetworkSettings
    Encoder: ClassVar[type[SpatialEncoder]]
    settings: NetworkSettings

    network_: ForecastNetwork
    statistics_: Statistics
    epochs_: int
    influence_: InfluenceScores | None

    def make_network(self, num_features: int, num_classes: int, generator: Generator) -> ForecastNetwork:
        """Make the untrained network.

        Args:
            num_features: F.
            num_classes: C.
            generator: source of the initial weights.
        """
        num_inputs = count_inputs(num_features, num_classes)
        spatial = self.Encoder(num_inputs, num_features, self.settings, generator)
        return TemporalNetwork(spatial, num_inputs, num_classes, self.settings, generator)

    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        def make(generator: Generator) -> ForecastNetwork:
            return self.make_network(len(schema.features), schema.outputs, generator)

        trained = train_network(data, scheme, make, self.settings, self.seed)
        self.validation_ = trained.validation
        self._take(trained)
        self.influence_ = self._native_influence(data)

    def uncalibrated(
        self, past: TemporalHypergraph, generator: Generator | None = None
    ) -> tuple[Categorical, Mapping[str, Tensor]]:
        """Forecast before the temperature, and the parts of its uncertainty by name, if any.

        Args:
            past: aligned with the training data; forecast from its last time.
            generator: of dropout; None drops nothing.
        """
        panel = make_panel(past, self.statistics_, self.schema_.outputs)
        log_probabilities, encoding = self.network_(panel, generator)
        parts = self.network_.uncertainty(encoding)
        return Categorical(log_probabilities[-1]), parts

    def _take(self, trained: TrainedNetwork) -> None:
        self.network_ = trained.network
        self.statistics_ = trained.statistics
        self.temperature_ = trained.temperature
        self.epochs_ = trained.epochs
        self.held_out_ = trained.held_out

    @torch.no_grad()
    def _native_influence(self, data: TemporalHypergraph) -> InfluenceScores | None:
        candidates = comembers(data)
        panel = make_panel(data, self.statistics_, data.num_classes)
        score = self.network_.spatial.influence(panel, candidates)
        if score is None:
            return None
        return self._named_scores(candidates, score, data.node_ids)

    def _named_scores(self, links: Links, score: LinkScores, agents: tuple[Hashable, ...]) -> InfluenceScores:
        spatial = self.network_.spatial
        return InfluenceScores(links.cpu(), score.cpu(), agents, spatial.influence_kind, spatial.directed)

    def _state(self) -> tuple[Document, Tensors]:
        mean, deviation = self.statistics_
        tensors = {WEIGHTS + name: value for name, value in self.network_.state_dict().items()}
        tensors |= {"mean": mean, "deviation": deviation}
        if self.influence_ is not None:
            tensors |= {"links": self.influence_.links, "score": self.influence_.score}
        return {"temperature": asdict(self.temperature_), "epochs": self.epochs_}, tensors

    def _restore(self, document: Document, tensors: Tensors) -> None:
        network = self.make_network(len(self.schema_.features), self.schema_.outputs, Generator())
        prefixed = [name for name in tensors if name.startswith(WEIGHTS)]
        weights = {name.removeprefix(WEIGHTS): tensors[name] for name in prefixed}
        load_weights(network.to(self.device).eval(), weights)
        statistics = (tensors["mean"], tensors["deviation"])
        temperature = Temperature(**document["temperature"])
        self._take(TrainedNetwork(network, statistics, temperature, document["epochs"], self.validation_))
        self.influence_ = None
        if "links" in tensors:
            self.influence_ = self._named_scores(tensors["links"], tensors["score"], self.schema_.agents)


class InfluenceBaseline(NetworkBaseline):
    """A baseline whose encoder scores links in a way of its own."""

    def influence(self) -> InfluenceScores:
        """Return the native scores of all co-members up to the last time of training."""
        self._check_fitted("influence")
        assert self.influence_ is not None
        return self.influence_
