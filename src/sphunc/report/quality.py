"""Forecast quality on outcomes that the model did not see, beside simple forecasts, with floors and intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch

from sphunc._typing import Bool, Float, Int, Tensor
from sphunc.errors import SphuncError
from sphunc.estimator import SphUnc
from sphunc.evaluation import (
    accuracy,
    bootstrap,
    brier,
    check_calibration,
    crps_gaussian,
    ece,
    macro_auc,
    macro_f1,
    nll,
    reliability_curve,
)
from sphunc.forecasting import Forecast, align, class_forecasts, number_forecasts
from sphunc.hypergraph import TemporalHypergraph
from sphunc.model import SphUncConfig
from sphunc.report.checks import check_fitted, default_model
from sphunc.report.drawing import Figure, reliability_plot
from sphunc.report.table import Table

ENOUGH_ROWS = 300
"""Held-out outcomes that are aimed at."""
MOST_CELLS = 30_000
"""Agents times times up to which the full model is fitted again without the last times."""
MOST_ORIGINS = 6
RESAMPLES = 200
COVERAGE = 0.9
Metric = Callable[..., object]
Reading = tuple[str, Callable[..., object], str]


@dataclass(frozen=True, eq=False)
class HeldOutOutcomes:
    """Outcomes that a model did not see, its forecasts of them, and two simple forecasts.

    Attributes:
        forecasts: of every origin.
        outcome: what happened: classes, or numbers ``[n, K]``, of the rows that were observed ``[n]``.
        agent: of every row ``[n]``.
        frequencies: of outcomes up to the origin, for every row: probabilities, or means ``[n, C]``.
        last_outcome: what followed the last outcome as often before, or the last number ``[n, C]``.
        observed: rows of every forecast that were observed ``[N]``.
        how: what was held out.
        is_numeric: True for numbers.
    """

    forecasts: tuple[Forecast, ...]
    outcome: Tensor
    agent: Int[Tensor, " row"]
    frequencies: Float[Tensor, "row output"]
    last_outcome: Float[Tensor, "row output"]
    observed: tuple[Bool[Tensor, " agent"], ...]
    how: str
    is_numeric: bool

    def stacked(self, name: str) -> Tensor:
        """One array of the forecasts, of the rows that were observed.

        Args:
            name: of the array.
        """
        pairs = zip(self.forecasts, self.observed, strict=True)
        return torch.cat([getattr(forecast, name)[observed] for forecast, observed in pairs])


def held_out_outcomes(model: SphUnc, data: TemporalHypergraph) -> HeldOutOutcomes | None:
    """Forecast outcomes later than the training data; without any, fit the same settings again without the last times.

    None where nothing can be held out, or where fitting again would take long.

    Args:
        model: as fitted.
        data: with outcomes.
    """
    check_fitted("held_out_outcomes", model)
    horizon = model.config_.horizon
    later = _later_origins(model, data)
    if later:
        return _collect(model, data, later, f"outcomes later than {model.schema_.last}, which the fit did not see")
    learned = default_model(model)
    origins = list(range(data.num_times - horizon))
    origins = [o for o in origins if bool(data.y_mask[o + horizon].any())]
    if learned is None or len(origins) < 2:
        return None
    per_time = float(data.y_mask.sum(1).double().mean())
    wanted = math.ceil(ENOUGH_ROWS / max(1.0, per_time))
    count = max(1, min(wanted, len(origins) // 3, MOST_ORIGINS))
    held = origins[-count:]
    config = model.config_
    assert isinstance(config, SphUncConfig)
    if learned.weight == 0:
        # The forecast is that of the regression alone.
        config = config.model_copy(update={"quick": True})
    elif data.num_nodes * data.num_times > MOST_CELLS:
        return None
    past = data.until_index(held[0])
    try:
        with warnings.catch_warnings():
            # They were given when the model was fitted.
            warnings.simplefilter("ignore", UserWarning)
            again = SphUnc(config, seed=model.seed, device=model.device).fit(past, verbose=False)
    except SphuncError:
        return None
    how = f"the same settings were fitted again on times up to {past.times[-1]}, and forecast what came later"
    return _collect(again, data, held, how)


def _later_origins(model: SphUnc, data: TemporalHypergraph) -> list[int]:
    if model.schema_.last not in data.times:
        return []
    horizon = model.config_.horizon
    last = data.time_index(model.schema_.last)
    first = max(0, last + 1 - horizon)
    found = [o for o in range(first, data.num_times - horizon) if bool(data.y_mask[o + horizon].any())]
    return found[:MOST_ORIGINS]


def _collect(model: SphUnc, data: TemporalHypergraph, origins: Sequence[int], how: str) -> HeldOutOutcomes:
    aligned = align(data, model.schema_)
    assert aligned.y is not None
    horizon = model.config_.horizon
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        forecasts = [model.predict(data, origin_index=origin) for origin in origins]
    observed = [aligned.y_mask[origin + horizon].cpu() for origin in origins]
    outcome = [aligned.y[o + horizon].cpu()[mask] for o, mask in zip(origins, observed, strict=True)]
    agent = [mask.nonzero().flatten() for mask in observed]
    simple = [simple_forecasts(aligned, origin, horizon) for origin in origins]
    frequencies = [one[0][mask] for one, mask in zip(simple, observed, strict=True)]
    last = [one[1][mask] for one, mask in zip(simple, observed, strict=True)]
    return HeldOutOutcomes(
        tuple(forecasts),
        torch.cat(outcome),
        torch.cat(agent),
        torch.cat(frequencies),
        torch.cat(last),
        tuple(observed),
        how,
        model.schema_.numeric,
    )


def simple_forecasts(
    data: TemporalHypergraph, origin: int, horizon: int
) -> tuple[Float[Tensor, "agent output"], Float[Tensor, "agent output"]]:
    """Frequencies of outcomes up to an origin (or their mean), and what followed the last one as often (or itself).

    Args:
        data: with outcomes.
        origin: time index.
        horizon: steps ahead.
    """
    assert data.y is not None
    y = data.y[: origin + 1]
    mask = data.y_mask[: origin + 1]
    if not data.class_names:
        mean, last = number_forecasts(y, mask, horizon)
        return mean.mean, last.mean
    frequencies, persistence = class_forecasts(y, mask, horizon, data.num_classes)
    return frequencies.probabilities, persistence.probabilities


def quality_table(held: HeldOutOutcomes) -> Table:
    """Scores on held-out outcomes with 95 % intervals, beside two simple forecasts, and how to read each.

    Args:
        held: of :func:`held_out_outcomes`.
    """
    rows = _number_rows(held) if held.is_numeric else _class_rows(held)
    schema = {"measure": pl.String, "model": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    simple = "mean_so_far" if held.is_numeric else "class_frequencies"
    schema |= {simple: pl.Float64, "last_outcome": pl.Float64, "how_to_read_it": pl.String}
    note = (
        f"{len(held.outcome):,} outcomes: {held.how}. Low and high: 95 % by bootstrap over agents. Beside it two "
        "forecasts without any model, from frequencies and from the last outcome."
    )
    return Table("Scores on outcomes that the model did not see", pl.DataFrame(rows, schema=schema, orient="row"), note)


def _interval(metric: Metric, held: HeldOutOutcomes, *arrays: np.ndarray) -> tuple[float, float, float]:
    clusters = held.agent.numpy()
    try:
        found = bootstrap(metric, *arrays, clusters=clusters, samples=RESAMPLES)
    except SphuncError:
        return _value(metric, *arrays), math.nan, math.nan
    return found.estimate, found.low, found.high


def _value(metric: Metric, *arrays: np.ndarray) -> float:
    try:
        result = metric(*arrays)
        return float(getattr(result, "value", result))  # pyright: ignore[reportArgumentType]
    except SphuncError:
        return math.nan


Row = tuple[str, float | None, float | None, float | None, float | None, float | None, str]


def _class_rows(held: HeldOutOutcomes) -> list[Row]:
    p = held.stacked("probabilities").double().numpy()
    y = held.outcome.numpy()
    others = [held.frequencies.numpy(), held.last_outcome.numpy()]
    readings: list[Reading] = [
        ("negative log-likelihood", lambda p, y: nll(p, y, least=1e-12), "Nats; smaller is better."),
        ("accuracy", accuracy, "Share of outcomes that were the most probable class."),
        ("macro F1", macro_f1, "The same, every class counting alike; 1 is perfect."),
        ("macro AUC", macro_auc, "Does a class get more probability where it occurs? 0.5 is chance."),
        ("Brier score", brier, "Squared error of the probabilities; smaller is better."),
    ]
    rows: list[Row] = []
    for name, metric, reading in readings:
        simple = [_value(metric, other, y) for other in others]
        rows.append(_row(name, _interval(metric, held, p, y), simple, reading))
    check = check_calibration(p, y, samples=500)
    verdict = "so that nothing is wrong with it" if check.is_calibrated else "so that probabilities are off"
    reading = (
        f"Mean gap between probability and frequency. The floor: perfect forecasts of so many rows show "
        f"{check.null.floor:.3f} ({check.null.low:.3f} to {check.null.high:.3f}), {verdict}."
    )
    simple = [_value(ece, other, y) for other in others]
    rows.append(_row("calibration error (ECE)", _interval(ece, held, p, y), simple, reading))
    return [*rows, *_coverage_rows(held)]


def _number_rows(held: HeldOutOutcomes) -> list[Row]:
    mean = held.stacked("mean").double()
    variance = held.stacked("variance").double()
    y = held.outcome.double()
    spread = variance.sqrt()
    single = mean.shape[1] == 1
    rows: list[Row] = []
    for k in range(mean.shape[1]):
        end = "" if single else f" ({held.forecasts[0].outcome_names[k] if held.forecasts[0].outcome_names else k})"
        columns = [array[:, k].numpy() for array in (mean, spread, y)]
        first = held.frequencies[:, k].numpy()
        last = held.last_outcome[:, k].numpy()

        def error(m: np.ndarray, s: np.ndarray, y: np.ndarray) -> float:
            return float(np.sqrt(np.square(m - y).mean()))

        def log_loss(m: np.ndarray, s: np.ndarray, y: np.ndarray) -> float:
            return float((0.5 * np.square((y - m) / s) + np.log(s) + 0.5 * math.log(2 * math.pi)).mean())

        def crps(m: np.ndarray, s: np.ndarray, y: np.ndarray) -> float:
            return float(np.mean(crps_gaussian(m, s, y)))

        target = columns[2]
        simple = [error(first, columns[1], target), error(last, columns[1], target)]
        found = _interval(error, held, *columns)
        rows.append(_row(f"root mean square error{end}", found, simple, "In the unit of the outcome."))
        found = _interval(log_loss, held, *columns)
        rows.append(_row(f"negative log-likelihood{end}", found, (), "Nats; smaller is better."))
        found = _interval(crps, held, *columns)
        absolute = [float(np.abs(one - target).mean()) for one in (first, last)]
        reading = "Absolute error, crediting stated uncertainty; the simple forecasts state none."
        rows.append(_row(f"CRPS{end}", found, absolute, reading))
    return [*rows, *_coverage_rows(held)]


def _coverage_rows(held: HeldOutOutcomes) -> list[Row]:
    """Share of outcomes inside of 90 % sets or intervals; none where nothing was held out to make them."""
    if any(len(forecast.scores) == 0 for forecast in held.forecasts):
        return []
    inside = []
    size = []
    start = 0
    for forecast, observed in zip(held.forecasts, held.observed, strict=True):
        sets = forecast.prediction_set(COVERAGE)[observed]
        outcome = held.outcome[start : start + len(sets)]
        start += len(sets)
        if held.is_numeric:
            inside.append(((outcome >= sets[..., 0]) & (outcome <= sets[..., 1])).double().mean(-1))
            size.append((sets[..., 1] - sets[..., 0]).double().mean(-1))
        else:
            inside.append(sets.gather(1, outcome.unsqueeze(1)).squeeze(1).double())
            size.append(sets.sum(1).double())
    covered = torch.cat(inside).numpy()
    found = _interval(lambda one: float(one.mean()), held, covered)
    what = "mean width of these intervals" if held.is_numeric else "classes in these sets"
    reading = "Smaller says more, at the same coverage."
    name = "intervals" if held.is_numeric else "sets"
    return [
        _row(f"coverage of 90 % {name}", found, (), "Share of outcomes inside; should be 0.9."),
        _row(what, (float(torch.cat(size).mean()), math.nan, math.nan), (), reading),
    ]


def _row(measure: str, found: tuple[float, float, float], simple: Sequence[float], reading: str) -> Row:
    """A row of the table; ``simple`` is empty where simple forecasts have no such score."""
    estimate, low, high = found
    first, second = simple if simple else (math.nan, math.nan)
    return measure, _known(estimate), _known(low), _known(high), _known(first), _known(second), reading


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def reliability_figure(held: HeldOutOutcomes) -> Figure | None:
    """How often forecasts of each confidence were right; None for numbers.

    Args:
        held: of :func:`held_out_outcomes`.
    """
    if held.is_numeric:
        return None
    curve = reliability_curve(held.stacked("probabilities").double().numpy(), held.outcome.numpy(), bins=10)
    gap = float(np.average(np.abs(curve.accuracy - curve.confidence), weights=curve.count))
    mean = float(np.average(curve.confidence, weights=curve.count))
    right = float(np.average(curve.accuracy, weights=curve.count))
    description = (
        f"Forecasts named a class with a probability of {mean:.2f} on average, and {right:.2f} of them were right; the "
        f"mean gap per bin is {gap:.3f}. Bars: where 95 % of the points of a calibrated forecast would lie."
    )
    return reliability_plot(
        "Calibration of held-out forecasts",
        description,
        curve.confidence.tolist(),
        curve.accuracy.tolist(),
        [int(number) for number in curve.count],
    )
