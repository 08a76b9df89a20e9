"""Controls that never look at groups: what the evidence about an agent alone is worth.

``Logistic`` reads the panel's inputs linearly. ``Recurrent`` is the wrapper over time without any spatial part: what a
peer adds to it is what its messages are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from sphunc.baselines.network import ForecastNetwork, NoMessages, Run, SpatialEncoder, linear
from sphunc.baselines.panel import Panel
from sphunc.baselines.peer import Peer, PeerSettings
from sphunc.baselines.settings import Count, Rate


@dataclass(frozen=True)
class LogisticSettings(PeerSettings):
    """Settings of the logistic regression; width, hidden and dropout have no meaning here.

    A pass costs next to nothing, and small steps need many of them where outcomes are nearly certain.
    """

    learning_rate: Rate = 2e-3
    epochs: Count = 3000


class LogisticNetwork(ForecastNetwork):
    """Softmax of a linear map of the inputs."""

    def __init__(self, num_inputs: int, num_classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.spatial = NoMessages()
        self.map = linear(num_inputs, num_classes, generator)
        with torch.no_grad():
            self.map.weight.zero_()

    def forward(self, panel: Panel, generator: torch.Generator | None = None) -> Run:
        """Forecast from every time of the panel."""
        return Run(torch.log_softmax(self.map(panel.inputs), -1), self.spatial(panel, generator))


class Logistic(Peer):
    """Logistic regression on features, their mean so far, and outcomes so far."""

    name = "logistic"
    Settings = LogisticSettings
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (1e-3, 2e-3, 5e-3, 2e-2),
        "weight_decay": (1e-3, 1e-2, 1e-1),
    }

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make nothing."""
        return NoMessages()

    def make_network(
        self, spatial: SpatialEncoder, num_inputs: int, num_classes: int, generator: torch.Generator
    ) -> ForecastNetwork:
        """Make the linear map."""
        return LogisticNetwork(num_inputs, num_classes, generator)


class Recurrent(Peer):
    """The shared wrapper over time without messages between agents."""

    name = "recurrent"
    search: ClassVar[Mapping[str, Sequence[Any]]] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "hidden": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
    }

    def make_spatial(self, num_inputs: int, num_features: int, generator: torch.Generator) -> SpatialEncoder:
        """Make nothing."""
        return NoMessages()
