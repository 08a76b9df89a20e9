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

from sphunc._typing import Whole
from sphunc.baselines.forecaster import PeerForecast, peer_forecast
from sphunc.baselines.influence import InfluenceScores
from sphunc.baselines.network import ForecastNetwork, SpatialEncoder, TemporalNetwork
from sphunc.baselines.panel import Scale, inputs_of, make_panel
from sphunc.baselines.saving import Saved, read_peer, write_peer
from sphunc.baselines.settings import Count, Share, check_params, check_values
from sphunc.baselines.trainer import Trained, Training, outlook_of, train
from sphunc.causal.counts import seed_number, whole_number
from sphunc.errors import DataError, NotFittedError
from sphunc.hypergraph import Split, TemporalHypergraph, comembers
from sphunc.legacy.alignment import Known, align, check_features, known_of
from sphunc.legacy.calibration import TemperatureLaw
from sphunc.legacy.inputs import check_data, check_device, check_origin
from sphunc.legacy.plan import make_plan
from sphunc.legacy.weights import load_weights


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
        validation_: NLL of held-out outcomes in the best pass, before any refit.
        epochs_: passes that the network was trained for.
        known_: agents, features and classes of the training data.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[PeerSettings]] = PeerSettings
    search: ClassVar[Mapping[str, Sequence[Any]]]
    needs_features: ClassVar[bool] = False

    network_: ForecastNetwork
    scale_: Scale
    temperature_: TemperatureLaw
    influence_: InfluenceScores | None
    validation_: float
    epochs_: int
    known_: Known

    def __init__(
        self, *, horizon: Whole = 1, seed: Whole = 0, device: str | torch.device = "cpu", **settings: Any
    ) -> None:
        self.horizon, self.seed, self.device = whole_number("horizon", horizon, least=1), seed_number(seed), device
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
        data, device = check_data("fit", data), check_device(self.device)
        known = known_of(data)
        if known.numeric:
            raise DataError(f"{type(self).__name__} forecasts classes, but data has numbers; bin them, or use SphUnc")
        if self.needs_features:
            check_features(data)
        plan = make_plan(data, self.horizon, split)
        window = data.until_index(plan.stop - 1).to(device)
        trained = train(window, plan, partial(self._network, known), self.settings, self.seed)
        self._take(known_of(window), trained)
        self.influence_ = self._native_influence(window)
        return self

    @torch.no_grad()
    def predict(self, data: TemporalHypergraph, origin: Whole | None = None) -> PeerForecast:
        """Forecast every agent's outcome ``horizon`` steps after ``origin``; agents may be new."""
        self._check_fitted("predict")
        data = check_data("predict", data)
        origin = data.num_times - 1 if origin is None else check_origin(data, origin)
        past = align(data.until_index(origin), self.known_).to(self.device)
        run = self.network_(make_panel(past, self.scale_, self.known_.outputs))
        last = self.temperature_.apply(outlook_of(run.log_probabilities[-1])).log_probabilities
        assert last is not None
        return peer_forecast(data, origin, self.horizon, self.known_.classes, last.exp())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into ``folder``: JSON and safetensors."""
        self._check_fitted("save")
        params = {**self.get_params(), "device": str(self.device)}
        summary = {"temperature": asdict(self.temperature_), "epochs": self.epochs_, "validation": self.validation_}
        tensors = {"mean": self.scale_.mean, "deviation": self.scale_.deviation}
        weights = dict(self.network_.state_dict())
        write_peer(Path(folder), self.name, Saved(params, self.known_, summary, weights, tensors, self.influence_))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> Peer:
        """Read a model that :meth:`save` wrote."""
        saved = read_peer(Path(folder), cls.name)
        model = cls(**{**saved.params, "device": device})
        network = model._network(saved.known, torch.Generator()).to(device).eval()
        load_weights(network, saved.weights)
        scale = Scale(saved.tensors["mean"].to(device), saved.tensors["deviation"].to(device))
        law, summary = TemperatureLaw(**saved.summary["temperature"]), saved.summary
        model._take(saved.known, Trained(network, law, scale, summary["epochs"], summary["validation"]))
        model.influence_ = saved.influence
        return model

    def make_network(
        self, spatial: SpatialEncoder, num_inputs: int, num_classes: int, generator: torch.Generator
    ) -> ForecastNetwork:
        """Put the spatial part into the shared wrapper over time."""
        hidden, dropout = self.settings.hidden, self.settings.dropout
        return TemporalNetwork(spatial, num_inputs, num_classes, hidden=hidden, dropout=dropout, generator=generator)

    def _network(self, known: Known, generator: torch.Generator) -> ForecastNetwork:
        num_inputs = inputs_of(len(known.features), known.outputs)
        spatial = self.make_spatial(num_inputs, len(known.features), generator)
        return self.make_network(spatial, num_inputs, known.outputs, generator)

    def _take(self, known: Known, trained: Trained) -> None:
        self.known_, self.network_, self.scale_ = known, trained.network, trained.scale
        self.temperature_, self.epochs_, self.validation_ = trained.temperature, trained.epochs, trained.validation

    @torch.no_grad()
    def _native_influence(self, window: TemporalHypergraph) -> InfluenceScores | None:
        candidates = comembers(window)
        spatial = self.network_.spatial
        score = spatial.influence(make_panel(window, self.scale_, self.known_.outputs), candidates)
        if score is None:
            return None
        kind = spatial.influence_kind
        return InfluenceScores(candidates.cpu(), score.cpu(), window.node_ids, kind, spatial.directed)

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "known_"):
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
