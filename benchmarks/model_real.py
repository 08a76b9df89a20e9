"""The model on real data beside persistence and logistic regression with the same evidence.

The data lie in the folder SPHUNC_DATA. Forecasts are judged for agents who were seen by the origin and whose next
outcome is known. Wave 2 of Glasgow has no earlier step to learn from: there, a fifth of the pupils at a time is
forecast by what was learned from the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model_store import Figures, Task
from model_trivial import LEAST, PENALTIES, Evidence, Predict, gather, learn_logistic, persistence
from model_worlds import fit_model

import sphunc
from sphunc.evaluation import accuracy, bootstrap, check_calibration, macro_f1, nll
from sphunc.hypergraph import TemporalHypergraph

FOLDS = 5
Origins = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A data set, the origins to forecast from, and whether agents instead of times are held out."""

    dataset: str
    path: str
    origins: Origins
    by_agents: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    def load(self) -> TemporalHypergraph:
        """Read it from the folder of real data."""
        return sphunc.load_dataset(self.dataset, Path(os.environ["SPHUNC_DATA"]) / self.path, **dict(self.options))


PHEME = "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz"
CASES = {
    "Glasgow tobacco, wave 2 from 1": Case("snare", "glasgow_peers", (0,), by_agents=True),
    "Glasgow tobacco, wave 3 from 2": Case("snare", "glasgow_peers", (1,)),
    "PHEME stance, bins 6-10": Case("pheme", PHEME, (4, 5, 6, 7, 8), options=(("outcome", "stance"),)),
    "House ideology, 106 from 105": Case("collaboration", "congress_house", (2,)),
    "House ideology, 107 from 106": Case("collaboration", "congress_house", (3,)),
}


def real(task: Task) -> Figures:
    """NLL, macro-F1, accuracy and ECE of three systems, with intervals by bootstrap over agents."""
    case = CASES[task.preset]
    data = case.load()
    trials = list(_by_agents(data, case.origins[0], task.seed) if case.by_agents else _by_times(data, case.origins))
    parts = [_forecasts(task, data, *trial) for trial in trials]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    agents, labels = rows.pop("agents"), rows.pop("labels")
    figures: Figures = {name: _judge(p, labels, agents) for name, p in rows.items()}
    for name in rows.keys() - {"SphUnc"}:
        figures[name]["lead"] = _interval(_lead, rows[name], rows["SphUnc"], labels, agents=agents)
    return {"rows": len(labels), "agents": len(np.unique(agents)), "systems": figures}


Trial = tuple[TemporalHypergraph, Origins, np.ndarray]  # what may be learned from, origins, agents to judge


def _by_times(data: TemporalHypergraph, origins: Origins) -> Iterator[Trial]:
    yield data.until_index(origins[0]), origins, np.ones(data.num_nodes, dtype=bool)


def _by_agents(data: TemporalHypergraph, origin: int, seed: int) -> Iterator[Trial]:
    fold = np.random.default_rng(seed).permutation(data.num_nodes) % FOLDS
    for k in range(FOLDS):
        yield hide(data.until_index(origin + 1), origin + 1, fold == k), (origin,), fold == k


def hide(data: TemporalHypergraph, first: int, agents: np.ndarray) -> TemporalHypergraph:
    """Remove features and outcomes of some agents from time ``first`` on."""
    assert data.y is not None
    shown = torch.ones(data.y_mask.shape, dtype=torch.bool)
    shown[first:, torch.from_numpy(agents)] = False
    x_mask = data.x_mask & shown[..., None]
    return replace(data, x=data.x * x_mask, x_mask=x_mask, y=data.y * shown, y_mask=data.y_mask & shown)


def _forecasts(
    task: Task, data: TemporalHypergraph, known: TemporalHypergraph, origins: Origins, judged: np.ndarray
) -> dict[str, np.ndarray]:
    model, _ = fit_model(task, known)
    train = range(known.num_times - 1)
    learned, seen = gather(known, known.num_times), gather(data, known.num_times)
    peers = {"persistence": persistence(learned, train), "logistic": choose_penalty(learned, train)}
    chosen = [np.flatnonzero(seen.judged(o) & judged) for o in origins]
    found = {name: [predict(seen.at(o)) for o in origins] for name, predict in peers.items()}
    found["SphUnc"] = [model.predict_proba(data, origin=o).double().numpy() for o in origins]
    rows = {name: np.concatenate([p[c] for p, c in zip(ps, chosen, strict=True)]) for name, ps in found.items()}
    labels = np.concatenate([seen.y[o + 1][c] for o, c in zip(origins, chosen, strict=True)])
    return {**rows, "agents": np.concatenate(chosen), "labels": labels}


def choose_penalty(evidence: Evidence, train: Sequence[int]) -> Predict:
    """Logistic regression whose penalty agents left out in turn have chosen."""
    (inputs, labels), agents = evidence.rows(train), evidence.agents(train)
    learn = partial(learn_logistic, classes=evidence.classes)

    def loss(penalty: float) -> float:
        held = [agents % FOLDS == k for k in range(FOLDS)]
        fits = [learn(inputs[~h], labels[~h], penalty=penalty)(inputs[h]) for h in held]
        return nll(np.concatenate(fits), np.concatenate([labels[h] for h in held]), least=LEAST)

    return learn(inputs, labels, penalty=min(PENALTIES, key=loss))


def _judge(p: np.ndarray, labels: np.ndarray, agents: np.ndarray) -> Figures:
    calibration = check_calibration(p, labels)
    return {
        "nll": _interval(_nll, p, labels, agents=agents),
        "macro_f1": _interval(macro_f1, p, labels, agents=agents),
        "accuracy": _interval(accuracy, p, labels, agents=agents),
        "ece": calibration.ece,
        "ece_floor": calibration.null.floor,
        "ece_edge": calibration.null.high,
    }


def _nll(p: np.ndarray, labels: np.ndarray) -> float:
    return nll(p, labels, least=LEAST)


def _lead(peer: np.ndarray, model: np.ndarray, labels: np.ndarray) -> float:
    return _nll(peer, labels) - _nll(model, labels)


def _interval(metric: Callable[..., float], *arrays: np.ndarray, agents: np.ndarray) -> list[float]:
    found = bootstrap(metric, *arrays, clusters=agents)
    return [found.estimate, found.low, found.high]
