"""The numbers of a cell: from forecasts and outcomes, and from scores of candidate links and true links.

A measure that is not defined on the rows at hand (an AUC where one class occurs) is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int, Links
from sphunc.errors import ArgumentError
from sphunc.evaluation.calibration import adaptive_ece, classwise_ece, debiased_squared_error
from sphunc.evaluation.classification import accuracy, brier, brier_parts, macro_auc, macro_f1, nll
from sphunc.evaluation.floor import check_calibration
from sphunc.evaluation.links import auprc, base_rate, precision_at_k, precision_at_k_per_target, r_precision
from sphunc.evaluation.selective import aurc, fpr95, misclassification_auroc
from sphunc.evaluation.smooth import smooth_ece

Measures = dict[str, float | int | bool | None]
TrueLinks = Int[Tensor, "2 true"]

LEAST = 1e-12
"""Least probability in a log: the same for every system, so that one certain error does not end a comparison."""


def forecast_measures(
    probabilities: Float[Tensor, "row class"], labels: Int[Tensor, " row"], uncertainty: Float[Tensor, " row"]
) -> Measures:
    """Measures of class forecasts, all test origins pooled.

    Args:
        probabilities: a row per agent and test origin whose outcome was observed.
        labels: the outcomes.
        uncertainty: the system's own, larger is less sure; ``aurc`` and the band use the probabilities instead.
    """
    p, y = probabilities.double().numpy(), labels.numpy()
    top, correct = p.max(axis=1), p.argmax(axis=1) == y
    check, parts, own = check_calibration(p, y), brier_parts(p, y), uncertainty.double().numpy()
    squared = debiased_squared_error(p, y)
    return {
        "rows_test": len(y),
        "accuracy": accuracy(p, y),
        "macro_f1": macro_f1(p, y),
        "macro_auc": _defined(lambda: macro_auc(p, y).value),
        "nll": nll(p, y, least=LEAST),
        "brier": brier(p, y),
        "brier_reliability": parts.reliability,
        "brier_resolution": parts.resolution,
        "brier_uncertainty": parts.uncertainty,
        "brier_within": parts.within,
        "ece": check.ece,
        "ece_floor": check.null.floor,
        "ece_low": check.null.low,
        "ece_high": check.null.high,
        "ece_calibrated": check.is_calibrated,
        "ece_p": check.p_value,
        "squared_ece_debiased": squared,
        "ece_debiased": max(squared, 0.0) ** 0.5,
        "ece_adaptive": adaptive_ece(p, y),
        "ece_classwise": classwise_ece(p, y),
        "ece_smooth": smooth_ece(p, y),
        "aurc": aurc(1.0 - top, ~correct),
        "aurc_own": aurc(own, ~correct),
        "misclassification_auroc": _defined(lambda: misclassification_auroc(1.0 - top, correct)),
        "misclassification_auroc_own": _defined(lambda: misclassification_auroc(own, correct)),
        "misclassification_fpr95": _defined(lambda: fpr95(1.0 - top[correct], 1.0 - top[~correct])),
        "misclassification_fpr95_own": _defined(lambda: fpr95(own[correct], own[~correct])),
    }


def link_measures(score: Float[Tensor, " link"], candidates: Links, is_true: Bool[Tensor, " link"]) -> Measures:
    """Measures of a ranking of candidate links, shared by all systems; None where no candidate is true."""
    s, truth, target = score.double().numpy(), is_true.numpy(), candidates[1].numpy()
    return {
        "p_at_10": _defined(lambda: precision_at_k(s, truth, 10)) if truth.any() else None,
        "p_at_10_per_target": _defined(lambda: precision_at_k_per_target(s, truth, target, 10)),
        "auprc": _defined(lambda: auprc(s, truth)),
        "r_precision": _defined(lambda: r_precision(s, truth)),
    }


def candidate_measures(candidates: Links, links: TrueLinks, is_true: Bool[Tensor, " link"]) -> Measures:
    """How many candidates there are, the level of chance, and how many of the true links are among them."""
    return {
        "candidates": candidates.shape[1],
        "link_base_rate": base_rate(is_true.numpy()) if candidates.shape[1] else None,
        "links_within_reach": int(is_true.sum()) / links.shape[1] if links.shape[1] else None,
    }


def among(candidates: Links, links: TrueLinks, num_agents: int) -> Bool[Tensor, " link"]:
    """Whether each candidate is one of the links."""
    return torch.isin(candidates[0] * num_agents + candidates[1], links[0] * num_agents + links[1])


def _defined(measure: Callable[[], float]) -> float | None:
    try:
        value = measure()
    except ArgumentError:
        return None
    return float(value) if np.isfinite(value) else None
