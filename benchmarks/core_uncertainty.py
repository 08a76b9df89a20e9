"""Rows of `benchmarks/core.py` on uncertainty: hidden histories, stale agents, unseen agents, causes of either part."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from core_lines import Line, estimator, is_finite, predictive_entropy
from golden import REAL, GoldenSet, load_set, real_path

import sphunc
from sphunc.evaluation import out_of_distribution_auroc
from sphunc.hypergraph import TemporalHypergraph

SETS = (
    "world/snare-0",
    "world/financial-0",
    "world/pheme-0",
    "world/snare-1",
    "world/financial-1",
    "world/pheme-1",
    "panel/persistence-0",
    "panel/contagion-0",
    "panel/regime-0",
    "panel/drift-0",
    "real/house",
    "real/pheme-stance",
)
AGES = (0, 1, 2, 4)
PARTS = 3
"""Agents are hidden a third at a time, so that the others remain as they are."""
MOST_ORIGINS = 2
FEWEST_AGENTS = 10
UNSEEN = {"newcomers": 0.1, "unseen": 0.1}
UNSEEN_WORLDS = ("snare", "pheme", "financial")
UNSEEN_SEEDS = (0, 1, 2)
TRAINING_SIZES = (50, 100, 200, 400)
TESTED_AGENTS = 140
FLIPPED = (0.0, 0.15, 0.3)
CAUSE_SEEDS = (0, 1)
ASIDE = 0.25


@dataclass(frozen=True, eq=False)
class Measured:
    """Epistemic part (nats), its scaled value and entropy of the predictive distribution, of every agent."""

    epistemic: np.ndarray
    scaled: np.ndarray
    aleatoric: np.ndarray
    entropy: np.ndarray


def measure(model: Any, data: TemporalHypergraph, origin: int) -> Measured:
    """Forecast from an origin; refuses numbers that are not finite.

    Args:
        model: fitted.
        data: times up to the origin, or more.
        origin: position of the time to forecast from.
    """
    forecast = model.predict(data, origin_index=origin)
    assert is_finite(forecast), "a forecast is not finite"
    return Measured(
        epistemic=forecast.epistemic.numpy(),
        scaled=forecast.epistemic_scaled.numpy(),
        aleatoric=forecast.aleatoric.numpy(),
        entropy=predictive_entropy(forecast),
    )


def fit(data: TemporalHypergraph, seed: int = 0) -> Any:
    """Fit quietly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator()(seed=seed).fit(data, verbose=False)


@cache
def fitted_set(name: str) -> tuple[GoldenSet, Any]:
    """A set of the golden ones, and a model fitted on the times up to its first test origin."""
    golden = load_set(name)
    return golden, fit(golden.known)


def available(names: Sequence[str]) -> Iterator[str]:
    """Names of the sets that are here; a line says which are not."""
    for name in names:
        if name in REAL and not real_path(name).exists():
            print(f"{name}: no data at {real_path(name)}; left out")
        else:
            yield name


def without(data: TemporalHypergraph, hidden: torch.Tensor) -> TemporalHypergraph:
    """Data in which features and outcomes are not observed at the hidden times of an agent; groups remain.

    Args:
        data: all of it.
        hidden: True where an agent is hidden ``[T, N]``.
    """
    kept = ~hidden
    x_mask = data.x_mask & kept.unsqueeze(-1)
    y_mask = data.y_mask & kept
    y = data.y
    if y is not None:
        shape = y_mask.reshape(*y_mask.shape, *(1,) * (y.ndim - 2))
        y = torch.where(shape, y, torch.zeros_like(y))
    x = torch.where(x_mask, data.x, torch.zeros_like(data.x))
    return replace(data, x=x, x_mask=x_mask, y=y, y_mask=y_mask)


def hidden_in_parts(
    model: Any, data: TemporalHypergraph, origin: int, hide: Callable[[torch.Tensor], torch.Tensor]
) -> Measured:
    """Forecast every agent while it is hidden, a third of the agents at a time.

    Args:
        model: fitted.
        data: all of it.
        origin: position of the time to forecast from.
        hide: turns agents ``[N]`` (True to be hidden) into hidden times ``[T, N]``.
    """
    part = torch.arange(data.num_nodes) % PARTS
    found = [measure(model, without(data, hide(part == k)), origin) for k in range(PARTS)]
    chosen = part.numpy()

    def pick(name: str) -> np.ndarray:
        values = np.stack([getattr(each, name) for each in found])
        return values[chosen, np.arange(len(chosen))]

    return Measured(pick("epistemic"), pick("scaled"), pick("aleatoric"), pick("entropy"))


