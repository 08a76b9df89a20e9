"""Measurements on simulated worlds: every function takes a task and returns figures that JSON can hold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from model_peers import ensemble_scores, lagged_cosines, surprise_of_states
from model_store import Figures, Task
from model_trivial import LEAST, gather, trivial_forecasts
from scipy.stats import spearmanr

import sphunc
from sphunc.evaluation import (
    accuracy,
    auprc,
    base_rate,
    check_calibration,
    macro_auc,
    macro_f1,
    nll,
    out_of_distribution_auroc,
    precision_at_k,
)
from sphunc.hypergraph import TemporalHypergraph, time_split
from sphunc.nn.aleatoric import squashed_variance
from sphunc.worlds import World
from sphunc.worlds.presets import PRESETS

DROPPED = 0.6
NEWCOMERS = {"newcomers": 0.1, "unseen": 0.1}
SIZES = (50, 100, 200, 400)
TESTED_AGENTS = 140
ORACLE_DRAWS = 2048


def make_world(task: Task, **knobs: Any) -> World:
    """Simulate the world of a task."""
    if task.times is not None:
        knobs["times"] = task.times
    if task.agents is not None and task.agents < PRESETS[task.preset].agents:
        knobs["agents"] = task.agents
    return sphunc.simulate(task.preset, seed=task.seed, **knobs)


def fit_model(task: Task, data: TemporalHypergraph, split: Any = None) -> tuple[sphunc.SphUnc, float]:
    """Fit with the settings of the task; the model and the seconds it took."""
    start = time.perf_counter()
    model = sphunc.SphUnc(seed=task.seed, **task.model_settings).fit(data, split, verbose=False)
    return model, time.perf_counter() - start


def trivial(task: Task) -> Figures:
    """NLL on the test origins of the oracle and of every trivial model."""
    world = make_world(task)
    split = time_split(world.data)
    evidence = gather(world.data, split.train[-1] + 2)
    labels, mask = _labels(world, split.test)
    figures = {"oracle": nll(_stack([world.oracle(o, samples=ORACLE_DRAWS) for o in split.test]), labels, mask=mask)}
    for name, forecast in trivial_forecasts(evidence, split, task.seed):
        figures[name] = nll(_stack([forecast(o) for o in split.test]), labels, mask=mask, least=LEAST)
    return figures


def fitted(task: Task) -> Figures:
    """One fit, and all that can be read from it: NLL, ECE, both uncertainties, lost features, influence."""
    world = make_world(task)
    split = time_split(world.data)
    model, seconds = fit_model(task, world.data, split)
    forecasts = [model.predict(world.data, origin=o) for o in split.test]
    p, (labels, mask) = _stack([f.probabilities for f in forecasts]), _labels(world, split.test)
    calibration = check_calibration(p, labels, mask=mask)
    truth = torch.cat([world.label_entropy[o + 1] for o in split.test])
    aleatoric, epistemic = (torch.cat([getattr(f, name) for f in forecasts]) for name in ("aleatoric", "epistemic"))
    lost = drop_features(world.data, split.test[0], DROPPED, task.seed)
    q = _stack([model.predict(lost, origin=o).probabilities for o in split.test])
    return {
        "agents": world.data.num_nodes,
        "seconds": seconds,
        "epochs": model.epochs_,
        "nll": nll(p, labels, mask=mask, least=LEAST),
        "accuracy": accuracy(p, labels, mask=mask),
        "macro_f1": macro_f1(p, labels, mask=mask),
        "macro_f1_lost": macro_f1(q, labels, mask=mask),
        "nll_lost": nll(q, labels, mask=mask, least=LEAST),
        "ece": calibration.ece,
        "ece_floor": calibration.null.floor,
        "ece_edge": calibration.null.high,
        "is_calibrated": calibration.is_calibrated,
        "aleatoric_entropy": _rank(aleatoric[mask], truth[mask]),
        "total_entropy": _rank(torch.cat([f.total for f in forecasts])[mask], truth[mask]),
        "parts": _rank(epistemic[mask], aleatoric[mask]),
        **_links(world, model, split.targets("calibration")[-1]),
    }


def _links(world: World, model: sphunc.SphUnc, last: int) -> Figures:
    graph = model.influence()
    is_link = _among(graph.links, world.links, world.data.num_nodes)
    size = graph.strength.abs()
    # Many links may be certain: among equals the stronger one goes first, as in InfluenceGraph.top.
    score = graph.probability + 1e-9 * size / size.max()
    peers = {name: auprc(found, is_link) for name, found in lagged_cosines(world.data.window(0, last + 1), graph.links)}
    plain = {name: value for name, value in peers.items() if "centred" not in name}
    best = max(plain, key=lambda name: plain[name])
    return {
        "p10": precision_at_k(score, is_link),
        "auprc": auprc(score, is_link),
        "base_rate": base_rate(is_link),
        "candidates": len(is_link),
        "links_covered": float(is_link.sum()) / world.links.shape[1],
        "cosine": plain[best],
        "cosine_view": best,
        "correlation": max(value for name, value in peers.items() if "centred" in name),
    }


def _among(candidates: torch.Tensor, links: torch.Tensor, agents: int) -> np.ndarray:
    return torch.isin(candidates[0] * agents + candidates[1], links[0] * agents + links[1]).numpy()


def headline(task: Task) -> Figures:
    """The paper's metric of each data set, at its sizes: the last time from the one before, in points."""
    world = make_world(task)
    origin = world.data.num_times - 2
    model, seconds = fit_model(task, world.data.until_index(origin))
    p, y = model.predict_proba(world.data, origin=origin).numpy(), world.outcomes[-1].numpy()
    score = {"snare": macro_f1, "pheme": lambda p, y: macro_auc(p, y).value}.get(task.preset, accuracy)
    oracle = world.oracle(origin, samples=ORACLE_DRAWS).numpy()
    return {"score": 100 * score(p, y), "oracle": 100 * score(oracle, y), "seconds": seconds}


