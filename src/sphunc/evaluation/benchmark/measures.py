"""The numbers of a cell: from forecasts and outcomes, and from scores of candidate links and true links.

A measure that is not defined on the rows at hand (an AUC where one class occurs) is None, never a guess.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sphunc._typing import Bool, Float, Int, Links
from sphunc.errors import ArgumentError
from sphunc.evaluation.calibration import adaptive_ece, classwise_ece, debiased_squared_error
from sphunc.evaluation.classification import accuracy, brier, brier_parts, macro_auc, macro_f1, nll
from sphunc.evaluation.floor import check_calibration
from sphunc.evaluation.intervals import Metric
from sphunc.evaluation.links import auprc, base_rate, precision_at_k, precision_at_k_per_target, r_precision
from sphunc.evaluation.selective import aurc, fpr95, misclassification_auroc
from sphunc.evaluation.smooth import smooth_ece

Measures = dict[str, float | int | bool | None]
IsLink = Bool[Tensor, " link"]
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
        uncertainty: the system's own, larger is less certain; ``aurc`` and the band use the probabilities instead.
    """
    p = probabilities.double().numpy()
    y = labels.numpy()
    own = uncertainty.double().numpy()
    doubt = 1.0 - p.max(axis=1)
    correct = p.argmax(axis=1) == y
    check = check_calibration(p, y)
    parts = brier_parts(p, y)
    squared = debiased_squared_error(p, y)
    return {
        "rows_test": len(y),
        "accuracy": accuracy(p, y),
        "macro_f1": macro_f1(p, y),
        "macro_auc": _defined(macro_auc, p, y),
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
        "aurc": aurc(doubt, ~correct),
        "aurc_own": aurc(own, ~correct),
        "misclassification_auroc": _defined(misclassification_auroc, doubt, correct),
        "misclassification_auroc_own": _defined(misclassification_auroc, own, correct),
        "misclassification_fpr95": _defined(fpr95, doubt[correct], doubt[~correct]),
        "misclassification_fpr95_own": _defined(fpr95, own[correct], own[~correct]),
    }


def link_measures(score: Float[Tensor, " link"], candidates: Links, is_true: IsLink) -> Measures:
    """Measures of a ranking of candidate links, shared by all systems; None where no candidate is true.

    Args:
        score: of each candidate, larger is stronger.
        candidates: rows source and target, ``[2, K]``.
        is_true: whether each candidate is a true link.
    """
    s = score.double().numpy()
    truth = is_true.numpy()
    if not truth.any():
        return dict.fromkeys(("p_at_10", "p_at_10_per_target", "auprc", "r_precision"))
    return {
        "p_at_10": _defined(precision_at_k, s, truth),
        "p_at_10_per_target": _defined(precision_at_k_per_target, s, truth, candidates[1].numpy()),
        "auprc": auprc(s, truth),
        "r_precision": r_precision(s, truth),
    }


def candidate_measures(candidates: Links, links: TrueLinks, is_true: IsLink) -> Measures:
    """How many candidates there are, the level of chance, and the share of the true links among them.

    Args:
        candidates: rows source and target, ``[2, K]``.
        links: the true ones, at least one.
        is_true: whether each candidate is a true link.
    """
    return {
        "candidates": candidates.shape[1],
        "link_base_rate": _defined(base_rate, is_true.numpy()),
        "links_within_reach": int(is_true.sum()) / links.shape[1],
    }


def among(candidates: Links, links: TrueLinks, num_agents: int) -> IsLink:
    """Whether each candidate is one of the links.

    Args:
        candidates: rows source and target, ``[2, K]``.
        links: the true ones.
        num_agents: N.
    """
    return torch.isin(candidates[0] * num_agents + candidates[1], links[0] * num_agents + links[1])


def _defined(metric: Metric, *arrays: np.ndarray) -> float | None:
    try:
        result = metric(*arrays)
    except ArgumentError:
        return None
    return float(getattr(result, "value", result))
