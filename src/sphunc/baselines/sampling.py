r"""Wrappers that forecast with several samples of a baseline: a deep ensemble, and Monte Carlo dropout.

The mean of S forecasts is the forecast, and its entropy splits exactly (Depeweg et al. 2018):

.. math::
    H\Big(\frac1S \sum_s p_s\Big) = \underbrace{\frac1S \sum_s H(p_s)}_{\text{aleatoric}}
        + \underbrace{I(y; s)}_{\text{epistemic}}

both over log C. Forecasts are averaged before they are calibrated, as the mean of calibrated
forecasts is less confident than they are (Rahaman and Thiery 2021). Settings that are not a
wrapper's own are those of the baseline it wraps.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar

import torch
from torch import Generator, Tensor

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Whole
from sphunc.baselines.baseline import CalibratedBaseline, Document, NetworkBaseline, Tensors
from sphunc.baselines.holdout import HoldoutScheme
from sphunc.baselines.registry import FORECASTERS, WRAPPED, forecaster_class
from sphunc.baselines.settings import Setting, Settings, Several
from sphunc.baselines.temperature import HeldOut, Temperature, match_confidence, mixture
from sphunc.errors import ArgumentError
from sphunc.forecasting import Categorical, TrainingSchema
from sphunc.hypergraph import TemporalHypergraph

SEED_STEP = 7919
"""Between the seeds of two members."""


def decompose(parts: Sequence[Categorical]) -> Mapping[str, Tensor]:
    """Epistemic and aleatoric part of the entropy of a mean forecast, each over log C.

    Args:
        parts: the forecasts that are averaged.
    """
    scale = math.log(parts[0].log_probabilities.shape[-1])
    aleatoric = torch.stack([part.entropy for part in parts]).mean(0) / scale
    total = mixture(parts).entropy / scale
    return {"epistemic": (total - aleatoric).clamp(min=0.0), "aleatoric": aleatoric}


class Wrapper(CalibratedBaseline):
    """A baseline that forecasts with several samples of another one.

    Args:
        of: name of the baseline.
        horizon: steps ahead.
        seed: of every random choice.
        device: where to compute.
        **settings: of the wrapper, or of the baseline.

    Attributes:
        members_: fitted baselines.
    """

    Wrapped: ClassVar[type[CalibratedBaseline]] = CalibratedBaseline
    members_: tuple[CalibratedBaseline, ...]

    def __init__(
        self,
        *,
        of: str = WRAPPED,
        horizon: Whole = 1,
        seed: Whole = 0,
        device: str | torch.device = "cpu",
        **settings: Setting,
    ) -> None:
        own = {name: value for name, value in settings.items() if name in self.Settings.model_fields}
        steps = whole_number("horizon", horizon, least=1)
        super().__init__(horizon=steps, seed=seed_number(seed), device=device, **own)
        self.of = of
        self.settings_of_member = {name: value for name, value in settings.items() if name not in own}
        self._make_member(0)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return all that the constructor was given."""
        return {"of": self.of, **super().get_params(deep), **self.settings_of_member}

    def _make_member(self, place: int) -> CalibratedBaseline:
        allowed = [name for name in FORECASTERS if _is_kind(name, self.Wrapped)]
        if self.of not in allowed:
            raise ArgumentError(f"of is {self.of!r}, which {self.name} cannot wrap; choose one of {', '.join(allowed)}")
        seed = self.seed + place * SEED_STEP
        return forecaster_class(self.of)(horizon=self.horizon, seed=seed, device=self.device, **self.settings_of_member)

    def _fit_members(
        self, count: int, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema
    ) -> list[HeldOut]:
        """Fit the members, and return what each held out."""
        members = [self._make_member(place) for place in range(count)]
        held_out = []
        for member in members:
            member._learn(data, scheme, schema)
            member.schema_ = schema
            assert member.held_out_ is not None
            held_out.append(member.held_out_)
        self.members_ = tuple(members)
        self.validation_ = sum(member.validation_ for member in members) / count
        return held_out

    @abstractmethod
    def _samples(self, past: TemporalHypergraph) -> list[Categorical]:
        """Forecasts to average, before any temperature."""

    def uncalibrated(self, past: TemporalHypergraph) -> tuple[Categorical, Mapping[str, Tensor]]:
        """Mean forecast, and the parts of its entropy.

        Args:
            past: aligned with the training data; forecast from its last time.
        """
        parts = self._samples(past)
        return mixture(parts), decompose(parts)

    def _state(self) -> tuple[Document, Tensors]:
        documents = []
        tensors: Tensors = {}
        for place, member in enumerate(self.members_):
            document, arrays = member._state()
            documents.append({**document, "validation": member.validation_})
            tensors |= {f"{place}.{name}": value for name, value in arrays.items()}
        return {"temperature": asdict(self.temperature_), "members": documents}, tensors

    def _restore(self, document: Document, tensors: Tensors) -> None:
        self.temperature_ = Temperature(**document["temperature"])
        members = []
        for place, learned in enumerate(document["members"]):
            member = self._make_member(place)
            member.schema_ = self.schema_
            member.validation_ = learned["validation"]
            prefix = f"{place}."
            arrays = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
            member._restore(learned, arrays)
            members.append(member)
        self.members_ = tuple(members)


