"""Scores of class forecasts: hits, separation of classes, and proper scores of the probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from sphunc._checks import number_between, some_names
from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.calibration import BINS, equal_width
from sphunc.evaluation.inputs import Flags, Mask, Numbers, Rows, class_forecast


def accuracy(probabilities: Numbers, labels: Numbers, *, mask: Mask = None) -> float:
    """Share of rows whose most probable class is the label (the first class wins a tie).

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
    """
    p, y = class_forecast(probabilities, labels, mask)
    return float((p.argmax(axis=1) == y).mean())


def macro_f1(probabilities: Numbers, labels: Numbers, *, mask: Mask = None) -> float:
    """Mean over classes of the harmonic mean of precision and recall.

    Runs over the classes that occur among labels or predictions, as scikit-learn does; a class that
    occurs in one of them only counts 0.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
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
        if not self.absent:
            return f"{self.value:.4f}"
        return f"{self.value:.4f} (classes {some_names(self.absent)} absent from the labels)"


def macro_auc(probabilities: Numbers, labels: Numbers, *, mask: Mask = None) -> MacroAUC:
    """One-vs-rest area under the ROC curve, averaged over the classes present with equal weight.

    A class without a label in these rows has no area: it is left out of the mean and named in the
    result. With one class only there is no second class to separate, which is an error.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
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


def nll(probabilities: Numbers, labels: Numbers, *, mask: Mask = None, least: float = 0.0) -> float:
    r"""Mean negative log-likelihood in nats.

    .. math:: -\tfrac1n \sum_i \log \max(p_{i y_i}, \text{least})

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
        least: smallest probability in the logarithm. At 0 the result is infinite when a label that
            occurred had probability 0; give the same number (say 1e-12) to every system compared.
    """
    least = number_between("least", least, 0.0, 1.0)
    p, y = class_forecast(probabilities, labels, mask)
    of_label = p[np.arange(len(y)), y]
    with np.errstate(divide="ignore"):
        return float(-np.log(np.maximum(of_label, least)).mean())


def brier(probabilities: Numbers, labels: Numbers, *, mask: Mask = None) -> float:
    r"""Brier score summed over classes, :math:`\tfrac1n \sum_i \sum_c (p_{ic} - 1[y_i = c])^2`, in [0, 2].

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        mask: True where a row counts, ``[...]``.
    """
    p, y = class_forecast(probabilities, labels, mask)
    return float(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean())


@dataclass(frozen=True)
class BrierParts:
    r"""The Brier score decomposed: score = reliability - resolution + uncertainty + within.

    Attributes:
        reliability: squared distance of forecasts from what happened, bin by bin; 0 is best.
        resolution: how far what happened differs between bins; large is good.
        uncertainty: score of the base rates, which no forecaster can change.
        within: spread of forecasts inside bins, which the other three miss (Stephenson's two terms);
            exactly 0 when every bin holds one forecast value, and then the three are Murphy's.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The Brier score itself."""
        return self.reliability - self.resolution + self.uncertainty + self.within


def brier_parts(probabilities: Numbers, labels: Numbers, *, bins: int = BINS, mask: Mask = None) -> BrierParts:
    r"""Decompose the Brier score over equal-width bins, one class against the rest, summed over classes.

    .. math:: \sum_b \tfrac{n_b}{n} (\bar p_b - \bar o_b)^2 - \sum_b \tfrac{n_b}{n} (\bar o_b - \bar o)^2
              + \bar o (1 - \bar o) + \text{within}

    Reliability and resolution are both too large on few rows, by about the same amount.

    References: Murphy (1973), J. Appl. Meteorology 12; Stephenson, Coelho and Jolliffe (2008),
    Weather and Forecasting 23.

    Args:
        probabilities: of the classes, ``[..., C]``.
        labels: class indices 0 ... C-1, ``[...]``.
        bins: number of bins on [0, 1].
        mask: True where a row counts, ``[...]``.
    """
    p, y = class_forecast(probabilities, labels, mask)
    parts = np.sum([_parts_of_class(of_class, y == c, bins) for c, of_class in enumerate(p.T)], axis=0)
    return BrierParts(*parts.tolist())


def _parts_of_class(p: Rows, occurred: Flags, bins: int) -> Float[np.ndarray, " part"]:
    _, bin_of = np.unique(equal_width(p, bins), return_inverse=True)
    count = np.bincount(bin_of)
    weight = count / len(p)
    mean_p = np.bincount(bin_of, p) / count
    mean_o = np.bincount(bin_of, occurred) / count
    base = occurred.mean()
    inner = p - mean_p[bin_of]
    within = np.mean(inner**2) - 2.0 * np.mean(inner * (occurred - mean_o[bin_of]))
    reliability = weight @ (mean_p - mean_o) ** 2
    resolution = weight @ (mean_o - base) ** 2
    return np.array([reliability, resolution, base * (1.0 - base), within])
