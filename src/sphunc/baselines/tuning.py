"""Random search: as many trials for every system, scored by the NLL of held-out outcomes.

The first trial is the default setting; the others are drawn from the declared search space, the
default left out and none of them twice. The test origins of the split are never read. A trial is
scored before any refit, so none refits. SphUnc has nothing to tune: its one trial is the default.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import Generator

from sphunc._checks import seed_number, whole_number
from sphunc._typing import Whole
from sphunc.baselines.registry import forecaster, forecaster_class
from sphunc.baselines.settings import SearchSpace, Setting
from sphunc.errors import ArgumentError
from sphunc.hypergraph import Split, TemporalHypergraph


@dataclass(frozen=True)
class Trial:
    """One setting and how it did.

    Attributes:
        settings: what was changed from the default.
        validation: NLL of held-out outcomes in nats; infinite when the fit failed.
        error: why it failed, or empty.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    validation: float = math.inf
    error: str = ""


def tune(
    name: str,
    data: TemporalHypergraph,
    split: Split | None = None,
    *,
    trials: Whole = 10,
    seed: Whole = 0,
    **fixed: object,
) -> tuple[Trial, ...]:
    """Try settings of a forecaster, and return the trials, the best first.

    Args:
        name: as in the registry.
        data: past and outcomes.
        split: origins of each part.
        trials: fits, the default setting included; fewer if the search space is smaller.
        seed: of the draws and of every fit.
        **fixed: settings that all trials share and that are not searched. No trial refits,
            ``refit=True`` or not.
    """
    trials = whole_number("trials", trials, least=1)
    fixed = {"seed": seed_number(seed), **fixed}
    forecaster(name, **fixed)  # a fixed setting that is at fault is no failed trial
    if _defaults(name, ["refit"]):
        fixed["refit"] = False
    drawn = draw_settings(name, trials, seed_number(seed), fixed)
    done = [_try(name, data, split, settings, fixed) for settings in drawn]
    return tuple(sorted(done, key=lambda trial: trial.validation))


def draw_settings(name: str, trials: int, seed: int, fixed: Collection[str] = ()) -> list[dict[str, Setting]]:
    """Return the default (nothing changed) and ``trials - 1`` different points of the search space.

    Args:
        name: of a forecaster.
        trials: settings wanted.
        seed: of the draws.
        fixed: settings that are not drawn: trials that differ in nothing else would be the same
            fit.
    """
    space = {key: choices for key, choices in search_space(name).items() if key not in fixed}
    default = _defaults(name, space)
    points = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    order = torch.randperm(len(points), generator=Generator().manual_seed(seed)).tolist()
    others = [points[k] for k in order if points[k] != default]
    return [{}, *others[: trials - 1]]


def search_space(name: str) -> SearchSpace:
    """Return the declared choices per setting; none for SphUnc, whose fit chooses by itself."""
    return getattr(forecaster_class(name), "search", {})


def _defaults(name: str, settings: Iterable[str]) -> dict[str, Setting]:
    """Default values of those ``settings`` that a system has."""
    model = forecaster_class(name)()
    holder = getattr(model, "settings", model)  # SphUnc keeps its settings as attributes
    return {setting: getattr(holder, setting) for setting in settings if hasattr(holder, setting)}


def validation_nll(model: Any) -> float:
    """Held-out NLL of a fitted forecaster: of its best epoch, or of the model that SphUnc chose.

    Infinite where nothing was held out.
    """
    if hasattr(model, "validation_"):
        return model.validation_
    if model.comparison_.is_empty():
        scores = [getattr(record, "validation", None) for record in model.history_]
        return min((score for score in scores if score is not None), default=math.inf)
    # Nested models stand in order; states and links count where they have weight in the pool.
    held_out = dict(model.comparison_.select("model", "nll").iter_rows())
    if model.model_.weight == 0:
        return held_out["covariates"]
    return list(held_out.values())[-1]


def _try(
    name: str,
    data: TemporalHypergraph,
    split: Split | None,
    settings: Mapping[str, Setting],
    fixed: Mapping[str, object],
) -> Trial:
    try:
        model = forecaster(name, **{**settings, **fixed})
        return Trial(settings, validation_nll(model.fit(data, split, verbose=False)))
    except ArgumentError as error:
        return Trial(settings, math.inf, str(error))
