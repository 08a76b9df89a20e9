"""What every system of a comparison can do, and the forecast of a system that does not decompose its uncertainty."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import polars as pl
import torch
from torch import Tensor

from sphunc._typing import Float, Int, Whole
from sphunc.errors import ArgumentError
from sphunc.forecasting.calendar import time_label
from sphunc.hypergraph import Split, TemporalHypergraph


@runtime_checkable
class Forecaster(Protocol):
    """Learns from a temporal hypergraph and forecasts outcomes; :class:`sphunc.SphUnc` is one, and so is every peer.

    ``predict`` returns a value with ``agents``, ``class_names``, ``probabilities [N, C]``, ``prediction [N]``,
    ``confidence [N]``, ``total [N]`` (larger is less sure) and ``to_frame()``.
    """

    def fit(self, data: TemporalHypergraph, split: Split | None = None, *, verbose: bool | None = None) -> Any:
        """Learn from the training origins, stop on the validation origins, calibrate on the calibration origins."""
        ...

    def predict(self, data: TemporalHypergraph, origin: object = None, *, origin_index: Whole | None = None) -> Any:
        """Forecast from the time with the label ``origin``, or at a position; nothing later is looked at."""
        ...

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model as JSON and safetensors."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all that the constructor was given."""
        ...


@runtime_checkable
class InfluenceForecaster(Forecaster, Protocol):
    """A forecaster that also says who influences whom, in its own way."""

    def influence(self) -> Any:
        """Return an :class:`~sphunc.baselines.InfluenceScores`, or an :class:`~sphunc.InfluenceGraph`."""
        ...


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PeerForecast:
    """Class probabilities of every agent at ``target``, seen from ``origin``; nothing is decomposed.

    Attributes:
        agents: the user's ids, N of them.
        origin: label of the last time that was seen.
        target: label of the time that is forecast.
        horizon: steps from origin to target.
        class_names: C names.
        probabilities: ``[N, C]``.
    """

    agents: tuple[Hashable, ...]
    origin: Any
    target: Any
    horizon: int
    class_names: tuple[str, ...]
    probabilities: Tensor

    def __post_init__(self) -> None:
        wanted = (len(self.agents), len(self.class_names))
        if tuple(self.probabilities.shape) != wanted:
            raise ArgumentError(f"probabilities has shape {tuple(self.probabilities.shape)}; agents ask for {wanted}")

    @property
    def prediction(self) -> Int[Tensor, " agent"]:
        """Most probable class (index)."""
        return self.probabilities.argmax(-1)

    @property
    def confidence(self) -> Float[Tensor, " agent"]:
        """Probability of the class named."""
        return self.probabilities.max(-1).values

    @property
    def total(self) -> Float[Tensor, " agent"]:
        """Entropy of the probabilities over log C, in [0, 1]: all the uncertainty that a peer has to offer."""
        return predictive_entropy(self.probabilities)

    def to_frame(self) -> pl.DataFrame:
        """One row per agent, with the user's ids and class names."""
        names = [self.class_names[c] for c in self.prediction.tolist()]
        columns: dict[str, Any] = {"agent": list(self.agents), "time": [self.target] * len(self.agents)}
        columns |= {"prediction": names, "confidence": self.confidence.tolist()}
        columns |= {f"p({name})": self.probabilities[:, c].tolist() for c, name in enumerate(self.class_names)}
        return pl.DataFrame({**columns, "total": self.total.tolist()}, strict=False)

    def __repr__(self) -> str:
        return (
            f"PeerForecast({len(self.agents)} agents, {len(self.class_names)} classes, {self.origin} -> {self.target}, "
            f"mean confidence {float(self.confidence.mean()):.2f})"
        )


def peer_forecast(
    data: TemporalHypergraph,
    origin: int,
    horizon: int,
    classes: tuple[str, ...],
    probabilities: Float[Tensor, "agent class"],
) -> PeerForecast:
    """Name what was forecast for the agents of ``data``.

    Args:
        data: the agents, and labels of times.
        origin: position of the time that is forecast from.
        horizon: steps from origin to target.
        classes: C names.
        probabilities: ``[N, C]``.
    """
    return PeerForecast(
        agents=data.node_ids,
        origin=data.times[origin],
        target=time_label(data.times, origin + horizon),
        horizon=horizon,
        class_names=classes,
        probabilities=probabilities.cpu(),
    )


def predictive_entropy(probabilities: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch"]:
    r""":math:`-\sum_c p_c \log p_c / \log C`, between 0 (certain) and 1 (uniform)."""
    return torch.special.entr(probabilities).sum(-1) / math.log(probabilities.shape[-1])
