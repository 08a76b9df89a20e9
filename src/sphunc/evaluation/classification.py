"""Scores of class forecasts: what was right, how classes are told apart, and proper scores of the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from sphunc._typing import Bool, Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Numbers, at_least, class_forecast, number_where


def accuracy(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None) -> float:
    """Share of rows whose most probable class is the label (the first class wins a tie)."""
    p, y = class_forecast(probabilities, labels, mask)
    return float((p.argmax(axis=1) == y).mean())


def macro_f1(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None) -> float:
    """Mean over classes of the harmonic mean of precision and recall.

    Runs over the classes that occur among labels or predictions, as scikit-learn does; a class that occurs in one of
    them only counts 0.
    """
    p, y = class_forecast(probabilities, labels, mask)
    return float(f1_score(y, p.argmax(axis=1), average="macro", zero_division=0.0))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class MacroAUC:
    """Mean one-vs-rest area under the ROC curve over the classes present.

    Attributes:
        value: the mean.
        per_class: class index and its area, for the classes present.
        absent: classes that no label shows; they have no area and do not enter the mean.
    """

    value: float
    per_class: tuple[tuple[int, float], ...]
    absent: tuple[int, ...]

    def __str__(self) -> str:
        note = f" (classes {', '.join(map(str, self.absent))} absent from the labels)" if self.absent else ""
        return f"{self.value:.4f}{note}"


def macro_auc(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None) -> MacroAUC:
    """One-vs-rest area under the ROC curve, averaged over the classes present with equal weight.

    A class without a label in these rows has no area: it is left out of the mean and named in the result. With one
    class only nothing is told apart, which is an error.
    """
    p, y = class_forecast(probabilities, labels, mask)
    present = np.unique(y)
    if len(present) < 2:
        raise ArgumentError(
            f"labels: only class {present[0]} occurs, and an AUC compares two classes or more. "
            "Evaluate on more rows, or report accuracy and NLL alone."
        )
    areas = tuple((int(c), float(roc_auc_score(y == c, p[:, c]))) for c in present)
    absent = tuple(c for c in range(p.shape[1]) if c not in present)
    return MacroAUC(float(np.mean([area for _, area in areas])), areas, absent)


def nll(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None, least: float = 0.0) -> float:
    r"""Mean negative log likelihood in nats.

    .. math:: -\tfrac1n \sum_i \log \max(p_{i y_i}, \text{least})

    Infinite when a label that occurred had probability 0, unless ``least`` (say 1e-12) forgives it: the same number
    for every system in a comparison.
    """
    least = number_where("least", least, lambda v: 0.0 <= v < 1.0, "a probability in [0, 1), such as 1e-12")
    p, y = class_forecast(probabilities, labels, mask)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.maximum(p[np.arange(len(y)), y], least)).mean())


def brier(probabilities: Numbers, labels: Numbers, *, mask: Numbers | None = None) -> float:
    r"""Brier score summed over classes, :math:`\tfrac1n \sum_i \sum_c (p_{ic} - 1[y_i = c])^2`, in [0, 2]."""
    p, y = class_forecast(probabilities, labels, mask)
    return float(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean())


@dataclass(frozen=True)
class BrierParts:
    r"""The Brier score taken apart: score = reliability - resolution + uncertainty + within.

    Attributes:
        reliability: squared distance of forecasts from what happened, bin by bin; 0 is best.
        resolution: how far what happened differs between bins; large is good.
        uncertainty: score of the base rates, which no forecaster can change.
        within: spread of forecasts inside bins that the three do not see (Stephenson's two terms); exactly 0 when
            every bin holds one forecast value, and then the three are Murphy's.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The Brier score itself."""
        return self.reliability - self.resolution + self.uncertainty + self.within


def brier_parts(probabilities: Numbers, labels: Numbers, *, bins: int = 15, mask: Numbers | None = None) -> BrierParts:
    r"""Decompose the Brier score over equal-width bins, one class against the rest, summed over classes.

    .. math:: \sum_b \tfrac{n_b}{n} (\bar p_b - \bar o_b)^2 - \sum_b \tfrac{n_b}{n} (\bar o_b - \bar o)^2
              + \bar o (1 - \bar o) + \text{within}

    Reliability and resolution are both too large on few rows, by about the same amount.

    References: Murphy (1973), J. Appl. Meteorology 12; Stephenson, Coelho and Jolliffe (2008), Weather and
    Forecasting 23.
    """
    p, y = class_forecast(probabilities, labels, mask)
    edges = np.linspace(0.0, 1.0, at_least("bins", bins, 1) + 1)[1:-1]
    parts = np.sum([_parts_of_class(p[:, c], y == c, edges) for c in range(p.shape[1])], axis=0)
    return BrierParts(*map(float, parts))


def _parts_of_class(
    p: Float[np.ndarray, " row"], occurred: Bool[np.ndarray, " row"], edges: Float[np.ndarray, " edge"]
) -> tuple[float, float, float, float]:
    _, bin_of = np.unique(np.searchsorted(edges, p, side="right"), return_inverse=True)
    count = np.bincount(bin_of)
    mean_p, mean_o = np.bincount(bin_of, p) / count, np.bincount(bin_of, occurred) / count
    base, share = occurred.mean(), count / len(p)
    inner = p - mean_p[bin_of]
    within = np.mean(inner**2) - 2.0 * np.mean(inner * (occurred - mean_o[bin_of]))
    return (
        float(share @ (mean_p - mean_o) ** 2),
        float(share @ (mean_o - base) ** 2),
        float(base * (1.0 - base)),
        float(within),
    )