def hide_rows(sets: Sequence[str] = SETS) -> Iterator[Line]:
    """Hide all but the last observation of an agent: is more unknown, and the forecast no narrower?"""
    for name in available(sets):
        golden, model = fitted_set(name)
        rises = []
        wider = []
        scaled = []
        for origin in golden.test_origins[:MOST_ORIGINS]:
            earlier = _before_the_last(golden.data, origin)
            several = earlier.any(0).numpy()
            before = measure(model, golden.data, origin)
            after = hidden_in_parts(model, golden.data, origin, lambda agents, earlier=earlier: earlier & agents)
            rises.append((after.epistemic - before.epistemic)[several])
            wider.append((after.entropy - before.entropy)[several])
            scaled.append([before.scaled[several].mean(), after.scaled[several].mean()])
        rise = np.concatenate(rises)
        widening = np.concatenate(wider)
        notes = {"rows": len(rise), "scaled before, after": np.mean(scaled, 0).tolist()}
        yield Line("hide", name, "share of agents whose epistemic rises", float((rise > 0).mean()), 0.95, None, notes)
        notes = {"error": _error(widening)}
        yield Line("hide", name, "mean change of predictive entropy", float(widening.mean()), 0.0, None, notes)


def _before_the_last(data: TemporalHypergraph, origin: int) -> torch.Tensor:
    """True at all observations of an agent up to an origin but its last ``[T, N]``."""
    seen = data.present.clone()
    seen[origin + 1 :] = False
    times = torch.arange(data.num_times).unsqueeze(1)
    last = torch.where(seen, times, -1).max(0).values
    return seen & (times < last)


def _error(values: np.ndarray) -> float:
    return float(values.std() / np.sqrt(len(values)))


def age_rows(sets: Sequence[str] = SETS) -> Iterator[Line]:
    """Hide the last k times of agents that were observed at all of them and before; "worlds" has all worlds in one."""
    pooled: dict[str, list[np.ndarray]] = {"epistemic": [], "entropy": []}
    for name in available(sets):
        golden, model = fitted_set(name)
        ages = [k for k in AGES if k < golden.test_origins[0]]
        levels: dict[str, list[np.ndarray]] = {"epistemic": [], "entropy": []}
        for origin in golden.test_origins[:MOST_ORIGINS]:
            found, chosen = _by_age(model, golden.data, origin, ages)
            for what, values in levels.items():
                values.append(np.stack([getattr(level, what)[chosen] for level in found]))
        for what, values in levels.items():
            by_age = np.concatenate(values, 1)
            if by_age.shape[1]:
                yield _age_line(name, what, ages, by_age)
            if golden.world is not None:
                pooled[what].append(by_age)
    for what, values in pooled.items():
        if values:
            yield _age_line("worlds", what, list(AGES), np.concatenate(values, 1))


def _by_age(
    model: Any, data: TemporalHypergraph, origin: int, ages: Sequence[int]
) -> tuple[list[Measured], np.ndarray]:
    """Forecasts with the last k times hidden for each k, and the agents that can be compared ``[N]``."""
    present = data.present
    oldest = ages[-1]
    chosen = present[origin - oldest : origin + 1].all(0)
    if int(chosen.sum()) < FEWEST_AGENTS:
        chosen = present[origin - oldest] & present[origin]
    found = []
    for k in ages:
        lost = torch.zeros_like(present)
        lost[origin - k + 1 : origin + 1] = True
        found.append(hidden_in_parts(model, data, origin, lambda agents, lost=lost: lost & agents))
    return found, chosen.numpy()


def _age_line(name: str, what: str, ages: Sequence[int], by_age: np.ndarray) -> Line:
    rises = np.diff(by_age, axis=0)
    smallest = int(rises.mean(1).argmin())
    notes = {
        "rows": by_age.shape[1],
        "error": _error(rises[smallest]),
        f"k = {list(ages)}": by_age.mean(1).tolist(),
    }
    return Line("age", name, f"smallest rise of mean {what}", float(rises[smallest].mean()), 1e-9, None, notes)