def _is_kind(name: str, kind: type[CalibratedBaseline]) -> bool:
    system = forecaster_class(name)
    return isinstance(system, type) and issubclass(system, kind) and not issubclass(system, Wrapper)


class EnsembleSettings(Settings):
    """Settings of an ensemble; all others are those of its members.

    Attributes:
        members: networks, alike but for their seeds.
    """

    members: Several = 5


class Ensemble(Wrapper):
    """Deep ensemble (Lakshminarayanan et al. 2017): fits from several seeds, averaged.

    ``forecaster("ensemble", of="edhnn", members=5)``.
    """

    name = "ensemble"
    Settings = EnsembleSettings
    settings: EnsembleSettings

    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        parts = self._fit_members(self.settings.members, data, scheme, schema)
        finals = [part.final for part in parts if part.final is not None]
        final = None
        if finals:
            final = mixture(finals)
        self.held_out_ = HeldOut(mixture([part.forecasts for part in parts]), parts[0].targets, final)
        self.temperature_ = self.held_out_.temperature()

    def _samples(self, past: TemporalHypergraph) -> list[Categorical]:
        return [member.uncalibrated(past)[0] for member in self.members_]


class MCDropoutSettings(Settings):
    """Settings of Monte Carlo dropout; all others are those of the network.

    Attributes:
        samples: forecasts with other units dropped, averaged.
    """

    samples: Several = 30


class MCDropout(Wrapper):
    """Monte Carlo dropout (Gal and Ghahramani 2016): forecasts with units dropped as in training, averaged.

    Their temperature keeps the mean confidence that the network has without dropout.
    ``forecaster("mc_dropout", of="edhnn", dropout=0.3)``.
    """

    name = "mc_dropout"
    Settings = MCDropoutSettings
    Wrapped = NetworkBaseline
    settings: MCDropoutSettings

    def _learn(self, data: TemporalHypergraph, scheme: HoldoutScheme, schema: TrainingSchema) -> None:
        self._fit_members(1, data, scheme, schema)
        member = self.members_[0]
        past = data.until_index(scheme.all_origins[-1])
        with torch.no_grad():
            without = member.uncalibrated(past)[0]
            averaged = mixture(self._samples(past))
        self.temperature_ = match_confidence(member.temperature_, without, averaged)

    def _samples(self, past: TemporalHypergraph) -> list[Categorical]:
        member = self.members_[0]
        assert isinstance(member, NetworkBaseline)
        generator = Generator(device=past.x.device).manual_seed(self.seed % 2**63)
        return [member.uncalibrated(past, generator)[0] for _ in range(self.settings.samples)]
