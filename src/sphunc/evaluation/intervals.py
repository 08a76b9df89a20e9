"""Bootstrap intervals for any metric, by row or by cluster of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sphunc._typing import Float, Int
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.evaluation.inputs import Numbers, at_least, even_array, generator, inside, to_array


@dataclass(frozen=True)
class Interval:
    """A metric with its interval.

    Attributes:
        estimate: the metric on the rows as they are.
        low, high: ends of the interval; infinite where resamples are.
        level: its nominal coverage.
        samples: resamples on which the metric was defined.
        undefined: resamples on which it was not (an AUC when a resample holds one class only, or a metric that gives
            NaN); they are left out.
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
    metric: Callable[..., Any],
    *arrays: Numbers,
    clusters: Numbers | None = None,
    pivot: bool = False,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of ``metric(*arrays)``, rows (first axis) resampled together.

    Args:
        metric: takes the arrays, gives a number, or a result with a number as ``value`` (as :func:`macro_auc` does).
            Wrap results that hold several: ``lambda p, y: brier_parts(p, y).reliability``. A difference of two systems
            on the same rows is a metric of three arrays. Two groups of rows are one array and a flag:
            ``lambda u, new: out_of_distribution_auroc(u[~new], u[new])``.
        arrays: rows on the first axis, equally many. Flatten times and agents into rows and select what counts
            beforehand; draws go last: ``lambda x, y: crps_samples(x.T, y)``.
        clusters: a label per row; whole clusters are resampled. Give the agent when an agent has several rows, since
            its rows go right and wrong together and an interval by row is too narrow.
        pivot: reflect the interval at the estimate (basic bootstrap). For metrics that noise inflates, such as a
            calibration error, whose resamples lie above the estimate as the estimate lies above the truth: near
            perfect calibration the plain interval hardly ever holds the truth. The lower end may be negative.
        samples: resamples.
        level: nominal coverage.
        seed: of the resampling.

    Example:
        >>> p, y = np.tile([[0.8, 0.2]], (50, 1)), np.repeat([0, 1], [40, 10])
        >>> bootstrap(lambda p, y: float((p.argmax(1) == y).mean()), p, y, samples=200).estimate
        0.8
    """
    samples, level, rng = at_least("samples", samples, 2), inside("level", level), generator(seed)
    rows = [to_array(f"arrays[{i}]", array) for i, array in enumerate(arrays)]
    grouping = _group(clusters, _common_length(rows))
    estimate = _defined(_number(metric(*rows)))
    values = [_on_resample(metric, rows, grouping.draw(rng)) for _ in range(samples)]
    defined = np.array([value for value in values if value is not None])
    if 2 * len(defined) < samples:
        raise ArgumentError(
            f"metric: not defined on {samples - len(defined)} of {samples} resamples, so that an interval would "
            "mean little. Evaluate on more rows."
        )
    low, high = _ends(defined, estimate, level, pivot)
    return Interval(estimate, low, high, level, len(defined), samples - len(defined))


def _on_resample(metric: Callable[..., Any], rows: list[np.ndarray], index: Int[np.ndarray, " drawn"]) -> float | None:
    try:
        value = _number(metric(*(array[index] for array in rows)))
    except ArgumentError:
        # the metric took the rows themselves: only a degenerate resample can be at fault
        return None
    return None if math.isnan(value) else value


def _defined(estimate: float) -> float:
    if math.isnan(estimate):
        raise ArgumentError(
            "metric: gave NaN on the rows as they are, expected a number. Leave out the rows on which it has none."
        )
    return estimate


def _number(result: Any) -> float:
    try:
        return float(getattr(result, "value", result))
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"metric: gave a {type(result).__name__}, expected a number. Wrap it so that it gives one, as in "
            "lambda p, y: brier_parts(p, y).reliability."
        ) from None


def _ends(values: Float[np.ndarray, " sample"], estimate: float, level: float, pivot: bool) -> tuple[float, float]:
    low = _quantile(values, (1.0 - level) / 2.0, "lower")
    high = _quantile(values, (1.0 + level) / 2.0, "higher")
    if not pivot:
        return low, high
    below, above = 2.0 * estimate - high, 2.0 * estimate - low
    # infinity less infinity: nothing bounds that end
    return -math.inf if math.isnan(below) else below, math.inf if math.isnan(above) else above


def _quantile(values: Float[np.ndarray, " sample"], share: float, outward: Literal["lower", "higher"]) -> float:
    """Quantile between two values; next to an infinite one the outward of the two, as nothing lies between."""
    neighbours = [np.quantile(values, share, method=side) for side in ("lower", "higher")]
    finite = bool(np.isfinite(neighbours).all())
    return float(np.quantile(values, share, method="linear" if finite else outward))


def _common_length(rows: list[np.ndarray]) -> int:
    if not rows:
        raise ArgumentError("arrays: none given. Pass the arrays that the metric takes, in its order.")
    lengths = [len(array) if array.ndim else 0 for array in rows]
    if len(set(lengths)) != 1 or lengths[0] == 0:
        raise ArgumentError(f"arrays: first axes {lengths}, expected equal lengths above 0, one entry per row.")
    return lengths[0]


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Rows by cluster: those of cluster c are ``order[start[c] : start[c] + count[c]]``."""

    order: Int[np.ndarray, " row"]
    start: Int[np.ndarray, " cluster"]
    count: Int[np.ndarray, " cluster"]

    def draw(self, rng: np.random.Generator) -> Int[np.ndarray, " drawn"]:
        """Rows of as many clusters as there are, drawn with replacement."""
        drawn = rng.integers(len(self.count), size=len(self.count))
        sizes = self.count[drawn]
        offset = np.repeat(self.start[drawn] - (np.cumsum(sizes) - sizes), sizes)
        return self.order[offset + np.arange(len(offset))]


def _group(clusters: Numbers | None, length: int) -> _Grouping:
    if clusters is None:
        return _Grouping(np.arange(length), np.arange(length), np.ones(length, dtype=np.int64))
    labels = even_array("clusters", clusters)
    if labels.shape != (length,):
        raise ArgumentError(f"clusters: shape {labels.shape}, expected one label for each of the {length} rows.")
    _, group, count = np.unique(labels, return_inverse=True, return_counts=True)
    if len(count) < 2:
        raise ArgumentError("clusters: a single one, and resampling it changes nothing. Give two or more.")
    return _Grouping(np.argsort(group, kind="stable"), np.cumsum(count) - count, count)