def unseen_rows(presets: Sequence[str] = UNSEEN_WORLDS, seeds: Sequence[int] = UNSEEN_SEEDS) -> Iterator[Line]:
    """AUROC by epistemic: of an unseen community among unseen agents, and of unseen agents among all."""
    for preset in presets:
        strange = []
        unknown = []
        controls = []
        for seed in seeds:
            world = sphunc.simulate(preset, agents=400, times=12, seed=seed, **UNSEEN)
            origin = world.settings.entry_time
            model = fit(world.data.until_index(origin - 1), seed)
            score = measure(model, world.data, origin).epistemic
            new = world.newcomers.numpy()
            outside = world.out_of_distribution.numpy()
            known = ~(new | outside)
            strange.append(out_of_distribution_auroc(score[new], score[outside]))
            unknown.append(out_of_distribution_auroc(score[known], score[new | outside]))
            controls.append(out_of_distribution_auroc(score[known], score[new]))
        case = f"world/{preset}"
        what = "AUROC, unseen community among unseen agents"
        yield Line("unseen", case, what, float(np.mean(strange)), 0.88, None, {"seeds": strange})
        what = "AUROC, unseen among all agents"
        notes = {"seeds": unknown, "of known communities": float(np.mean(controls))}
        yield Line("unseen", case, what, float(np.mean(unknown)), 0.9, None, notes)


def only_agents(data: TemporalHypergraph, kept: np.ndarray) -> TemporalHypergraph:
    """The data without all other agents; groups keep the members that remain, or are empty."""
    place = torch.full((data.num_nodes,), -1)
    place[kept] = torch.arange(len(kept))
    agent, group = data.hyperedge_index
    stays = place[agent] >= 0
    return replace(
        data,
        x=data.x[:, kept],
        x_mask=data.x_mask[:, kept],
        y=None if data.y is None else data.y[:, kept],
        y_mask=data.y_mask[:, kept],
        hyperedge_index=torch.stack([place[agent[stays]], group[stays]]),
        num_nodes=len(kept),
        node_ids=tuple(data.node_ids[i] for i in kept.tolist()),
        influence=None,
        influence_kind="",
        incidence_weight=None,
    )


def flip(data: TemporalHypergraph, share: float, seed: int) -> TemporalHypergraph:
    """Replace a share of the outcomes by another class, drawn at random.

    Args:
        data: with classes.
        share: of outcomes.
        seed: a larger share flips the outcomes of a smaller one, and more.
    """
    assert data.y is not None
    rng = np.random.default_rng(seed)
    drawn = torch.from_numpy(rng.random(tuple(data.y.shape)))
    other = torch.from_numpy(rng.integers(1, data.num_classes, tuple(data.y.shape)))
    flipped = torch.where(drawn < share, (data.y + other) % data.num_classes, data.y)
    return replace(data, y=torch.where(data.y_mask, flipped, torch.zeros_like(flipped)))


def cause_rows(seeds: Sequence[int] = CAUSE_SEEDS) -> Iterator[Line]:
    """Each part of uncertainty under its own cause and under the other's.

    Both parts are means over the same agents, which are in no training data. Changes of one part are compared under two
    causes, in one unit, so that they need no normalising: from 50 to 400 training agents, and from 0 to 30 % of
    outcomes flipped, in training and in what the forecast reads, at 200 training agents.
    """
    levels: dict[str, list[list[tuple[float, float]]]] = {"agents": [], "noise": []}
    for seed in seeds:
        total = TRAINING_SIZES[-1] + TESTED_AGENTS
        world = sphunc.simulate("snare", agents=total, times=12, label_noise=0.0, seed=seed)
        order = np.random.default_rng(seed).permutation(total)
        tested = np.sort(order[:TESTED_AGENTS])
        pool = order[TESTED_AGENTS:]
        origin = world.data.num_times - 2

        def level(data: TemporalHypergraph, size: int) -> tuple[float, float]:
            trained = only_agents(data, np.sort(pool[:size])).until_index(origin)  # noqa: B023
            found = measure(fit(trained, seed), data, origin)  # noqa: B023
            return float(found.scaled[tested].mean()), float(found.aleatoric[tested].mean())  # noqa: B023

        levels["agents"].append([level(world.data, size) for size in TRAINING_SIZES])
        levels["noise"].append([level(flip(world.data, share, seed), TRAINING_SIZES[2]) for share in FLIPPED])
    agents = np.mean(levels["agents"], 0)
    noise = np.mean(levels["noise"], 0)
    for k, what in enumerate(("epistemic, scaled", "aleatoric")):
        own = (agents, noise)[k][:, k]
        aside = (noise, agents)[k][:, k]
        own_change = float(own[-1] - own[0])
        aside_change = float(aside[-1] - aside[0])
        case = ("training agents", "label noise")[k]
        bound = ({"most": -1e-9}, {"least": 1e-9})[k]
        notes = {"levels": own.tolist(), "steps": np.diff(own).tolist()}
        yield Line("causes", case, f"change of {what}", own_change, **bound, detail=notes)
        share = abs(aside_change) / abs(own_change)
        notes = {"levels": aside.tolist()}
        what = f"change of {what} by the other's cause, share"
        yield Line("causes", case, what, share, None, ASIDE, notes)
