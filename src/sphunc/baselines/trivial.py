r"""Forecasts that need no features: how often each class occurs, and what tends to follow the last outcome seen.

Counts are smoothed by one outcome spread like the marginal, so that no class is impossible:

.. math:: p_c = \frac{n_c + 1}{n + C}, \qquad p_{c \mid y} = \frac{n_{yc} + p_c}{n_y + 1}
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Bool, Float, Int, Whole
from sphunc.baselines.forecaster import PeerForecast, peer_forecast
from sphunc.baselines.holdout import holdout_scheme
from sphunc.baselines.saving import Saved, read_peer, write_peer
from sphunc.baselines.settings import check_params
from sphunc.baselines.targets import Targets, targets_of
from sphunc.baselines.trainer import check_outcomes
from sphunc.errors import DataError, NotFittedError
from sphunc.forecasting.arguments import check_data, origin_position
from sphunc.forecasting.schema import TrainingSchema, align, schema_of
from sphunc.hypergraph import Split, TemporalHypergraph


def last_outcome(y: Int[Tensor, "time agent"], mask: Bool[Tensor, "time agent"]) -> Int[Tensor, "time agent"]:
    """Return the last outcome seen up to each time, -1 where there was none."""
    steps = torch.arange(len(y), device=y.device).unsqueeze(1)
    when = torch.where(mask, steps, -1).cummax(0).values
    return torch.where(when >= 0, y.gather(0, when.clamp(min=0)), -1)


def marginal(outcomes: Int[Tensor, " row"], num_classes: int) -> Float[Tensor, " class"]:
    """Smoothed shares of the classes."""
    counts = torch.bincount(outcomes, minlength=num_classes).double()
    return ((counts + 1.0) / (len(outcomes) + num_classes)).float()


def transitions(
    before: Int[Tensor, " row"], after: Int[Tensor, " row"], shares: Float[Tensor, " class"]
) -> Float[Tensor, "class class"]:
    """Smoothed shares of what follows each class."""
    C = len(shares)
    counts = torch.bincount(before * C + after, minlength=C * C).view(C, C).to(shares.dtype)
    return (counts + shares) / (counts.sum(1, keepdim=True) + 1.0)


class Trivial(ABC):
    """A table of probabilities as a forecaster; nothing is tuned, stopped or calibrated.

    Attributes:
        table_: counted on all outcomes that may be seen.
        validation_: NLL of the validation outcomes, by a table of the training outcomes alone.
    """

    name: ClassVar[str]
    search: ClassVar[Mapping[str, Sequence[Any]]] = {}
    table_: Tensor
    schema_: TrainingSchema
    validation_: float

    def __init__(
        self, *, horizon: Whole = 1, seed: Whole = 0, device: str | torch.device = "cpu", **settings: Any
    ) -> None:
        check_params(type(self).__name__, settings, ("horizon", "seed", "device"))  # it has no others
        self.horizon = whole_number("horizon", horizon, least=1)
        self.seed = seed_number(seed)
        self.device = device

    @abstractmethod
    def learn(self, last: Tensor, targets: Targets, num_classes: int) -> Tensor:
        """Return the table, from the last outcomes seen ``[T, N]`` and the targets that count."""

    @abstractmethod
    def read(self, table: Tensor, last: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch class"]:
        """Return the probabilities of agents whose last outcome was ``last`` (-1 for none)."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given."""
        return {"horizon": self.horizon, "seed": self.seed, "device": self.device}

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> Trivial:
        """Count all that may be seen; ``verbose`` is taken because every forecaster takes it."""
        data = check_data("fit", data)
        scheme = holdout_scheme(data, self.horizon, split)
        window = data.until_index(scheme.stop - 1).to("cpu")
        schema = schema_of(window)
        if schema.numeric or window.y is None:
            raise DataError(f"{type(self).__name__} forecasts classes, but data has numbers; bin them, or use SphUnc")
        check_outcomes(window, scheme)
        last = last_outcome(window.y, window.y_mask)
        before = self.learn(last, targets_of(window, self.horizon, scheme.train), schema.outputs)
        validation = targets_of(window, self.horizon, scheme.validation or scheme.train)
        probabilities = self.read(before, last)[validation.mask]
        outcome = validation.outcome[validation.mask].unsqueeze(1)
        self.validation_ = -float(probabilities.gather(1, outcome).log().mean())
        self.table_ = self.learn(last, targets_of(window, self.horizon, scheme.all_origins), schema.outputs)
        self.schema_ = schema
        return self

    def predict(
        self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None
    ) -> PeerForecast:
        """Look the agents up.

        Args:
            data: the past; nothing after the origin is looked at.
            origin: label of the time to forecast from (wave 5, a date); the last time by default.
            origin_index: or its position in ``data.times``.
        """
        self._check_fitted("predict")
        data = check_data("predict", data)
        position = origin_position(data, origin, origin_index)
        past = align(data.until_index(position), self.schema_).to("cpu")
        y = torch.zeros(past.y_mask.shape, dtype=torch.long) if past.y is None else past.y
        probabilities = self.read(self.table_, last_outcome(y, past.y_mask)[-1])
        return peer_forecast(data, position, self.horizon, self.schema_.classes, probabilities)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the table into ``folder``."""
        self._check_fitted("save")
        params = {**self.get_params(), "device": str(self.device)}
        summary = {"validation": self.validation_}
        write_peer(Path(folder), self.name, Saved(params, self.schema_, summary, {}, {"table": self.table_}))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, device: str | torch.device = "cpu") -> Trivial:
        """Read what :meth:`save` wrote."""
        saved = read_peer(Path(folder), cls.name)
        model = cls(**{**saved.params, "device": device})
        model.table_ = saved.tensors["table"]
        model.schema_ = saved.schema
        model.validation_ = saved.summary["validation"]
        return model

    def _check_fitted(self, asked: str) -> None:
        if not hasattr(self, "table_"):
            raise NotFittedError(f"{asked} needs a fitted model; call fit(data), or {type(self).__name__}.load(folder)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(horizon={self.horizon!r}, seed={self.seed!r})"


class Majority(Trivial):
    """The shares of the classes, for everybody."""

    name = "majority"

    def learn(self, last: Tensor, targets: Targets, num_classes: int) -> Tensor:
        """Count the outcomes."""
        return marginal(targets.outcome[targets.mask], num_classes)

    def read(self, table: Tensor, last: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch class"]:
        """Say the same of everybody."""
        return table.expand(*last.shape, -1)


class Persistence(Trivial):
    """What tends to follow the last outcome seen; the shares of the classes for whom nothing was seen."""

    name = "persistence"

    def learn(self, last: Tensor, targets: Targets, num_classes: int) -> Tensor:
        """Count what follows what; the last row is for agents without a past."""
        shares = marginal(targets.outcome[targets.mask], num_classes)
        known = targets.mask & (last >= 0)
        return torch.cat([transitions(last[known], targets.outcome[known], shares), shares.unsqueeze(0)])

    def read(self, table: Tensor, last: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch class"]:
        """Take the row of the last outcome; -1 is the last row."""
        return table[last]
