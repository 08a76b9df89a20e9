"""Measure one cell: make its data, tune and fit its model, forecast from the test origins, rank the candidate links."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl
import torch
from torch import Tensor

from sphunc.baselines import (
    Forecaster,
    InfluenceForecaster,
    InfluenceScores,
    attribute,
    forecaster,
    influence_scores,
    tune,
)
from sphunc.discovery import InfluenceGraph
from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.cells import ORACLE, Cell, as_json
from sphunc.evaluation.benchmark.matrix import Settings
from sphunc.evaluation.benchmark.measures import (
    Measures,
    among,
    candidate_measures,
    forecast_measures,
    link_measures,
)
from sphunc.evaluation.benchmark.provenance import environment
from sphunc.evaluation.benchmark.sources import Material, load_material
from sphunc.evaluation.links import link_ece
from sphunc.evaluation.selective import out_of_distribution_auroc
from sphunc.hypergraph import Split, TemporalHypergraph, comembers, time_split

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a cell gives.

    Attributes:
        row: its numbers.
        frames: what figures are drawn from: "forecasts" of the test origins, "links" with their scores, "history" of
            a training that has one.
    """

    row: Row
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def measure(cell: Cell) -> Measured:
    """Return numbers, with what was measured and where, and frames; the same cell gives the same numbers."""
    torch.manual_seed(cell.seed)  # for a model that reads the global generator after all
    material = load_material(cell.data, cell.seed)
    split = time_split(material.data, cell.horizon)
    frames: Mapping[str, pl.DataFrame] = {}
    if cell.model == ORACLE:
        numbers = _oracle(material, split)
    else:
        numbers, frames = _model(cell, material, split)
    data = material.data
    row = {
        "model": cell.model,
        "label": cell.label,
        "data": cell.data_label,
        "variant": cell.variant,
        "seed": cell.seed,
        "horizon": cell.horizon,
        "trials": cell.trials,
        "settings": as_json(cell.settings),
        "source": as_json(cell.data),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "agents": data.num_nodes,
        "times": data.num_times,
        "groups": data.num_hyperedges,
        "classes": data.num_classes,
        "features": data.num_features,
        "rows_train": int(data.y_mask[list(split.targets("train"))].sum()),
        "split": str(split),
        **numbers,
        **environment(),
    }
    return Measured(row, frames)


def _oracle(material: Material, split: Split) -> Row:
    if material.world is None:
        raise ArgumentError("oracle: only simulated worlds have one. Leave it out on other data.")
    forecasts = [material.world.oracle(origin, split.horizon).float() for origin in split.test]
    entropies = [torch.special.entr(p).sum(-1) for p in forecasts]
    return {**_forecast_measures(material, split, forecasts, entropies), "tuned": "{}"}


def _model(cell: Cell, material: Material, split: Split) -> tuple[Row, dict[str, pl.DataFrame]]:
    data = material.data
    start = time.perf_counter()
    settings = _tuned(cell, material, split)
    tuned = time.perf_counter()
    model = forecaster(cell.model, seed=cell.seed, horizon=cell.horizon, **settings)
    model.fit(data, split, verbose=False)
    fitted = time.perf_counter()
    forecasts = [model.predict(data, origin_index=origin) for origin in split.test]
    predicted = time.perf_counter()
    probabilities = [forecast.probabilities for forecast in forecasts]
    frames = {"forecasts": forecast_rows(data, split, forecasts)}
    influence, links = _influence(cell, model, material, split)
    if links is not None:
        frames["links"] = links
    history = getattr(model, "history_", [])
    if history and hasattr(history[0], "epoch"):
        frames["history"] = pl.DataFrame([vars(record) for record in history])
    row = {
        **_forecast_measures(material, split, probabilities, [forecast.total for forecast in forecasts]),
        **_out_of_distribution(material, split, forecasts),
        **influence,
        "tuned": as_json({name: value for name, value in settings.items() if name not in cell.settings}),
        "seconds_tune": tuned - start,
        "seconds_fit": fitted - tuned,
        "seconds_predict": predicted - fitted,
    }
    return row, frames


