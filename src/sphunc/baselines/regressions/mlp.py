"""Multilayer perceptron on the covariates of the logistic regression, which it contains."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Generator

from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.panel import Panel
from sphunc.baselines.regressions.columns import covariate_columns
from sphunc.baselines.regressions.logistic import LogisticNetwork
from sphunc.baselines.settings import NetworkSettings, SearchSpace
from sphunc.baselines.temporal import Encoding, ForecastNetwork, LogProbabilities, drop, linear


class PerceptronNetwork(LogisticNetwork):
    """Two hidden layers beside the linear map, on the same covariates.

    Args:
        num_features: F.
        num_classes: C.
        settings: of the baseline.
        generator: source of the initial weights.
    """

    def __init__(self, num_features: int, num_classes: int, settings: NetworkSettings, generator: Generator) -> None:
        super().__init__(num_features, num_classes, settings, generator)
        self.dropout = settings.dropout
        self.first = linear(self.map.in_features, settings.width, generator)
        self.second = linear(settings.width, settings.width, generator)
        self.readout = linear(settings.width, num_classes, generator)

    def forward(self, panel: Panel, generator: Generator | None = None) -> tuple[LogProbabilities, Encoding]:
        """Log-probabilities of the outcome ``horizon`` after every time, and an empty encoding.

        Args:
            panel: T times.
            generator: of dropout; None (evaluation) drops nothing.
        """
        columns = covariate_columns(panel)
        hidden = torch.relu(self.first(drop(columns, self.dropout, generator)))
        hidden = torch.relu(self.second(drop(hidden, self.dropout, generator)))
        logits = self.map(columns) + self.readout(drop(hidden, self.dropout, generator))
        return torch.log_softmax(logits, -1), self.spatial(panel)


class Perceptron(NetworkBaseline):
    """Two hidden layers on features, the last three outcomes, and means over co-members of both."""

    name = "mlp"
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "width": (16, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
    }

    def make_network(self, num_features: int, num_classes: int, generator: Generator) -> ForecastNetwork:
        """Make the perceptron.

        Args:
            num_features: F.
            num_classes: C.
            generator: source of the initial weights.
        """
        return PerceptronNetwork(num_features, num_classes, self.settings, generator)
