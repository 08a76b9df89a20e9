"""Bootstrap intervals for any metric, by row or by cluster of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Float
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.evaluation.inputs import Numbers, even_array, share, to_array

Metric = Callable[..., Any]
Values = Float[np.ndarray, " sample"]


@dataclass(frozen=True)
class Interval:
    """A metric with its interval.

    Attributes:
        estimate: the metric on the rows as they are.
        low, high: ends of the interval; infinite where resamples are.
        level: its nominal coverage.
        samples: resamples on which the metric was defined.
        undefined: resamples on which it was not (an AUC when a resample holds one class only, or a
            metric that gives NaN); they are left out.
    """

    estimate: float
    low: float
    high: float
    level: float
    samples: int
    undefined: int

    def __str__(self) -> str:
        return f"{self.estimate:.4f} [{self.low:.4f}, {self.high:.4f}]"


def bootstrap(
    metric: Metric,
    *arrays: Numbers,
    clusters: Numbers | None = None,
    pivot: bool = False,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of ``metric(*arrays)``, rows (first axis) resampled together.

    Args:
        metric: takes the arrays, gives a number, or a result with a number as ``value`` (as
            :func:`macro_auc` does). Wrap results that hold several:
            ``lambda p, y: brier_parts(p, y).reliability``. A difference of two systems on the same
            rows is a metric of three arrays. Two sets of rows are one array and a flag:
            ``lambda u, new: out_of_distribution_auroc(u[~new], u[new])``.
        arrays: rows on the first axis, equally many. Flatten times and agents into rows and select
            what counts beforehand; draws go last: ``lambda x, y: crps_samples(x.T, y)``.
        clusters: a label per row; whole clusters are resampled. Give the agent when an agent has
            several rows: their errors are correlated, and an interval by row is too narrow.
        pivot: reflect the interval at the estimate (basic bootstrap). For metrics that noise
            inflates, such as a calibration error, whose resamples lie above the estimate as the
            estimate lies above the truth. The lower end may be negative.
        samples: resamples.
        level: nominal coverage.
        seed: of the resampling.

    Example:
        >>> p, y = np.tile([[0.8, 0.2]], (50, 1)), np.repeat([0, 1], [40, 10])
        >>> bootstrap(lambda p, y: float((p.argmax(1) == y).mean()), p, y, samples=200).estimate
        0.8
    """
    samples = whole_number("samples", samples, least=2)
    level = share("level", level, allow_one=False)
    rng = np.random.default_rng(seed_number(seed))
    rows = [to_array(f"arrays[{i}]", array) for i, array in enumerate(arrays)]
    length = _common_length(rows)
    rows_of = None
    if clusters is not None:
        rows_of = _rows_of_clusters(clusters, length)
    estimate = _number(metric(*rows))
    if math.isnan(estimate):
        raise ArgumentError(
            "metric: gave NaN on the rows as they are, expected a number. Leave out the rows on which it has none."
        )

    values = []
    for _ in range(samples):
        index = _resample(rng, length, rows_of)
        values.append(_on_resample(metric, [array[index] for array in rows]))
    defined = np.array(values)[~np.isnan(values)]
    undefined = samples - len(defined)
    if 2 * len(defined) < samples:
        raise ArgumentError(
            f"metric: not defined on {undefined} of {samples} resamples, so that an interval would "
            "mean little. Evaluate on more rows."
        )

    low = _quantile(defined, (1.0 - level) / 2.0, "lower")
    high = _quantile(defined, (1.0 + level) / 2.0, "higher")
    if pivot:
        low, high = _reflected(low, high, estimate)
    return Interval(estimate, low, high, level, len(defined), undefined)


def _rows_of_clusters(clusters: Numbers, length: int) -> list[np.ndarray]:
    labels = even_array("clusters", clusters)
    if labels.shape != (length,):
        raise ArgumentError(f"clusters: shape {labels.shape}, expected one label for each of the {length} rows.")
    _, cluster, count = np.unique(labels, return_inverse=True, return_counts=True)
    if len(count) < 2:
        raise ArgumentError("clusters: a single one, and resampling it changes nothing. Give two or more.")
    return np.split(np.argsort(cluster, kind="stable"), np.cumsum(count)[:-1])


def _resample(rng: np.random.Generator, length: int, rows_of: list[np.ndarray] | None) -> np.ndarray:
    """Rows drawn with replacement, alone or with all others of their cluster."""
    if rows_of is None:
        return rng.integers(length, size=length)
    drawn = rng.integers(len(rows_of), size=len(rows_of))
    return np.concatenate([rows_of[cluster] for cluster in drawn])


def _on_resample(metric: Metric, rows: list[np.ndarray]) -> float:
    """Value of the metric; NaN where it refuses, which only a degenerate resample can cause."""
    try:
        return _number(metric(*rows))
    except ArgumentError:
        return math.nan


def _number(result: object) -> float:
    try:
        return float(getattr(result, "value", result))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"metric: gave a {type(result).__name__}, expected a number. Wrap it so that it gives one, as in "
            "lambda p, y: brier_parts(p, y).reliability."
        ) from None


def _quantile(values: Values, level: float, outward: Literal["lower", "higher"]) -> float:
    """Quantile between two values; next to an infinite one the outward of the two."""
    neighbours = [np.quantile(values, level, method=side) for side in ("lower", "higher")]
    if np.isfinite(neighbours).all():
        return float(np.quantile(values, level))
    return float(np.quantile(values, level, method=outward))


def _reflected(low: float, high: float, estimate: float) -> tuple[float, float]:
    below = 2.0 * estimate - high
    above = 2.0 * estimate - low
    # infinity less infinity: nothing bounds that end
    if math.isnan(below):
        below = -math.inf
    if math.isnan(above):
        above = math.inf
    return below, above


def _common_length(rows: list[np.ndarray]) -> int:
    if not rows:
        raise ArgumentError("arrays: none given. Pass the arrays that the metric takes, in its order.")
    lengths = {array.shape[:1] for array in rows}
    (length,) = lengths.pop() or (0,)
    if lengths or length == 0:
        shapes = [array.shape for array in rows]
        raise ArgumentError(f"arrays: shapes {shapes}, expected equal lengths above 0 of the first axes, the rows.")
    return length