def forecast_rows(data: TemporalHypergraph, split: Split, forecasts: Sequence[Any]) -> pl.DataFrame:
    """One row per test origin and agent whose outcome was observed: probabilities, outcome, parts of uncertainty.

    Args:
        data: with the outcomes.
        split: test origins.
        forecasts: from each of them.
    """
    assert data.y is not None
    parts = []
    for origin, target, forecast in zip(split.test, split.targets("test"), forecasts, strict=True):
        rows = data.y_mask[target].nonzero().flatten()
        observed = (data.x_mask[: origin + 1].any(-1) | data.y_mask[: origin + 1]).sum(0)
        columns = {
            "origin": [str(data.times[origin])] * len(rows),
            "agent": [str(data.node_ids[i]) for i in rows.tolist()],
            "outcome": data.y[target][rows].tolist(),
            "probabilities": forecast.probabilities[rows].double().tolist(),
            "times_observed": observed[rows].tolist(),
            "total": forecast.total[rows].double().tolist(),
        }
        for name in ("epistemic", "epistemic_scaled", "aleatoric", "kappa"):
            values = getattr(forecast, name, None)
            if values is not None:
                columns[name] = values[rows].double().tolist()
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def _tuned(cell: Cell, material: Material, split: Split) -> Settings:
    fixed: Settings = dict(cell.settings)
    if cell.trials == 1:
        return fixed
    shared: Settings = {"trials": cell.trials, "seed": cell.seed, "horizon": cell.horizon}
    best = tune(cell.model, material.data, split, **shared, **fixed)[0]
    if best.error:
        raise ArgumentError(f"no trial could be fitted; the first says: {best.error}")
    return {**best.settings, **fixed}


def _forecast_measures(
    material: Material, split: Split, probabilities: list[Tensor], uncertainty: list[Tensor]
) -> Measures:
    """Measures over the observed outcomes of all test origins."""
    data = material.data
    targets = list(split.targets("test"))
    assert data.y is not None  # load_material refuses data without outcomes
    observed = data.y_mask[targets]
    p = torch.stack(probabilities)[observed].cpu()
    own = torch.stack(uncertainty)[observed].cpu()
    return forecast_measures(p, data.y[targets][observed], own)


def _out_of_distribution(material: Material, split: Split, forecasts: list[Any]) -> Measures:
    """Whether agents of an unseen community are less certain than unseen agents of known ones, when both enter."""
    world = material.world
    if world is None or not (world.out_of_distribution.any() and world.newcomers.any()):
        return {}
    if world.settings.entry_time not in split.test:
        return {}
    forecast = forecasts[split.test.index(world.settings.entry_time)]
    uncertainty = getattr(forecast, "epistemic", forecast.total)
    auroc = out_of_distribution_auroc(uncertainty[world.newcomers], uncertainty[world.out_of_distribution])
    return {"ood_auroc": auroc}


def _influence(cell: Cell, model: Forecaster, material: Material, split: Split) -> tuple[Row, pl.DataFrame | None]:
    links = material.links
    if links is None or not links.shape[1]:
        return {}, None
    data = material.data
    candidates = comembers(data, until=split.targets("calibration")[-1] + 1)
    is_true = among(candidates, links, data.num_nodes)
    row: Settings = {"links_kind": material.kind, **candidate_measures(candidates, links, is_true)}
    own = _own_influence(model)
    frame = None
    if own is not None:
        score = influence_scores(own, candidates).score
        frame = _link_rows(data, candidates, score, is_true)
        row |= link_measures(score, candidates, is_true)
        if isinstance(own, InfluenceGraph):  # its scores are probabilities
            row["link_ece"] = link_ece(score, is_true)
    if cell.attribution:
        score = attribute(model, data, (*split.validation, *split.calibration), candidates=candidates).score
        for name, value in link_measures(score, candidates, is_true).items():
            row[f"{name}_common"] = value
    return row, frame


def _link_rows(data: TemporalHypergraph, candidates: Tensor, score: Tensor, is_true: Tensor) -> pl.DataFrame:
    names = [str(agent) for agent in data.node_ids]
    return pl.DataFrame(
        {
            "source": [names[i] for i in candidates[0].tolist()],
            "target": [names[i] for i in candidates[1].tolist()],
            "score": score.double().tolist(),
            "is_true": is_true.tolist(),
        }
    )


def _own_influence(model: Forecaster) -> InfluenceGraph | InfluenceScores | None:
    if not isinstance(model, InfluenceForecaster):
        return None
    try:
        return model.influence()
    except ArgumentError:  # it has no links with these settings
        return None
