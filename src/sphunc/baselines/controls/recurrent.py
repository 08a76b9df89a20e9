"""The shared network over time without messages: what a spatial encoder adds to it is its worth."""

from __future__ import annotations

from typing import ClassVar

from sphunc.baselines.baseline import NetworkBaseline
from sphunc.baselines.settings import SearchSpace
from sphunc.baselines.temporal import NoMessages


class Recurrent(NetworkBaseline):
    """A gated recurrent unit per agent, without messages between agents."""

    name = "recurrent"
    Encoder = NoMessages
    search: ClassVar[SearchSpace] = {
        "learning_rate": (5e-4, 1e-3, 2e-3, 5e-3),
        "hidden": (32, 64, 128),
        "dropout": (0.1, 0.3, 0.5),
    }
