"""Scores of forecasts against the outcomes that came."""

from __future__ import annotations

import torch
from torch import Tensor

from sphunc.errors import ArgumentError
from sphunc.legacy.forecast import Forecast
from sphunc.legacy.outlook import Outlook


def judge(forecast: Forecast, outcome: Tensor, mask: Tensor, metric: str, scale: Tensor) -> Tensor:
    """Return what a metric is computed from, one row per outcome that counts.

    Args:
        forecast: of all agents.
        outcome: what came ``[N]`` or ``[N, K]``.
        mask: whose outcomes count ``[N]``.
        metric: "log_likelihood" and "accuracy" are means of the rows; "r2" needs all rows of all origins together.
        scale: spread of each number in training ``[K]``.
    """
    log_p = None if forecast.probabilities is None else forecast.probabilities.log()
    variance = None if forecast.variance is None else (forecast.variance / scale.double().square()).to(scale.dtype)
    unit = None if forecast.mean is None else scale.expand_as(forecast.mean)
    outlook = Outlook(log_p, forecast.mean, variance, forecast.total, unit).rows(mask)
    truth = outcome[mask]
    if metric == "log_likelihood":
        return -outlook.surprise(truth)
    if metric == "accuracy":
        return (forecast.prediction[mask] == truth).double()
    return torch.cat([truth, forecast.prediction[mask]], -1)


def explained(rows: Tensor) -> float:
    """Share of the variation that is explained, averaged over outcomes; rows hold the truth, then the guess."""
    truth, guess = rows.double().chunk(2, -1)
    alike = (truth == truth[0]).all(0).nonzero().flatten().tolist()
    if alike:
        got = (
            "only one outcome is" if len(truth) == 1 else f"all {len(truth)} outcomes are {float(truth[0, alike[0]]):g}"
        )
        raise ArgumentError(
            f"metric is 'r2', the share of variation that is explained, but {got} there, and nothing varies; give "
            "origins= or data with outcomes that differ, or choose metric='log_likelihood'"
        )
    return float((1 - (truth - guess).square().sum(0) / (truth - truth.mean(0)).square().sum(0)).mean())
