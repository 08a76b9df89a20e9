"""Forecasts compared with what happened later, beside what anybody would guess without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import torch

from sphunc._typing import Tensor
from sphunc.errors import ArgumentError, DataError
from sphunc.estimator import SphUnc
from sphunc.evaluation import accuracy, brier, check_calibration, nll
from sphunc.forecasting import Forecast, class_forecasts, number_forecasts
from sphunc.hypergraph import TemporalHypergraph


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How good forecasts were.

    Attributes:
        scores: one row per system: the model, class frequencies and persistence (or the mean and the last number).
        by_time: of the model, one row per time that was forecast.
        forecasts: every forecast with what happened.
        calibration: a sentence; empty for numbers.
        outcomes: that were forecast and observed.
    """

    scores: pl.DataFrame
    by_time: pl.DataFrame
    forecasts: pl.DataFrame
    calibration: str
    outcomes: int


def evaluate(model: SphUnc, data: TemporalHypergraph, *, coverage: float = 0.9) -> Evaluation:
    """Forecast every time of ``data`` that is later than what the model learned from, and compare.

    Args:
        model: fitted.
        data: the past and what came later.
        coverage: of the sets or intervals.
    """
    horizon = model.config_.horizon
    last = model.schema_.last
    try:
        origins = [o for o in range(data.num_times - horizon) if data.times[o + horizon] > last]
    except TypeError:
        raise DataError(f"times of the data, such as {data.times[-1]!r}, cannot be compared with {last!r}") from None
    if data.y is None:
        raise DataError("the tables have no outcomes to compare with; add outcomes, or name the column (--outcome)")
    kept = [o for o in origins if bool(data.y_mask[o + horizon].any())]
    if not kept:
        raise ArgumentError(
            f"there is no outcome later than {last}, the last time that the model learned from; give tables of later "
            "times, or fit on a part of yours: --until TIME"
        )
    forecasts = [model.predict(data, origin_index=o, coverage=coverage) for o in kept]
    if model.schema_.numeric:
        return _numbers(model, data, kept, forecasts)
    return _classes(model, data, kept, forecasts)


def _classes(
    model: SphUnc, data: TemporalHypergraph, origins: Sequence[int], forecasts: Sequence[Forecast]
) -> Evaluation:
    classes = model.schema_.classes
    place = {name: c for c, name in enumerate(classes)}
    unknown = [name for name in data.class_names if name not in place]
    assert data.y is not None
    table = torch.tensor([place.get(name, -1) for name in data.class_names])
    labels = torch.where(data.y_mask, table[data.y.clamp(min=0)], -1)
    if bool((labels[data.y_mask] < 0).any()):
        raise DataError(f"the tables have the class {unknown[0]!r}, which the model does not know; fit again with it")
    horizon = model.config_.horizon
    happened: list[Tensor] = []
    shares: list[Tensor] = []
    followed: list[Tensor] = []
    for origin in origins:
        happened.append(labels[origin + horizon])
        past = labels[: origin + 1]
        frequencies, persistence = class_forecasts(past, past >= 0, horizon, len(classes))
        shares.append(frequencies.probabilities)
        followed.append(persistence.probabilities)
    observed = torch.stack(happened) >= 0
    y = torch.stack(happened)[observed]
    p = torch.stack([_probabilities(one) for one in forecasts])[observed]
    systems = {
        "SphUnc": p,
        "class frequencies": torch.stack(shares)[observed],
        "last outcome": torch.stack(followed)[observed],
    }
    scores = pl.DataFrame(
        [
            {"system": name, "nll": nll(q, y), "accuracy": accuracy(q, y), "brier": brier(q, y)}
            for name, q in systems.items()
        ]
    )
    rows = []
    for forecast, truth in zip(forecasts, happened, strict=True):
        mask = truth >= 0
        q = _probabilities(forecast)[mask]
        inside = forecast.prediction_set(forecast.coverage or 0.9)[mask]
        rows.append(
            {
                "time": str(forecast.target),
                "outcomes": int(mask.sum()),
                "nll": nll(q, truth[mask]),
                "accuracy": accuracy(q, truth[mask]),
                "coverage": float(inside[torch.arange(len(q)), truth[mask]].float().mean()),
            }
        )
    named = [[classes[c] if c >= 0 else None for c in truth.tolist()] for truth in happened]
    frame = _with_truth(forecasts, named)
    return Evaluation(scores, pl.DataFrame(rows), frame, str(check_calibration(p, y)), int(observed.sum()))


def _numbers(
    model: SphUnc, data: TemporalHypergraph, origins: Sequence[int], forecasts: Sequence[Forecast]
) -> Evaluation:
    assert data.y is not None
    horizon = model.config_.horizon
    errors: dict[str, list[Tensor]] = {"SphUnc": [], "mean": [], "last outcome": []}
    rows = []
    happened = []
    for origin, forecast in zip(origins, forecasts, strict=True):
        mask = data.y_mask[origin + horizon]
        truth = data.y[origin + horizon][mask]
        mean, last = number_forecasts(data.y[: origin + 1], data.y_mask[: origin + 1], horizon)
        assert forecast.mean is not None
        for name, guess in (("SphUnc", forecast.mean), ("mean", mean.mean), ("last outcome", last.mean)):
            errors[name].append((guess[mask] - truth).flatten())
        interval = forecast.interval
        assert interval is not None
        inside = (truth >= interval[mask][..., 0]) & (truth <= interval[mask][..., 1])
        rows.append(
            {
                "time": str(forecast.target),
                "outcomes": int(mask.sum()),
                "rmse": float(errors["SphUnc"][-1].double().square().mean().sqrt()),
                "coverage": float(inside.float().mean()),
            }
        )
        values = data.y[origin + horizon][:, 0].tolist()
        happened.append([value if kept else None for value, kept in zip(values, mask.tolist(), strict=True)])
    scores = []
    for name, parts in errors.items():
        error = torch.cat(parts).double()
        scores.append({"system": name, "rmse": float(error.square().mean().sqrt()), "mae": float(error.abs().mean())})
    outcomes = sum(row["outcomes"] for row in rows)
    return Evaluation(pl.DataFrame(scores), pl.DataFrame(rows), _with_truth(forecasts, happened), "", outcomes)


def _probabilities(forecast: Forecast) -> Tensor:
    assert forecast.probabilities is not None
    return forecast.probabilities.double()


def _with_truth(forecasts: Sequence[Forecast], happened: Sequence[Sequence[object]]) -> pl.DataFrame:
    frames = []
    for forecast, truth in zip(forecasts, happened, strict=True):
        frame = forecast.to_frame().with_columns(pl.col("time").cast(pl.String))
        frames.append(frame.with_columns(pl.Series("happened", truth, strict=False)))
    return pl.concat(frames, how="diagonal_relaxed")
