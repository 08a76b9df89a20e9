"""Mean scores of forecasts against the outcomes that came."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sphunc._typing import Tensor
from sphunc.errors import ArgumentError
from sphunc.forecasting.forecast import Forecast

METRICS = {False: ("log_likelihood", "accuracy"), True: ("log_likelihood", "r2")}
"""Scores of classes (False) and of numbers (True)."""


def mean_score(parts: Sequence[tuple[Forecast, Tensor, Tensor]], metric: str) -> float:
    """Mean over all outcomes that were observed.

    Args:
        parts: forecast, outcome ``[N]`` or ``[N, K]`` and mask ``[N]`` of each origin.
        metric: one of :data:`METRICS`.
    """
    rows = [_rows(forecast, outcome, mask, metric) for forecast, outcome, mask in parts]
    joined = torch.cat(rows)
    if not len(joined):
        raise ArgumentError("no outcome is observed after these origins; give others")
    if metric == "r2":
        return _explained(joined)
    return float(joined.double().mean())


def _rows(forecast: Forecast, outcome: Tensor, mask: Tensor, metric: str) -> Tensor:
    truth = outcome[mask]
    if metric == "accuracy":
        return (forecast.prediction[mask] == truth).double()
    if metric == "r2":
        return torch.cat([truth.double(), forecast.prediction[mask].double()], -1)
    if forecast.probabilities is not None:
        indicators = torch.nn.functional.one_hot(truth, len(forecast.class_names)).double()
        return -forecast.distribution.select(mask).nll(indicators)
    return -forecast.distribution.select(mask).nll(truth.double())


def _explained(rows: Tensor) -> float:
    """Share of the variation that is explained, averaged over outcomes; rows hold the truth, then the guess."""
    truth, guess = rows.chunk(2, -1)
    variation = (truth - truth.mean(0)).square().sum(0)
    if bool((variation == 0).any()):
        raise ArgumentError(
            "metric is 'r2', the share of variation that is explained, but the outcomes there do not vary; give "
            "origins= or data with outcomes that differ, or choose metric='log_likelihood'"
        )
    return float((1 - (truth - guess).square().sum(0) / variation).mean())
