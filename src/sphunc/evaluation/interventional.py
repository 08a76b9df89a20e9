"""Scores of interventional distributions against the true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Mask, Numbers, Rows, class_probabilities, flat_numbers, to_array


def total_variation(probabilities: Numbers, truth: Numbers, *, mask: Mask = None) -> float:
    r"""Mean over rows of the total variation :math:`\tfrac12 \sum_c |p_c - q_c|`, in [0, 1].

    A truth that was itself simulated with S draws has noise of about
    :math:`\sqrt{(C - 1) / (2 \pi S)}` that no answer can beat, for C classes that are equally likely;
    less for others.

    Args:
        probabilities: p, of the classes, ``[..., C]``.
        truth: q, the true ones, ``[..., C]``.
        mask: True where a row counts, ``[...]``.
    """
    p = to_array("probabilities", probabilities)
    q = to_array("truth", truth)
    if p.shape != q.shape:
        raise ArgumentError(f"truth: shape {q.shape} differs from {p.shape} of probabilities. Give equal shapes.")
    difference = class_probabilities(p, mask) - class_probabilities(q, mask, "truth")
    return float(0.5 * np.abs(difference).sum(axis=1).mean())


def class_entropy(probabilities: Numbers, *, mask: Mask = None) -> Rows:
    r"""Entropy :math:`-\sum_c p_c \log p_c` of each row, in nats.

    Args:
        probabilities: of the classes, ``[..., C]``.
        mask: True where a row counts, ``[...]``.
    """
    return entr(class_probabilities(probabilities, mask)).sum(axis=1)


@dataclass(frozen=True)
class EntropyError:
    """How far claimed entropies are from the true ones, in nats.

    Attributes:
        mean_absolute: mean size of the difference.
        bias: mean of claimed less true; positive claims too much uncertainty.
        root_mean_square: root of the mean squared difference.
    """

    mean_absolute: float
    bias: float
    root_mean_square: float


def entropy_error(entropy: Numbers, truth: Numbers, *, mask: Mask = None) -> EntropyError:
    """Compare claimed entropies with those of the true class probabilities.

    Args:
        entropy: claimed, in nats, ``[...]``.
        truth: true class probabilities, ``[..., C]``.
        mask: True where a row counts, ``[...]``.
    """
    claimed = to_array("entropy", entropy)
    q = to_array("truth", truth)
    if q.ndim < 2 or q.shape[:-1] != claimed.shape:
        raise ArgumentError(f"truth: shape {q.shape} does not fit entropy {claimed.shape}. Give [..., C] over it.")
    true_entropy = entr(class_probabilities(q, mask, "truth")).sum(axis=1)
    (claimed_rows,) = flat_numbers({"entropy": claimed}, mask)
    difference = claimed_rows - true_entropy
    return EntropyError(
        mean_absolute=float(np.abs(difference).mean()),
        bias=float(difference.mean()),
        root_mean_square=float(np.sqrt((difference**2).mean())),
    )
