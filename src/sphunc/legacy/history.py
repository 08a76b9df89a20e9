"""What happened while training: one record per pass, as values that a callback, a table or a page can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from sphunc._typing import Bool, Float, Int, Tensor

BINS = 15


@dataclass(frozen=True)
class EpochRecord:
    """One pass over the training outcomes.

    Attributes:
        stage: "cross-fit", "train" or "refit".
        epoch: number of the pass in its stage, from 0.
        epochs: most passes that the stage may take.
        prediction: mean negative log-likelihood of training outcomes, with dropout.
        entropy: loss of the total uncertainty against cross-fitted errors.
        causal: loss of the structural step.
        total: the weighted sum that was minimised.
        validation: negative log-likelihood on held-out outcomes; None when nothing is held out.
        ece: calibration error on the same, 15 bins; None for numbers. Compare with the floor of a perfect model.
        confidence: identification confidence of the influence structure in use, 0 ... 1.
        seconds: time the pass took.
        is_best: whether this pass was kept as the best so far.
        rival: whether it belongs to the fit without what is plainly seen, for comparison; callbacks and the bar see
            both fits, ``history_`` holds the passes of the one that was kept.
    """

    stage: str
    epoch: int
    epochs: int
    prediction: float
    entropy: float
    causal: float
    total: float
    validation: float | None
    ece: float | None
    confidence: float
    seconds: float
    is_best: bool
    rival: bool = False


Callback = Callable[[EpochRecord], None]


def top_label_ece(
    log_probabilities: Float[Tensor, "*batch class"], labels: Int[Tensor, "*batch"], mask: Bool[Tensor, "*batch"]
) -> float:
    """Expected calibration error of the top label over 15 equal bins, on the rows that count; for progress only."""
    confidence, named = log_probabilities[mask].exp().max(-1)
    surplus = (named == labels[mask]).to(torch.float64) - confidence.double()
    bins = (confidence * BINS).long().clamp(0, BINS - 1)
    gaps = torch.zeros(BINS, dtype=torch.float64, device=surplus.device).index_add_(0, bins, surplus)
    return float(gaps.abs().sum() / max(len(surplus), 1))
