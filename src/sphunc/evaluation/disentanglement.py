r"""Whether each part of the uncertainty answers to its own cause, and not to the other's.

Epistemic uncertainty is what data lower: it should rise when there are fewer data, and far from
them. Aleatoric uncertainty is noise: it should rise with noise in the outcomes. A panel is changed
in one of these ways at a time,

- *data*: a share of the cells (agent, time) before the origin lose features and outcome, in
  training and in the past that is forecast from;
- *distance*: every feature at the origin moves by so many standard deviations, up or down at
  random, and the model is not fitted again;
- *noise*: a share of the outcomes are drawn anew, all classes alike,

and every system forecasts the same agents from the same origin. With :math:`\Delta_c` the change of
the mean part between the lowest and the highest level of a cause c, the share of the wrong cause is

.. math:: \frac{W}{W + R}, \qquad W = \overline{|\Delta_c|}_{c\ \text{wrong}}, \quad
    R = \overline{\max(\Delta_c, 0)}_{c\ \text{right}}

0 is right; 1/2 tells nothing apart; 1 answers to the wrong cause alone. Units cancel. That noisy
outcomes also teach less is a legitimate part of the epistemic W (Wimmer et al. 2023), the same for
all systems. Mucsányi et al. (2024) compare systems in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import polars as pl
import torch
from torch import Generator, Tensor

from sphunc.baselines import Forecaster, forecaster
from sphunc.errors import ArgumentError
from sphunc.hypergraph import TemporalHypergraph, time_split

MakeSystem = Callable[..., Forecaster]
"""Makes an unfitted system from ``seed=``."""
SYSTEMS: Mapping[str, MakeSystem] = MappingProxyType(
    {
        "SphUnc": partial(forecaster, "sphunc"),
        "GPN": partial(forecaster, "gpn"),
        "ensemble": partial(forecaster, "ensemble"),
        "MC dropout": partial(forecaster, "mc_dropout"),
    }
)
"""Systems that decompose their uncertainty, at their defaults."""
LEVELS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "data": (0.0, 0.25, 0.5, 0.75),
        "distance": (0.0, 1.0, 2.0, 4.0),
        "noise": (0.0, 0.15, 0.3, 0.45),
    }
)
"""Share of cells hidden, standard deviations moved, share of outcomes drawn anew."""
QUICK_LEVELS = MappingProxyType({cause: (levels[0], levels[-1]) for cause, levels in LEVELS.items()})
"""The lowest and the highest levels: three fits per system and seed."""
RIGHT_CAUSES = MappingProxyType({"epistemic": ("data", "distance"), "aleatoric": ("noise",)})
SCHEMA = {
    "system": pl.String,
    "seed": pl.Int64,
    "cause": pl.String,
    "level": pl.Float64,
    "epistemic": pl.Float64,
    "aleatoric": pl.Float64,
    "nll": pl.Float64,
}


def responses(
    data: TemporalHypergraph,
    systems: Mapping[str, MakeSystem] = SYSTEMS,
    *,
    levels: Mapping[str, Sequence[float]] = LEVELS,
    seeds: Sequence[int] = (0,),
) -> pl.DataFrame:
    """Mean epistemic and aleatoric part of every system, at every level of every cause.

    Args:
        data: agents, groups, features and classes; the forecast is from its last test origin.
        systems: by label, each made from ``seed=``; its forecasts need ``epistemic`` and
            ``aleatoric``.
        levels: of each cause, the lowest first; 0 changes nothing.
        seeds: of the changes and of the systems; each gives its own rows.

    Returns:
        A row per system, seed, cause and level, with the NLL of the changed outcomes.
    """
    if not data.class_names:
        raise ArgumentError("data has numbers as outcomes; give data with classes, of which some can be drawn anew")
    unknown = sorted(set(levels) - set(LEVELS))
    if unknown:
        raise ArgumentError(f"levels has the cause {unknown[0]!r}; allowed: {', '.join(LEVELS)}")
    rows = []
    for seed in seeds:
        for label, make in systems.items():
            for cause, level, parts in _system_responses(data, make, label, levels, seed):
                rows.append({"system": label, "seed": seed, "cause": cause, "level": level, **parts})
    return pl.DataFrame(rows, schema=SCHEMA)


def disentanglement(found: pl.DataFrame) -> pl.DataFrame:
    """Changes of each part by cause, and the share that is due to the wrong cause.

    Args:
        found: rows of :func:`responses`.

    Returns:
        A row per system and part: the mean change over seeds by cause, ``wrong_share`` of these
        means (None where a part never changes), and ``wrong_share_error``, its jackknife standard
        error over seeds (None for one seed).
    """
    rows = []
    for label in found["system"].unique(maintain_order=True).to_list():
        of_system = found.filter(pl.col("system") == label)
        seeds = of_system["seed"].unique(maintain_order=True).to_list()
        for part in RIGHT_CAUSES:
            changes = torch.tensor([_changes(of_system.filter(seed=seed), part) for seed in seeds])
            means = changes.mean(0)
            row: dict[str, object] = {"system": label, "part": part}
            row |= dict(zip(LEVELS, means.tolist(), strict=True))
            row["wrong_share"] = wrong_share(means, part)
            row["wrong_share_error"] = _jackknife(changes, part)
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def wrong_share(changes: Tensor, part: str) -> float | None:
    """Share of the change of a part that the wrong cause brings about; None where nothing changes.

    Args:
        changes: by cause, in the order of :data:`LEVELS`.
        part: "epistemic" or "aleatoric".
    """
    is_right = torch.tensor([cause in RIGHT_CAUSES[part] for cause in LEVELS])
    right = float(changes[is_right].clamp(min=0).mean())
    wrong = float(changes[~is_right].abs().mean())
    if right + wrong == 0:
        return None
    return wrong / (right + wrong)


def _changes(rows: pl.DataFrame, part: str) -> list[float]:
    """Change of a part between the lowest and the highest level of each cause; 0 for one not measured."""
    changes = []
    for cause in LEVELS:
        values = rows.filter(cause=cause).sort("level")[part].to_list()
        changes.append(values[-1] - values[0] if values else 0.0)
    return changes


def _jackknife(changes: Tensor, part: str) -> float | None:
    count = len(changes)
    if count < 2:
        return None
    left_out = [wrong_share(changes[torch.arange(count) != k].mean(0), part) for k in range(count)]
    shares = torch.tensor([share for share in left_out if share is not None])
    return float(((count - 1) * shares.var(unbiased=False)).sqrt())


def _system_responses(
    data: TemporalHypergraph, make: MakeSystem, label: str, levels: Mapping[str, Sequence[float]], seed: int
) -> Iterator[tuple[str, float, dict[str, float]]]:
    split = time_split(data)
    origin = split.test[-1]
    model = make(seed=seed).fit(data, split, verbose=False)
    unchanged = _parts(model, data, origin, label)
    for cause, of_cause in levels.items():
        for level in of_cause:
            if level == 0:
                yield cause, level, unchanged
                continue
            generator = Generator().manual_seed(seed)
            changed = CHANGES[cause](data, origin, level, generator)
            fitted = model
            if cause != "distance":
                fitted = make(seed=seed).fit(changed, split, verbose=False)
            yield cause, level, _parts(fitted, changed, origin, label)


def _parts(model: Any, data: TemporalHypergraph, origin: int, label: str) -> dict[str, float]:
    forecast = model.predict(data, origin_index=origin)
    if not hasattr(forecast, "epistemic"):
        raise ArgumentError(
            f"systems has {label!r}, which does not decompose its uncertainty; give sphunc, gpn, ensemble or mc_dropout"
        )
    # SphUnc's entropy in nats compares agents of one model alone; scaled, it compares models.
    epistemic = getattr(forecast, "epistemic_scaled", forecast.epistemic)
    assert data.y is not None
    observed = data.y_mask[origin + 1]
    p = forecast.probabilities[observed].gather(1, data.y[origin + 1][observed].unsqueeze(1))
    return {
        "epistemic": float(epistemic.mean()),
        "aleatoric": float(forecast.aleatoric.mean()),
        "nll": -float(p.clamp(min=1e-12).log().mean()),
    }


def hide_cells(data: TemporalHypergraph, origin: int, share: float, generator: Generator) -> TemporalHypergraph:
    """Hide features and outcomes of a share of the cells before the origin.

    Args:
        data: unchanged.
        origin: position of the time that stays as it is, with all that follows.
        share: of the cells (agent, time).
        generator: source of randomness.
    """
    hidden = torch.rand(data.num_times, data.num_nodes, generator=generator) < share
    hidden[origin:] = False
    x_mask = data.x_mask & ~hidden.unsqueeze(-1)
    y_mask = data.y_mask & ~hidden
    assert data.y is not None
    return replace(
        data,
        x=torch.where(x_mask, data.x, 0.0),
        x_mask=x_mask,
        y=torch.where(y_mask, data.y, 0),
        y_mask=y_mask,
    )


def move_features(data: TemporalHypergraph, origin: int, distance: float, generator: Generator) -> TemporalHypergraph:
    """Move every feature at the origin by a multiple of its standard deviation, up or down at random.

    Args:
        data: unchanged.
        origin: position of the time whose features move.
        distance: standard deviations.
        generator: source of the signs.
    """
    past = data.x[: origin + 1]
    count = data.x_mask[: origin + 1].sum((0, 1)).clamp(min=1)
    mean = past.sum((0, 1)) / count
    square = torch.where(data.x_mask[: origin + 1], (past - mean).square(), 0.0).sum((0, 1)) / count
    sign = torch.randint(0, 2, data.x.shape[1:], generator=generator) * 2.0 - 1.0
    x = data.x.clone()
    x[origin] = torch.where(data.x_mask[origin], x[origin] + distance * sign * square.sqrt(), 0.0)
    return replace(data, x=x)


def redraw_outcomes(data: TemporalHypergraph, origin: int, share: float, generator: Generator) -> TemporalHypergraph:
    """Draw a share of the outcomes anew, all classes alike, at every time.

    Args:
        data: unchanged.
        origin: not used: noise is in training and test outcomes.
        share: of the outcomes.
        generator: source of randomness.
    """
    assert data.y is not None
    drawn = torch.randint(0, data.num_classes, data.y.shape, generator=generator)
    is_drawn = torch.rand(data.y.shape, generator=generator) < share
    return replace(data, y=torch.where(is_drawn & data.y_mask, drawn, data.y))


Change = Callable[[TemporalHypergraph, int, float, Generator], TemporalHypergraph]
CHANGES: Mapping[str, Change] = MappingProxyType(
    {"data": hide_cells, "distance": move_features, "noise": redraw_outcomes}
)
"""How each cause changes a panel: from data, origin, level and generator."""
