"""Logistic regression on covariates: own inputs, lagged outcomes and co-members' means."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Generator, nn

from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.panel import Panel, count_inputs
from sphunc.baselines.regressions.columns import count_columns, covariate_columns
from sphunc.baselines.settings import Count, NetworkSettings, Rate, SearchSpace
from sphunc.baselines.temporal import (
    Encoding,
    ForecastNetwork,
    LogProbabilities,
    NoMessages,
    linear,
)


class LogisticSettings(NetworkSettings):
    """Settings of the logistic regression; width, hidden and dropout have no meaning here.

    An epoch costs next to nothing, and small steps need many where outcomes are nearly certain.
    """

    learning_rate: Rate = 2e-3
    epochs: Count = 3000


class LogisticNetwork(ForecastNetwork):
    """Softmax of a linear map of the covariates.

    Args:
        num_features: F.
        num_classes: C.
        settings: of the baseline.
        generator: of the part that reads no groups; weights of the map start at 0.
    """

    def __init__(self, num_features: int, num_classes: int, settings: NetworkSettings, generator: Generator) -> None:
        super().__init__()
        self.spatial = NoMessages(count_inputs(num_features, num_classes), num_features, settings, generator)
        self.map = linear(count_columns(num_features, num_classes), num_classes, generator)
        nn.init.zeros_(self.map.weight)

    def forward(self, panel: Panel, generator: Generator | None = None) -> tuple[LogProbabilities, Encoding]:
        """Log-probabilities of the outcome ``horizon`` after every time, and an empty encoding.

        Args:
            panel: T times.
            generator: not used.
        """
        return torch.log_softmax(self.map(covariate_columns(panel)), -1), self.spatial(panel)


class Logistic(NetworkBaseline):
    """Logistic regression on features, the last three outcomes, and means over co-members of both."""

    name = "logistic"
    Settings = LogisticSettings
    search: ClassVar[SearchSpace] = {
        "learning_rate": (1e-3, 2e-3, 5e-3, 2e-2),
        "weight_decay": (1e-3, 1e-2, 1e-1),
    }

    def make_network(self, num_features: int, num_classes: int, generator: Generator) -> ForecastNetwork:
        """Make the linear map.

        Args:
            num_features: F.
            num_classes: C.
            generator: source of the initial weights.
        """
        return LogisticNetwork(num_features, num_classes, self.settings, generator)
