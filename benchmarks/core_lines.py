"""Lines of the table of `benchmarks/core.py`, and what every row of it needs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

import sphunc

Figures = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One measured figure.

    Attributes:
        row: name of the row of the table.
        case: data on which it was measured.
        what: the figure.
        value: its value.
        least: smallest value that reaches the goal; None without such a bound.
        most: largest value that reaches the goal; None without such a bound.
        detail: further figures, in words of JSON.
    """

    row: str
    case: str
    what: str
    value: float
    least: float | None = None
    most: float | None = None
    detail: Figures = field(default_factory=dict)

    @property
    def reached(self) -> bool | None:
        """Whether the value lies within its bounds; None without any."""
        if self.least is None and self.most is None:
            return None
        above = self.least is None or self.value >= self.least
        below = self.most is None or self.value <= self.most
        return math.isfinite(self.value) and above and below

    def figures(self) -> Figures:
        """All of it, for JSON."""
        return {**asdict(self), "reached": self.reached}

    def __str__(self) -> str:
        bound = ""
        if self.least is not None:
            bound = f">= {self.least:g}"
        if self.most is not None:
            bound = f"{bound} <= {self.most:g}".strip()
        mark = {True: "yes", False: "NO", None: ""}[self.reached]
        notes = ", ".join(f"{name} {_short(value)}" for name, value in self.detail.items())
        return f"{self.row:9s} {self.case:24s} {self.what:44s} {self.value:9.4g} {bound:>10s} {mark:3s} {notes}"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return "[" + " ".join(_short(part) for part in value) + "]"
    return str(value)


def estimator() -> Any:
    """The class that is measured: that of `sphunc.estimator`, or the package's default before there was one."""
    if find_spec("sphunc.estimator") is not None:
        return import_module("sphunc.estimator").SphUnc
    return sphunc.SphUnc


def predictive_entropy(forecast: Any) -> np.ndarray:
    """Entropy of every agent's predictive distribution, in nats.

    Args:
        forecast: of classes, or of numbers (the sum over several of the entropies of their Gaussians).
    """
    if forecast.probabilities is not None:
        p = forecast.probabilities
        return -torch.xlogy(p, p).sum(1).numpy()
    return 0.5 * (2 * math.pi * math.e * forecast.variance).log().sum(1).numpy()


def is_finite(forecast: Any) -> bool:
    """Whether every number of a forecast is finite."""
    named = ("epistemic", "aleatoric", "total", "kappa", "probabilities", "mean", "variance")
    values = [getattr(forecast, name) for name in named]
    return all(bool(torch.isfinite(value).all()) for value in values if value is not None)
