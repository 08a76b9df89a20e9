"""Scores of what-if answers against the true law after an intervention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from sphunc._typing import Float
from sphunc.errors import ArgumentError
from sphunc.evaluation.inputs import Numbers, class_probabilities, counted, flat_numbers, to_array


def total_variation(probabilities: Numbers, truth: Numbers, *, mask: Numbers | None = None) -> float:
    r"""Mean over rows of the total variation :math:`\tfrac12 \sum_c |p_c - q_c|` from the true law, in [0, 1].

    A truth that was itself simulated with S draws has noise of about :math:`\sqrt{(C - 1) / (2 \pi S)}` that no answer
    can beat, for C classes that are equally likely; less for others.
    """
    p, q = _two_laws(probabilities, truth, mask)
    return float(0.5 * np.abs(p - q).sum(axis=1).mean())


def class_entropy(probabilities: Numbers, *, mask: Numbers | None = None) -> Float[np.ndarray, " row"]:
    r"""Entropy :math:`-\sum_c p_c \log p_c` of each row, in nats."""
    return entr(class_probabilities(probabilities, mask)).sum(axis=1)


@dataclass(frozen=True)
class EntropyError:
    """How far claimed entropies are from the true ones, in nats.

    Attributes:
        mean_absolute: mean size of the difference.
        bias: mean of claimed less true; positive means too unsure.
        root_mean_square: root of the mean squared difference.
    """

    mean_absolute: float
    bias: float
    root_mean_square: float


def entropy_error(entropy: Numbers, truth: Numbers, *, mask: Numbers | None = None) -> EntropyError:
    """Compare claimed entropies ``[...]`` with those of the true class probabilities ``[..., C]``."""
    claimed, law = to_array("entropy", entropy), to_array("truth", truth)
    if law.ndim < 2 or law.shape[:-1] != claimed.shape:
        raise ArgumentError(f"truth: shape {law.shape} does not fit entropy {claimed.shape}. Give [..., C] over it.")
    keep = counted(mask, claimed.shape)
    difference = flat_numbers(keep, entropy=claimed)[0] - entr(class_probabilities(law, keep, "truth")).sum(axis=1)
    return EntropyError(
        mean_absolute=float(np.abs(difference).mean()),
        bias=float(difference.mean()),
        root_mean_square=float(np.sqrt((difference**2).mean())),
    )


def _two_laws(
    probabilities: Numbers, truth: Numbers, mask: Numbers | None
) -> tuple[Float[np.ndarray, "row class"], Float[np.ndarray, "row class"]]:
    p, q = to_array("probabilities", probabilities), to_array("truth", truth)
    if p.shape != q.shape:
        raise ArgumentError(f"truth: shape {q.shape} differs from {p.shape} of probabilities. Give equal shapes.")
    return class_probabilities(p, mask), class_probabilities(q, mask, "truth")
