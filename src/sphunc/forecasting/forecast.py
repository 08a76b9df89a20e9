"""What happens next, how sure, and why unsure: one frozen value per forecast."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any

import polars as pl
import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.errors import ArgumentError
from sphunc.forecasting.conformal import CAVEATS, conformal_intervals, conformal_sets, conformal_threshold
from sphunc.forecasting.distribution import NORMAL, Categorical, Gaussian, PredictiveDistribution, Tails
from sphunc.forecasting.frames import column_ends, id_column, probability_columns


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Forecast:
    """Predictive distribution of every agent's outcome at ``target``, seen from ``origin``.

    Attributes:
        agents: the user's ids, N of them, in the order of every row below.
        origin: the user's label of the last time that was known.
        target: label of the time that is forecast; continues the calendar of the data where that is
            regular.
        horizon: steps from origin to target.
        epistemic: entropy of the belief about each agent's state, in nats ``[N]``; comparable
            between agents of one model only.
        epistemic_scaled: the same between 0 (a fully known state) and 1 (nothing known) ``[N]``.
        aleatoric: uncertainty of the outcome that would be left if state and parameters were known
            ``[N]``; for classes the error rate of the best guess, :math:`1 - \\max_c p_c`, for
            several numbers the mean of their variances, each over that of training.
        total: both fused, non-decreasing in each ``[N]``: the expected squared error.
        class_names: C names; empty for numbers.
        probabilities: ``[N, C]``, or None for numbers.
        mean: ``[N, K]`` for numbers, else None.
        variance: ``[N, K]`` for numbers, else None.
        scores: conformal scores of held-out outcomes, for :meth:`prediction_set` ``[n]``.
        held_out: what these were: "origins", "agents" or "nothing".
        coverage: that :attr:`set` or :attr:`interval` are for; None unless asked for.
        outcome_names: K names, for numbers; empty if they have none.
        tails: of the errors of numbers: normal, or with a share of outliers where held-out errors
            have them. Mean and variance hold either way.
        kappa: concentration of the belief about each agent's state ``[N]``.
    """

    agents: tuple[Hashable, ...]
    origin: Any
    target: Any
    horizon: int
    epistemic: Tensor
    epistemic_scaled: Tensor
    aleatoric: Tensor
    total: Tensor
    kappa: Tensor
    scores: Tensor
    held_out: str
    class_names: tuple[str, ...] = ()
    probabilities: Tensor | None = None
    mean: Tensor | None = None
    variance: Tensor | None = None
    coverage: float | None = None
    outcome_names: tuple[str, ...] = ()
    tails: Tails = NORMAL

    def __post_init__(self) -> None:
        _check_shapes(self)

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return self.probabilities is None

    @property
    def distribution(self) -> PredictiveDistribution:
        """The predictive distribution as a value."""
        if self.probabilities is not None:
            return Categorical(self.probabilities.log())
        assert self.mean is not None
        assert self.variance is not None
        return Gaussian(self.mean, self.variance, self.tails)

    @property
    def confidence(self) -> Float[Tensor, " agent"]:
        """Probability of the class named ``[N]``; for numbers 1 / (1 + total)."""
        if self.probabilities is None:
            return 1.0 / (1.0 + self.total)
        return self.probabilities.max(-1).values

    @property
    def prediction(self) -> Tensor:
        """Most probable class (index) ``[N]``, or the mean ``[N, K]``."""
        if self.probabilities is not None:
            return self.probabilities.argmax(-1)
        assert self.mean is not None
        return self.mean

    def prediction_set(self, coverage: float) -> Tensor:
        """Classes ``[N, C]`` (True inside) or intervals ``[N, K, 2]`` that hold the outcome with a
        stated probability.

        Split conformal prediction on held-out outcomes; :attr:`caveat` says what the coverage rests
        on.

        Args:
            coverage: share of outcomes inside, strictly between 0 and 1.
        """
        threshold = conformal_threshold(self.scores, coverage)
        distribution = self.distribution
        if isinstance(distribution, Categorical):
            return conformal_sets(distribution, threshold)
        return conformal_intervals(distribution, threshold)

    @property
    def set(self) -> Bool[Tensor, "agent class"] | None:
        """Classes of the conformal set; None unless a coverage was asked for, and for numbers."""
        if self.coverage is None or self.numeric:
            return None
        return self.prediction_set(self.coverage)

    @property
    def interval(self) -> Float[Tensor, "agent number 2"] | None:
        """Conformal interval; None unless a coverage was asked for, and for classes."""
        if self.coverage is None or not self.numeric:
            return None
        return self.prediction_set(self.coverage)

    @property
    def caveat(self) -> str:
        """What the coverage rests on."""
        return CAVEATS[self.held_out]

    def to_frame(self) -> pl.DataFrame:
        """One row per agent, with the user's ids and names: of classes, or of numbers
        (``mean_<name>``)."""
        columns: dict[str, Any] = {"agent": id_column(self.agents), "time": [self.target] * len(self.agents)}
        columns |= self._number_columns() if self.numeric else self._class_columns()
        for name in ("epistemic", "epistemic_scaled", "aleatoric", "total"):
            columns[name] = getattr(self, name).tolist()
        return pl.DataFrame(columns, strict=False)

    def _class_columns(self) -> dict[str, Any]:
        assert self.probabilities is not None
        columns: dict[str, Any] = {
            "prediction": [self.class_names[c] for c in self.prediction.tolist()],
            "confidence": self.confidence.tolist(),
        }
        for c, name in enumerate(probability_columns(self.class_names)):
            columns[name] = self.probabilities[:, c].tolist()
        inside = self.set
        if inside is not None:
            columns["set"] = [[self.class_names[c] for c in row.nonzero().flatten().tolist()] for row in inside]
        return columns

    def _number_columns(self) -> dict[str, Any]:
        assert self.mean is not None
        assert self.variance is not None
        columns: dict[str, Any] = {}
        interval = self.interval
        for k, end in enumerate(column_ends(self.outcome_names, self.mean.shape[1])):
            columns["mean" + end] = self.mean[:, k].tolist()
            columns["deviation" + end] = self.variance[:, k].sqrt().tolist()
            if interval is not None:
                columns["low" + end] = interval[:, k, 0].tolist()
                columns["high" + end] = interval[:, k, 1].tolist()
        columns["confidence"] = self.confidence.tolist()
        return columns

    def __repr__(self) -> str:
        what = "numbers" if self.numeric else f"{len(self.class_names)} classes"
        sets = "" if self.coverage is None else f", sets for coverage {self.coverage:g}"
        return (
            f"Forecast({len(self.agents)} agents, {what}, {self.origin} -> {self.target}, "
            f"mean confidence {float(self.confidence.mean()):.2f}, mean total {float(self.total.mean()):.2f}{sets})"
        )


def _check_shapes(forecast: Forecast) -> None:
    agents = len(forecast.agents)
    classes = len(forecast.class_names)
    if (forecast.probabilities is None) == (forecast.mean is None):
        raise ArgumentError("a forecast has either probabilities (classes) or mean and variance (numbers)")
    if (forecast.mean is None) != (forecast.variance is None):
        raise ArgumentError("a forecast of numbers has a mean and a variance, one of classes neither")
    numbers = 0 if forecast.mean is None else forecast.mean.shape[-1]
    if forecast.outcome_names and len(forecast.outcome_names) != numbers:
        raise ArgumentError(
            f"outcome_names has {len(forecast.outcome_names)} entries; give one for each of {numbers} numbers"
        )
    wanted = {
        "probabilities": (agents, classes),
        "mean": (agents, numbers),
        "variance": (agents, numbers),
        "scores": tuple(forecast.scores.shape),
    }
    for field in fields(forecast):
        value = getattr(forecast, field.name)
        shape = wanted.get(field.name, (agents,))
        if isinstance(value, torch.Tensor) and tuple(value.shape) != shape:
            raise ArgumentError(f"{field.name} has shape {tuple(value.shape)}; {agents} agents ask for {shape}")
