"""`SphUnc`: fit, predict, score, influence, save, load. The estimator that users call."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import torch

from sphunc._checks import seed_number, some_names
from sphunc._typing import Float, Int, Tensor, Whole
from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError, ArgumentTypeError, CheckpointError, DataError, NotFittedError
from sphunc.forecasting.calendar import time_label
from sphunc.forecasting.distribution import Categorical, Gaussian
from sphunc.forecasting.forecast import Forecast
from sphunc.forecasting.schema import TrainingSchema, align, schema_of
from sphunc.hypergraph import Split, TemporalHypergraph
from sphunc.hypergraph.quality import robust_limits, suspicions, winsorise
from sphunc.model.config import SphUncConfig, check_setting
from sphunc.model.fitting import FittedModel, fit_model
from sphunc.model.inputs import ModelInputs, read_inputs
from sphunc.model.verdict import comparison_table, describe_fit

Device = str | torch.device
Pair = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class StageRecord:
    """Progress of a fit.

    Attributes:
        stage: what is being done.
        share: of the work that is done, from 0 to 1.
        seconds: since the fit began.
    """

    stage: str
    share: float
    seconds: float


Callback = Callable[[StageRecord], None]


class SphUnc:
    """Forecasts with decomposed, calibrated uncertainty for agents that meet in groups.

    Args:
        dim: most state axes; the data choose how many are used.
        horizon: steps ahead.
        seed: of every random choice; the same seed gives the same numbers on the same machine.
        device: where to compute.
        **settings: any other setting of :class:`~sphunc.SphUncConfig`.

    Example:
        >>> import sphunc
        >>> world = sphunc.simulate("snare", agents=40, times=6, seed=0)
        >>> model = SphUnc(seed=0).fit(world.data, verbose=False)
        >>> model.predict(world.data).probabilities.shape
        torch.Size([40, 3])
    """

    model_: FittedModel
    config_: SphUncConfig
    schema_: TrainingSchema
    comparison_: pl.DataFrame
    verdict_: str
    dim_: int

    def __init__(
        self, dim: Whole = 128, horizon: Whole = 1, seed: Whole = 0, *, device: Device = "cpu", **settings: Any
    ) -> None:
        self.dim = dim
        self.horizon = horizon
        self.seed = seed
        self.device = device
        for name, value in settings.items():
            check_setting(name)
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Return the default of a setting that was not given."""
        if name in SphUncConfig.model_fields:
            return SphUncConfig.model_fields[name].default
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> SphUnc:
        """Learn from ``data``."""
        settings = {n: getattr(self, n) for n in SphUncConfig.model_fields}
        self.config_ = SphUncConfig(**settings)
        self.schema_ = schema_of(data)
        self._limits = robust_limits(data)
        data, wild = winsorise(data, self._limits)
        self._order_ids = sorted(data.node_ids, key=lambda i: (type(i).__name__, str(i)))
        inputs = self._inputs(data, learn=True)
        self.model_ = fit_model(
            inputs, horizon=self.config_.horizon, most_axes=self.config_.dim, quick=self.config_.quick, seed=self.seed
        )
        self.verdict_ = describe_fit(self.model_)
        self.dim_ = self.model_.num_axes
        return self

    def _inputs(self, data: TemporalHypergraph, learn: bool = False) -> ModelInputs:
        classes = len(self.schema_.classes)
        inputs = read_inputs(data, classes, self.schema_.outputs)
        if not classes:
            if learn:
                seen = inputs.y[inputs.y_mask]
                self._centre = seen.mean(0)
                self._scale = seen.std(0).clamp(min=1e-12)
            inputs = replace(inputs, y=(inputs.y - self._centre) / self._scale * inputs.y_mask.unsqueeze(-1))
        return inputs

    def predict(
        self,
        data: TemporalHypergraph,
        origin: Any = None,
        *,
        origin_index: int | None = None,
        coverage: float | None = None,
    ) -> Forecast:
        """Forecast."""
        if origin_index is None:
            origin_index = data.num_times - 1 if origin is None else data.time_index(origin)
        past = align(data.until_index(origin_index), self.schema_)
        past, _ = winsorise(past, self._limits)
        inputs = self._inputs(past)
        place = {agent: k for k, agent in enumerate(self.schema_.agents)}
        places = torch.tensor([place.get(agent, -1) for agent in past.node_ids])
        found = self.model_.forecast(inputs, places)
        extra: dict[str, Any] = {}
        scale = 1.0
        if isinstance(found.distribution, Categorical):
            extra["probabilities"] = found.distribution.probabilities
        else:
            extra["mean"] = found.distribution.mean * self._scale + self._centre
            extra["variance"] = found.distribution.variance * self._scale**2
            scale = float(self._scale[0]) ** 2 if len(self._scale) == 1 else 1.0
        return Forecast(
            agents=past.node_ids,
            origin=past.times[-1],
            target=time_label(data.times, origin_index + self.config_.horizon),
            horizon=self.config_.horizon,
            epistemic=found.epistemic,
            epistemic_scaled=found.epistemic_scaled,
            aleatoric=found.aleatoric * scale,
            total=found.total * scale,
            kappa=found.kappa,
            scores=self.model_.scores,
            held_out=self.model_.held_out,
            class_names=self.schema_.classes,
            outcome_names=self.schema_.outcomes,
            coverage=coverage,
            **extra,
        )

    def influence(self) -> InfluenceGraph:
        """Links."""
        states = self.model_.predictor.states
        links = states.links
        target, slot = links.is_candidate.nonzero(as_tuple=True)
        p = links.probability[target, slot]
        strength = links.mean[target, slot] / p.clamp(min=1e-9)
        second = links.square[target, slot] / p.clamp(min=1e-9)
        deviation = (second - strength.square()).clamp(min=0).sqrt()
        return InfluenceGraph(
            torch.stack([links.source[target, slot], target]),
            self.schema_.agents,
            p,
            strength,
            deviation,
            prior=torch.full_like(p, states.structure.prior.share),
        )
