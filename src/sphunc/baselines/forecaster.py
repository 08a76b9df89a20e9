"""What every system of a comparison can do, and the forecast of a baseline."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import polars as pl
import torch
from torch import Tensor

from sphunc._typing import Float, Int, Whole
from sphunc.errors import ArgumentError
from sphunc.forecasting import probability_columns
from sphunc.hypergraph import Split, TemporalHypergraph


@runtime_checkable
class Predictor(Protocol):
    """Anything that forecasts from a time of a temporal hypergraph."""

    def predict(self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None) -> Any:
        """Forecast from a time, the last one by default; nothing later is read.

        Args:
            data: the past.
            origin: label of the time.
            origin_index: or its position.
        """
        ...


@runtime_checkable
class Forecaster(Predictor, Protocol):
    """Learns from a temporal hypergraph and forecasts outcomes: SphUnc, and every baseline.

    ``predict`` returns a value with ``agents``, ``class_names``, ``probabilities [N, C]``,
    ``prediction [N]``, ``confidence [N]``, ``total [N]`` (larger is more uncertain) and
    ``to_frame()``.
    """

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> Any:
        """Learn from the training origins, stop on the validation origins, calibrate on the others.

        Args:
            data: agents, groups, features and outcomes.
            split: origins of each part; None uses all times.
            verbose: whether progress is shown.
        """
        ...

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model as JSON and safetensors."""
        ...

    def get_params(self, deep: bool = True) -> Mapping[str, object]:
        """Return all that the constructor was given."""
        ...


@runtime_checkable
class InfluenceForecaster(Forecaster, Protocol):
    """A forecaster that also says who influences whom, in its own way."""

    def influence(self) -> Any:
        """Return :class:`~sphunc.baselines.InfluenceScores` or :class:`~sphunc.InfluenceGraph`."""
        ...


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BaselineForecast:
    """Class probabilities of every agent at ``target``, given all up to ``origin``; not decomposed.

    Attributes:
        agents: the user's ids, N of them.
        origin: label of the last time that was read.
        target: label of the time that is forecast.
        horizon: steps from origin to target.
        class_names: C names.
        probabilities: ``[N, C]``.
    """

    agents: tuple[Hashable, ...]
    origin: object
    target: object
    horizon: int
    class_names: tuple[str, ...]
    probabilities: Tensor

    def __post_init__(self) -> None:
        wanted = (len(self.agents), len(self.class_names))
        shape = tuple(self.probabilities.shape)
        if shape != wanted:
            raise ArgumentError(f"probabilities has shape {shape}; agents ask for {wanted}")

    @property
    def prediction(self) -> Int[Tensor, " agent"]:
        """Most probable class (index)."""
        return self.probabilities.argmax(-1)

    @property
    def confidence(self) -> Float[Tensor, " agent"]:
        """Probability of the most probable class."""
        return self.probabilities.max(-1).values

    @property
    def total(self) -> Float[Tensor, " agent"]:
        """Entropy of the probabilities over log C, in [0, 1]: a baseline has no parts of it."""
        return predictive_entropy(self.probabilities)

    def to_frame(self) -> pl.DataFrame:
        """One row per agent, with the user's ids and class names."""
        columns: dict[str, object] = {
            "agent": list(self.agents),
            "time": [self.target] * len(self.agents),
            "prediction": [self.class_names[c] for c in self.prediction.tolist()],
            "confidence": self.confidence.tolist(),
        }
        columns |= zip(probability_columns(self.class_names), self.probabilities.T.tolist(), strict=True)
        columns["total"] = self.total.tolist()
        return pl.DataFrame(columns, strict=False)

    def __repr__(self) -> str:
        return (
            f"BaselineForecast({len(self.agents)} agents, {len(self.class_names)} classes, "
            f"{self.origin} -> {self.target}, mean confidence {float(self.confidence.mean()):.2f})"
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecomposedForecast(BaselineForecast):
    """Forecast of a baseline that tells what it does not know from what is noise.

    Attributes:
        epistemic: what more data would lower ``[N]``, in [0, 1].
        aleatoric: what no data lowers ``[N]``, in [0, 1].
    """

    epistemic: Tensor
    aleatoric: Tensor

    def to_frame(self) -> pl.DataFrame:
        """One row per agent, with both parts."""
        parts = {"epistemic": self.epistemic.tolist(), "aleatoric": self.aleatoric.tolist()}
        return super().to_frame().with_columns(**{name: pl.Series(values) for name, values in parts.items()})


def predictive_entropy(probabilities: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch"]:
    r""":math:`-\sum_c p_c \log p_c / \log C`, between 0 (certain) and 1 (uniform)."""
    return torch.special.entr(probabilities).sum(-1) / math.log(probabilities.shape[-1])
