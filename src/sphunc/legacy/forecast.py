"""What happens next, how sure, and why unsure: one frozen value per forecast."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import polars as pl
from torch import Tensor

from sphunc._typing import Float
from sphunc.causal.columns import column_ends, id_column
from sphunc.errors import ArgumentError
from sphunc.legacy.months import continue_months


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Forecast:
    """Predictive distribution of every agent's outcome at ``target``, seen from ``origin``.

    Attributes:
        agents: the user's ids, N of them, in the order of every row below.
        origin: the user's label of the last time that was seen.
        target: label of the time that is forecast; continues the calendar of the data where that is regular.
        horizon: steps from origin to target.
        epistemic: entropy of the belief about each agent's state, in nats ``[N]``; comparable between agents of one
            model only.
        epistemic_scaled: the same between 0 (concentration 200) and 1 (concentration 1) ``[N]``.
        aleatoric: learned noise v of the outcome ``[N]``. Classes: v / (1 + v) is the share of outcomes that count as
            drawn at random (with ``noise="logit"``, v is a variance of logits). A number: its variance; of several
            numbers the mean of their variances, each over that of all its outcomes in training.
        total: both fused, in (0, 1), non-decreasing in each ``[N]``.
        class_names: C names; empty for numbers.
        probabilities: ``[N, C]``, or None for numbers.
        set: True for the classes of the conformal set ``[N, C]``; None unless a coverage was asked for.
        mean: ``[N, K]`` for numbers, else None.
        variance: ``[N, K]`` of the predictive law, for numbers, else None.
        interval: ``[N, K, 2]`` conformal, for numbers, when a coverage was asked for.
        coverage: of set or interval.
        caveat: what the coverage rests on.
        outcome_names: K names, for numbers; empty if they have none.
    """

    agents: tuple[Hashable, ...]
    origin: Any
    target: Any
    horizon: int
    epistemic: Tensor
    epistemic_scaled: Tensor
    aleatoric: Tensor
    total: Tensor
    class_names: tuple[str, ...] = ()
    probabilities: Tensor | None = None
    set: Tensor | None = None
    mean: Tensor | None = None
    variance: Tensor | None = None
    interval: Tensor | None = None
    coverage: float | None = None
    caveat: str = ""
    outcome_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_shapes(self)

    @property
    def numeric(self) -> bool:
        """True when outcomes are numbers."""
        return self.probabilities is None

    @property
    def confidence(self) -> Float[Tensor, " agent"]:
        """Probability of the class named, ``[N]``; for numbers 1 - total."""
        return 1.0 - self.total if self.probabilities is None else self.probabilities.max(-1).values

    @property
    def prediction(self) -> Tensor:
        """Most probable class (index) ``[N]``, or the mean ``[N, K]``."""
        if self.probabilities is not None:
            return self.probabilities.argmax(-1)
        assert self.mean is not None  # checked when made: one of the two is there
        return self.mean

    def to_frame(self) -> pl.DataFrame:
        """One row per agent, with the user's ids and names: of classes, or of numbers (``mean_<name>``)."""
        columns: dict[str, Any] = {"agent": id_column(self.agents), "time": [self.target] * len(self.agents)}
        columns |= self._class_columns() if self.probabilities is not None else self._number_columns()
        for name in ("epistemic", "epistemic_scaled", "aleatoric", "total"):
            columns[name] = getattr(self, name).tolist()
        return pl.DataFrame(columns, strict=False)

    def _class_columns(self) -> dict[str, Any]:
        assert self.probabilities is not None
        names = [self.class_names[c] for c in self.prediction.tolist()]
        columns: dict[str, Any] = {"prediction": names, "confidence": self.confidence.tolist()}
        for c, name in enumerate(self.class_names):
            columns[f"p({name})"] = self.probabilities[:, c].tolist()
        if self.set is not None:
            columns["set"] = [[self.class_names[c] for c in row.nonzero().flatten().tolist()] for row in self.set]
        return columns

    def _number_columns(self) -> dict[str, Any]:
        assert self.mean is not None
        assert self.variance is not None
        columns: dict[str, Any] = {}
        for k, end in enumerate(column_ends(self.outcome_names, self.mean.shape[1])):
            columns["mean" + end] = self.mean[:, k].tolist()
            columns["deviation" + end] = self.variance[:, k].sqrt().tolist()
            if self.interval is not None:
                columns["low" + end], columns["high" + end] = self.interval[:, k].mT.tolist()
        columns["confidence"] = self.confidence.tolist()
        return columns

    def __repr__(self) -> str:
        what = "numbers" if self.numeric else f"{len(self.class_names)} classes"
        sets = "" if self.coverage is None else f", sets for coverage {self.coverage:g}"
        return (
            f"Forecast({len(self.agents)} agents, {what}, {self.origin} -> {self.target}, "
            f"mean confidence {float(self.confidence.mean()):.2f}, mean total {float(self.total.mean()):.2f}{sets})"
        )


def next_time(times: tuple[Any, ...], index: int) -> Any:
    """Label of time ``index``, continuing a regular calendar beyond its end; "last + n" where it is not regular.

    Regular are times whole months apart (:func:`~sphunc.legacy.months.continue_months`) and times of one distance.
    """
    if index < len(times):
        return times[index]
    ahead = index - len(times) + 1
    if (month := continue_months(times, ahead)) is not None:
        return month
    steps = {later - earlier for earlier, later in pairwise(times)} if _can_subtract(times) else ()
    return times[-1] + ahead * next(iter(steps)) if len(steps) == 1 else f"{times[-1]} + {ahead}"


def _can_subtract(times: tuple[Any, ...]) -> bool:
    return len(times) > 1 and hasattr(times[0], "__sub__")


def _check_shapes(forecast: Forecast) -> None:
    N, C = len(forecast.agents), len(forecast.class_names)
    if (forecast.probabilities is None) == (forecast.mean is None):
        raise ArgumentError("a forecast has either probabilities (classes) or mean and variance (numbers)")
    K = 0 if forecast.mean is None else forecast.mean.shape[-1]
    if forecast.outcome_names and len(forecast.outcome_names) != K:
        raise ArgumentError(
            f"outcome_names has {len(forecast.outcome_names)} entries; give one for each of {K} numbers"
        )
    wanted = {"probabilities": (N, C), "set": (N, C), "mean": (N, K), "variance": (N, K), "interval": (N, K, 2)}
    for field in fields(forecast):
        value = getattr(forecast, field.name)
        shape = wanted.get(field.name, (N,))
        if isinstance(value, Tensor) and tuple(value.shape) != shape:
            raise ArgumentError(f"{field.name} has shape {tuple(value.shape)}; {N} agents ask for {shape}")
