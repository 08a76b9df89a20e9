"""`Peer`: a spatial part in the shared wrapper and the shared trainer, as an estimator like `SphUnc`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Whole
from sphunc.baselines.forecaster import PeerForecast, peer_forecast
from sphunc.baselines.holdout import holdout_scheme
from sphunc.baselines.influence import InfluenceScores
from sphunc.baselines.network import ForecastNetwork, SpatialEncoder, TemporalNetwork
from sphunc.baselines.panel import Scale, inputs_of, make_panel
from sphunc.baselines.saving import Saved, load_weights, read_peer, write_peer
from sphunc.baselines.settings import Count, Share, check_params, check_values
from sphunc.baselines.temperature import Temperature
from sphunc.baselines.trainer import Trained, Training, train
from sphunc.errors import DataError, NotFittedError
from sphunc.forecasting.arguments import check_data, check_device, origin_position
from sphunc.forecasting.distribution import Categorical
from sphunc.forecasting.schema import TrainingSchema, align, schema_of
from sphunc.hypergraph import Split, TemporalHypergraph, comembers


@dataclass(frozen=True)
class PeerSettings(Training):
    """Settings of the wrapper, on top of those of the trainer; a peer adds its own in a subclass.

    Attributes:
        width: units of the spatial part.
        hidden: units of the memory.
        dropout: share dropped while training.
    """

    width: Count = 64
    hidden: Count = 64
    dropout: Share = 0.3


class Peer(ABC):
    """A published system behind the interface of :class:`~sphunc.baselines.Forecaster`.

    A leaf names its settings and its search space and makes its spatial part; all else is shared. A leaf whose spatial
    part scores links derives from :class:`InfluencePeer`.

    Args:
        horizon: steps ahead.
        seed: of every random choice.
        device: where to compute.
        **settings: any setting of the leaf's ``Settings``; one out of its range is refused here.

    Attributes:
        network_: the trained network.
        temperature_: calibration of confidence.
        influence_: native scores of the candidate links, or None.
        validation_: NLL of held-out outcomes in the best epoch, before any refit.
        epochs_: epochs that the network was trained for.
        schema_: agents, features and classes of the training data.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[PeerSettings]] = PeerSettings
    search: ClassVar[Mapping[str, Sequence[Any]]]
    needs_features: ClassVar[bool] = False

    network_: ForecastNetwork
    scale_: Scale
    temperature_: Temperature
    influence_: InfluenceScores | None
    validation_: float
    epochs_: int
    schema_: TrainingSchema

    def __init__(
        self, *, horizon: Whole = 1, seed: Whole = 0, device: str | torch.device = "cpu", **settings: Any
    ) -> None:
        self.horizon = whole_number("horizon", horizon, least=1)
        self.seed = seed_number(seed)
        self.device = device
        check_params(type(self).__name__, settings, [f.name for f in fields(self.Settings)])
        self._given = check_values(self.Settings, settings)
        self.settings = self.Settings(**self._given)

    @abstractmethod
    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make the untrained spatial part for P inputs, of which the first F are the standardised features."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given."""
        return {"horizon": self.horizon, "seed": self.seed, "device": self.device, **self._given}

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> Peer:
        """Learn from ``data``, on the origins that SphUnc would use.

        Args:
            data: agents, groups, features and outcomes (classes).
            split: origins to train, validate and calibrate on; None uses all times.
            verbose: taken because every forecaster takes it; a peer fits within seconds and shows nothing.
        """
        data = check_data("fit", data)
        device = check_device(self.device)
        schema = schema_of(data)
        if schema.numeric:
            raise DataError(f"{type(self).__name__} forecasts classes, but data has numbers; bin them, or use SphUnc")
        if self.needs_features and not data.num_features:
            raise DataError(
                f"data has no features, from which {type(self).__name__} tells agents apart; give the features table "
                "at least one column of numbers beside time and agent"
            )
        scheme = holdout_scheme(data, self.horizon, split)
        window = data.until_index(scheme.stop - 1).to(device)
        trained = train(window, scheme, partial(self._network, schema), self.settings, self.seed)
        self._take(schema_of(window), trained)
        self.influence_ = self._native_influence(window)
        return self

    @torch.no_grad()
    def predict(
        self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None
    ) -> PeerForecast:
        """Forecast every agent's outcome ``horizon`` steps after ``origin``; agents may be new.

        Args:
            data: the past; nothing after the origin is looked at.
            origin: label of the time to forecast from (wave 5, a date); the last time by default.
            origin_index: or its position in ``data.times``.
        """
        self._check_fitted("predict")
        data = check_data("predict", data)
        position = origin_position(data, origin, origin_index)
        past = align(data.until_index(position), self.schema_).to(self.device)
        run = self.network_(make_panel(past, self.scale_, self.schema_.outputs))
        forecast = self.temperature_.apply(Categorical(run.log_probabilities[-1]))
        return peer_forecast(data, position, self.horizon, self.schema_.classes, forecast.probabilities)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors."""
        self._check_fitted("save")
        params = {**self.get_params(), "device": str(self.device)}
        summary = {"temperature": asdict(self.temperature_), "epochs": self.epochs_, "validation": self.validation_}
        tensors = {"mean": self.scale_.mean, "deviation": self.scale_.deviation}
        weights = dict(self.network_.state_dict())
        write_peer(Path(folder), self.name, Saved(params, self.schema_, summary, weights, tensors, self.influence_))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> Peer:
        """Read a model that :meth:`save` wrote."""
        saved = read_peer(Path(folder), cls.name)
        model = cls(**{**saved.params, "device": device})
        network = model._network(saved.schema, torch.Generator()).to(device).eval()
        load_weights(network, saved.weights)
        scale = Scale(saved.tensors["mean"].to(device), saved.tensors["deviation"].to(device))
        summary = saved.summary
        temperature = Temperature(**summary["temperature"])
        trained = Trained(network, temperature, scale, summary["epochs"], summary["validation"])
        model._take(saved.schema, trained)
        model.influence_ = saved.influence
        return model

    def make_network(
        self, spatial: SpatialEncoder, num_inputs: int, num_classes: int, generator: torch.Generator
    ) -> ForecastNetwork:
        """Put the spatial part into the shared wrapper over time."""
        hidden, dropout = self.settings.hidden, self.settings.dropout
        return TemporalNetwork(spatial, num_inputs, num_classes, hidden=hidden, dropout=dropout, generator=generator)

    def _network(self, schema: TrainingSchema, generator: torch.Generator) -> ForecastNetwork:
        num_inputs = inputs_of(len(schema.features), schema.outputs)
        spatial = self.make_spatial(num_inputs, len(schema.features), generator)
        return self.make_network(spatial, num_inputs, schema.outputs, generator)

    def _take(self, schema: TrainingSchema, trained: Trained) -> None:
        self.schema_ = schema
        self.network_ = trained.network
        self.scale_ = trained.scale
        self.temperature_ = trained.temperature
        self.epochs_ = trained.epochs
        self.validation_ = trained.validation

    @torch.no_grad()
    def _native_influence(self, window: TemporalHypergraph) -> InfluenceScores | None:
        candidates = comembers(window)
        spatial = self.network_.spatial
        score = spatial.influence(make_panel(window, self.scale_, self.schema_.outputs), candidates)
        if score is None:
            return None
        kind = spatial.influence_kind
        return InfluenceScores(candidates.cpu(), score.cpu(), window.node_ids, kind, spatial.directed)

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or {type(self).__name__}.load(folder)")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if name != "device")
        return f"{type(self).__name__}({given})"


class InfluencePeer(Peer):
    """A peer whose spatial part scores links in a way of its own."""

    def influence(self) -> InfluenceScores:
        """Return the native scores of all co-members up to the end of training."""
        self._check_fitted("influence")
        assert self.influence_ is not None
        return self.influence_
