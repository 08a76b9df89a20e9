"""Measure one cell: make its data, tune and fit its model, forecast from the test origins, rank the candidate links."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import torch
from torch import Tensor

from sphunc._typing import Links
from sphunc.baselines.attribution import attribute
from sphunc.baselines.forecaster import predictive_entropy
from sphunc.baselines.influence import PROBABILITY, InfluenceScores, influence_scores
from sphunc.baselines.registry import forecaster
from sphunc.baselines.tuning import tune
from sphunc.errors import ArgumentError
from sphunc.evaluation.benchmark.cells import ORACLE, Cell
from sphunc.evaluation.benchmark.environment import environment
from sphunc.evaluation.benchmark.measures import (
    Measures,
    among,
    candidate_measures,
    forecast_measures,
    link_measures,
)
from sphunc.evaluation.benchmark.sources import Material, load_material
from sphunc.evaluation.links import link_ece
from sphunc.evaluation.selective import out_of_distribution_auroc
from sphunc.hypergraph import Split, comembers, time_split

Row = dict[str, Any]


def measure(cell: Cell) -> Row:
    """Return a row of numbers, with what was measured and where; the same cell gives the same numbers."""
    torch.manual_seed(cell.seed)  # for a model that reads the global generator after all
    material = load_material(cell.data, cell.seed)
    split = time_split(material.data, cell.horizon)
    numbers = _oracle(material, split) if cell.model == ORACLE else _model(cell, material, split)
    return {**_identity(cell), **_sizes(material, split), **numbers, **environment()}


def _identity(cell: Cell) -> Row:
    return {
        "model": cell.model,
        "label": cell.label,
        "data": cell.data_label,
        "variant": cell.variant,
        "seed": cell.seed,
        "horizon": cell.horizon,
        "trials": cell.trials,
        "settings": json.dumps(dict(cell.settings), sort_keys=True, default=str),
        "source": json.dumps(dict(cell.data), sort_keys=True, default=str),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _sizes(material: Material, split: Split) -> Row:
    data = material.data
    return {
        "agents": data.num_nodes,
        "times": data.num_times,
        "groups": data.num_hyperedges,
        "classes": data.num_classes,
        "features": data.num_features,
        "rows_train": int(data.y_mask[list(split.targets("train"))].sum()),
        "split": str(split),
    }


def _oracle(material: Material, split: Split) -> Row:
    if material.world is None:
        raise ArgumentError("oracle: only simulated worlds have one. Leave it out on other data.")
    forecasts = [material.world.oracle(origin, split.horizon).float() for origin in split.test]
    return {**_judge(material, split, forecasts, [predictive_entropy(p) for p in forecasts]), "tuned": "{}"}


def _model(cell: Cell, material: Material, split: Split) -> Row:
    data = material.data
    start = time.perf_counter()
    chosen = _tuned(cell, material, split)
    tuned = time.perf_counter()
    model: Any = forecaster(cell.model, seed=cell.seed, horizon=cell.horizon, **chosen)
    model.fit(data, split, verbose=False)
    fitted = time.perf_counter()
    forecasts = [model.predict(data, origin_index=origin) for origin in split.test]
    predicted = time.perf_counter()
    probabilities = [_on_classes(forecast, data.class_names) for forecast in forecasts]
    return {
        **_judge(material, split, probabilities, [forecast.total for forecast in forecasts]),
        **_strangers(material, split, forecasts),
        **_influence(cell, model, material, split),
        "tuned": json.dumps({k: v for k, v in chosen.items() if k not in cell.settings}, sort_keys=True, default=str),
        "seconds_tune": tuned - start,
        "seconds_fit": fitted - tuned,
        "seconds_predict": predicted - fitted,
    }


def _tuned(cell: Cell, material: Material, split: Split) -> dict[str, Any]:
    fixed = dict(cell.settings)
    if cell.trials == 1:
        return fixed
    options = {"trials": cell.trials, "seed": cell.seed, "horizon": cell.horizon}
    best = tune(cell.model, material.data, split, **options, **fixed)[0]
    if best.error:
        raise ArgumentError(f"no trial could be fitted; the first says: {best.error}")
    return {**best.settings, **fixed}


def _judge(material: Material, split: Split, probabilities: list[Tensor], uncertainty: list[Tensor]) -> Measures:
    data, targets = material.data, list(split.targets("test"))
    assert data.y is not None  # load_material refuses data without outcomes
    seen = data.y_mask[targets]
    p, u = torch.stack(probabilities)[seen], torch.stack(uncertainty)[seen]
    return forecast_measures(p.cpu(), data.y[targets][seen], u.cpu())


def _on_classes(forecast: Any, names: tuple[str, ...]) -> Tensor:
    if forecast.class_names == names:
        return forecast.probabilities
    known = {name: place for place, name in enumerate(forecast.class_names)}
    p = forecast.probabilities
    return torch.stack([p[:, known[name]] if name in known else p.new_zeros(len(p)) for name in names], dim=-1)


def _strangers(material: Material, split: Split, forecasts: list[Any]) -> Measures:
    """Whether agents of an unseen community are less sure than newcomers of known ones, when both enter."""
    world = material.world
    if world is None or not (world.out_of_distribution.any() and world.newcomers.any()):
        return {}
    if world.settings.entry_time not in split.test:
        return {}
    forecast = forecasts[split.test.index(world.settings.entry_time)]
    unsure = getattr(forecast, "epistemic", forecast.total)
    return {"ood_auroc": out_of_distribution_auroc(unsure[world.newcomers], unsure[world.out_of_distribution])}


def _influence(cell: Cell, model: Any, material: Material, split: Split) -> Row:
    links, data = material.links, material.data
    if links is None or not links.shape[1]:
        return {}
    candidates = comembers(data, until=split.targets("calibration")[-1] + 1)
    is_true = among(candidates, links, data.num_nodes)
    shared: Row = {"links_kind": material.kind, **candidate_measures(candidates, links, is_true)}
    native = _native(model, candidates)
    if native is not None:
        shared |= link_measures(native.score, candidates, is_true)
        if native.kind == PROBABILITY:
            shared["link_ece"] = link_ece(native.score.double().numpy(), is_true.numpy())
    if cell.attribution:
        score = attribute(model, data, (*split.validation, *split.calibration), candidates=candidates).score
        shared |= {f"{name}_common": value for name, value in link_measures(score, candidates, is_true).items()}
    return shared


def _native(model: Any, candidates: Links) -> InfluenceScores | None:
    try:
        return influence_scores(model, candidates)
    except ArgumentError:
        return None