def newcomers(task: Task) -> Figures:
    """Newcomers of an unseen community against newcomers of known ones, by the model's uncertainties."""
    world = make_world(task, **NEWCOMERS)
    origin = world.settings.entry_time
    model, seconds = fit_model(task, world.data.until_index(origin - 1))
    forecast = model.predict(world.data, origin=origin)
    scores = {"epistemic": forecast.epistemic, "total": forecast.total, "max_probability": 1 - forecast.confidence}
    return {name: _auroc(world, score.numpy()) for name, score in scores.items()} | {"seconds": seconds}


def newcomer_peers(task: Task) -> Figures:
    """The same by a kernel density on the true states, and by an ensemble of 5 networks."""
    world = make_world(task, **NEWCOMERS)
    origin = world.settings.entry_time
    figures = {"density": _auroc(world, surprise_of_states(world, origin, origin))}
    evidence = gather(world.data, origin)
    train, validation = range(origin - 2), (origin - 2,)
    for name, score in ensemble_scores(evidence, train, validation, origin, task.seed):
        figures[name] = _auroc(world, score)
    return figures


def _auroc(world: World, score: np.ndarray) -> float:
    return out_of_distribution_auroc(score[world.newcomers.numpy()], score[world.out_of_distribution.numpy()])


def sizes(task: Task) -> Figures:
    """Mean scaled uncertainties of the same agents, never trained on, as training agents grow in number."""
    world = make_world(replace(task, agents=None), agents=SIZES[-1] + TESTED_AGENTS)
    order = np.random.default_rng(task.seed).permutation(world.data.num_nodes)
    tested, pool = np.sort(order[:TESTED_AGENTS]), order[TESTED_AGENTS:]
    origin = world.data.num_times - 2
    figures: Figures = {"epistemic": [], "nats": [], "aleatoric": [], "nll": []}
    for size in SIZES:
        model, _ = fit_model(task, only_agents(world.data, np.sort(pool[:size])).until_index(origin))
        forecast = model.predict(world.data, origin=origin)
        assert forecast.probabilities is not None
        figures["epistemic"].append(float(forecast.epistemic_scaled[tested].mean()))
        figures["nats"].append(float(forecast.epistemic[tested].mean()))
        figures["aleatoric"].append(float(squashed_variance(forecast.aleatoric[tested]).mean()))
        figures["nll"].append(nll(forecast.probabilities[tested], world.outcomes[-1, tested], least=LEAST))
    return figures


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


def drop_features(data: TemporalHypergraph, first: int, share: float, seed: int) -> TemporalHypergraph:
    """Lose a share of the feature entries at the times from ``first`` on."""
    kept = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(seed)) >= share
    kept[:first] = True
    return replace(data, x=data.x * kept, x_mask=data.x_mask & kept)


def _labels(world: World, origins: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    targets = [origin + 1 for origin in origins]
    return world.outcomes[targets].flatten().numpy(), world.data.y_mask[targets].flatten().numpy()


def _stack(parts: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.asarray(part) for part in parts])


def _rank(a: torch.Tensor, b: torch.Tensor) -> float:
    found: Any = spearmanr(a.numpy(), b.numpy())
    return float(found.statistic)
