"""The figures that decide: SphUnc beside what a good analyst would run, on worlds, panels and real data.

    python benchmarks/golden.py [--sets GLOB ...] [--draws 5 6] [--systems NAME,NAME] [--no-effects]
                                [--estimator default|quick|paper] [--jobs 2] [--out golden.json]
                                [--compare earlier.json]

Every set is fitted on the times up to its first test origin and forecast one step ahead from each test origin; rows are
agents observed by the origin whose next outcome is observed. Printed per set: NLL of each system, gap of SphUnc to the
best of the others with its standard error (paired, clustered by agent), ECE with floor and band, AUROC of errors by
``total`` and by top probability (numbers: of errors above their median, by ``total`` and by predicted deviation),
coverage of 90 % sets or intervals; on worlds the share of the way from the best of the others to the oracle, links and
effects. Real data lie in the folder SPHUNC_DATA; sets that are not there are left out with a line.
From a notebook: ``load_set(name)``, ``judge(name, model)`` for a model fitted on ``load_set(name).known``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from golden_store import simple_predictions
from golden_systems import SIMPLE, Prediction, Rows, make_rows
from panels import PANELS, make_panel
from sklearn.metrics import roc_auc_score

import sphunc
from sphunc.evaluation import auprc, check_calibration, precision_at_k
from sphunc.hypergraph import TemporalHypergraph, comembers

Figures = dict[str, Any]
DRAWS = (0, 1)
WORLDS = ("snare", "financial", "pheme")
WORLD_TEST_ORIGINS = (9, 10)
REAL: dict[str, tuple[str, str, dict[str, Any], tuple[int, ...]]] = {
    "real/glasgow": ("snare", "glasgow_peers", {}, (1,)),
    "real/house": ("collaboration", "congress_house", {}, (3, 4)),
    "real/pheme-stance": (
        "pheme",
        "pheme_scheme/pheme-rumour-scheme-dataset.slim.tar.xz",
        {"outcome": "stance"},
        (4, 5, 6, 7, 8),
    ),
}
COVERAGE = 0.9
QUESTIONS = 6
EFFECT_HORIZONS = (1, 3)
MOVED = 0.05
TRUTH_SAMPLES = 1024
ORACLE_SAMPLES = 2048
MODEL = "SphUnc"


# Sets ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GoldenSet:
    """Data with the origins to forecast from.

    Attributes:
        name: kind, process and draw.
        data: all times.
        test_origins: positions of the times to forecast from.
        world: the truth, for simulated worlds.
    """

    name: str
    data: TemporalHypergraph
    test_origins: tuple[int, ...]
    world: sphunc.World | None = None

    @property
    def known(self) -> TemporalHypergraph:
        """What may be learned from: the times up to the first test origin."""
        return until(self.data, self.test_origins[0])

    def train_rows(self) -> Rows:
        """Rows whose outcome lies in :attr:`known`."""
        return make_rows(self.data, range(self.test_origins[0]))

    def test_rows(self) -> Rows:
        """Rows to be forecast."""
        return make_rows(self.data, self.test_origins)


def until(data: TemporalHypergraph, position: int) -> TemporalHypergraph:
    """The times up to a position, under the present and the former name of that method."""
    if hasattr(TemporalHypergraph, "until_index"):
        return data.until_index(position)
    return data.until(position)


def set_names(draws: Sequence[int] = DRAWS) -> list[str]:
    """Names of all sets, real ones also where their data are absent.

    Args:
        draws: of panels, and seeds of worlds.
    """
    worlds = [f"world/{preset}-{draw}" for preset in WORLDS for draw in draws]
    panels = [f"panel/{process}-{draw}" for process in PANELS for draw in draws]
    return [*panels, *REAL, *worlds]


def real_path(name: str) -> Path:
    """Where the files of a real set are expected."""
    return Path(os.environ.get("SPHUNC_DATA", "../shared/data")) / REAL[name][1]


def load_set(name: str) -> GoldenSet:
    """Simulate, generate or read a set; panels and worlds take any draw or seed (``"panel/cycles-7"``)."""
    if name in REAL:
        dataset, _, options, origins = REAL[name]
        return GoldenSet(name, sphunc.load_dataset(dataset, real_path(name), **options), origins)
    kind, _, rest = name.partition("/")
    process, _, draw = rest.rpartition("-")
    if kind == "world":
        world = sphunc.simulate(process, agents=200, times=12, seed=int(draw))
        return GoldenSet(name, world.data, WORLD_TEST_ORIGINS, world)
    panel = PANELS[process](int(draw))
    with tempfile.TemporaryDirectory() as folder:
        data = make_panel(process, int(draw), folder)
    return GoldenSet(name, data, panel.test_origins)


# The model ----------------------------------------------------------------------------------------------------------


def make_model(estimator: str) -> Any:
    """An unfitted SphUnc: the default, its regression alone, or the paper's model."""
    if estimator == "quick":
        return sphunc.SphUnc(seed=0, quick=True)
    if estimator == "paper":
        return sphunc.SphUnc(sphunc.SphUncConfig.paper(), seed=0)
    return sphunc.SphUnc(seed=0)


def forecast(model: Any, data: TemporalHypergraph, position: int) -> Any:
    """Forecast from a position; without sets where the model cannot give them."""
    try:
        return model.predict(data, origin_index=position, coverage=COVERAGE)
    except sphunc.SphuncError:
        return model.predict(data, origin_index=position)


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Forecasts of the test rows: prediction, ``total``, and whether set or interval holds the outcome.

    ``loss`` is the negative log-likelihood of the model's own density: numbers may have outliers.
    """

    prediction: Prediction
    loss: np.ndarray
    total: np.ndarray
    covered: np.ndarray | None
    set_size: float | None


def model_rows(model: Any, golden: GoldenSet, rows: Rows) -> ModelRows:
    """Forecast every test origin and pick the rows to be compared."""
    prediction: dict[str, list[np.ndarray]] = {"probabilities": [], "mean": [], "variance": []}
    total = []
    losses = []
    covered = []
    sizes = []
    for origin in golden.test_origins:
        found = forecast(model, golden.data, origin)
        chosen = rows.agent[rows.origin == origin]
        outcome = rows.outcome[rows.origin == origin]
        total.append(_array(found.total)[chosen])
        if rows.classes:
            prediction["probabilities"].append(_array(found.probabilities)[chosen])
            if found.set is not None:
                inside = found.set.cpu().numpy()[chosen]
                covered.append(inside[np.arange(len(chosen)), outcome.astype(int)])
                sizes.append(inside.sum(1))
        else:
            prediction["mean"].append(_array(found.mean)[chosen, 0])
            prediction["variance"].append(_array(found.variance)[chosen, 0])
            density = found.distribution.select(torch.from_numpy(chosen))
            losses.append(_array(density.nll(torch.from_numpy(outcome).unsqueeze(1))))
            if found.interval is not None:
                ends = _array(found.interval)[chosen, 0]
                covered.append((ends[:, 0] <= outcome) & (outcome <= ends[:, 1]))
                sizes.append(ends[:, 1] - ends[:, 0])
    stacked = Prediction(**{name: np.concatenate(parts) for name, parts in prediction.items() if parts})
    loss = stacked.nll(rows.outcome)
    if losses:
        loss = np.concatenate(losses)
    has_sets = len(covered) == len(golden.test_origins)
    return ModelRows(
        stacked,
        loss,
        np.concatenate(total),
        np.concatenate(covered) if has_sets else None,
        float(np.concatenate(sizes).mean()) if has_sets else None,
    )


def _array(values: torch.Tensor) -> np.ndarray:
    return values.detach().cpu().double().numpy()


# Figures ------------------------------------------------------------------------------------------------------------


def clustered_error(differences: np.ndarray, agents: np.ndarray) -> float:
    """Standard error of the mean of rows whose errors may go together within an agent."""
    _, cluster = np.unique(agents, return_inverse=True)
    sums = np.bincount(cluster, differences - differences.mean())
    count = len(sums)
    if count < 2:
        return float("nan")
    return float(np.sqrt((sums**2).sum() * count / (count - 1)) / len(differences))


def compare_losses(mine: np.ndarray, others: dict[str, np.ndarray], agents: np.ndarray) -> Figures:
    """Gap to the best of the others, with its error; positive where the model is worse."""
    means = {name: float(values.mean()) for name, values in others.items()}
    best = min(means, key=lambda name: means[name])
    difference = mine - others[best]
    error = clustered_error(difference, agents)
    gap = float(difference.mean())
    return {"best": best, "gap": gap, "gap_error": error, "gap_ratio": gap / error if error > 0 else 0.0}


def oracle_share(figures: Figures) -> float:
    """Share of the way from the best of the others to the oracle, in NLL."""
    best = figures["systems"][figures["best"]]["nll"]
    return (best - figures["systems"][MODEL]["nll"]) / (best - figures["oracle"])


def calibration(p: np.ndarray, outcome: np.ndarray) -> Figures:
    """ECE with the floor and band of a perfectly calibrated forecaster."""
    found = check_calibration(p / p.sum(1, keepdims=True), outcome.astype(int))
    return {
        "ece": found.ece,
        "ece_floor": found.null.floor,
        "ece_high": found.null.high,
        "ece_inside": bool(found.is_calibrated),
    }


def error_ranking(found: ModelRows, outcome: np.ndarray) -> Figures:
    """AUROC of errors by ``total`` and by the sharpness of the forecast."""
    p = found.prediction.probabilities
    if p is not None:
        wrong = p.argmax(1) != outcome
        plain = 1 - p.max(1)
    else:
        assert found.prediction.mean is not None
        assert found.prediction.variance is not None
        size = np.abs(outcome - found.prediction.mean)
        wrong = size > np.median(size)
        plain = np.sqrt(found.prediction.variance)
    if wrong.all() or not wrong.any():
        return {}
    by_total = float(roc_auc_score(wrong, found.total))
    by_plain = float(roc_auc_score(wrong, plain))
    return {"auroc_total": by_total, "auroc_plain": by_plain, "auroc_difference": by_total - by_plain}


def link_figures(model: Any, golden: GoldenSet) -> Figures:
    """AUPRC and precision at 10 among all co-members of the training times; pairs not considered score 0."""
    assert golden.world is not None
    graph = model.influence()
    agents = golden.data.num_nodes
    candidates = comembers(golden.known)
    key = candidates[0] * agents + candidates[1]
    truth = torch.isin(key, golden.world.links[0] * agents + golden.world.links[1]).numpy()
    size = graph.strength.abs().double().cpu()
    # Many links may be certain: among equals the stronger one goes first.
    ranked = graph.probability.double().cpu() + 1e-9 * size / size.max().clamp(min=1e-12)
    score = torch.zeros(agents * agents, dtype=torch.float64)
    score[(graph.links[0] * agents + graph.links[1]).cpu()] = ranked
    chosen = score[key].numpy()
    return {
        "auprc": auprc(chosen, truth),
        "p10": precision_at_k(chosen, truth),
        "links_expected": float(graph.probability.sum()),
        "links_true": int(truth.sum()),
    }


def effect_figures(model: Any, golden: GoldenSet) -> Figures:
    """Slope of estimated on true effects and total variation, over agents whom the truth moves by more than 0.05.

    A few agents with many followers are set toward a class, from the first test origin, held to the horizon.
    """
    world = golden.world
    assert world is not None
    origin = golden.test_origins[0]
    followers = torch.bincount(world.links[0], minlength=golden.data.num_nodes)
    sources = torch.argsort(followers, descending=True, stable=True)[:QUESTIONS].tolist()
    ids = golden.data.node_ids
    names = golden.data.class_names
    figures: Figures = {}
    for horizon in EFFECT_HORIZONS:
        truth_of = partial(world.interventional, origin=origin, horizon=horizon, samples=TRUTH_SAMPLES, seed=0)
        factual = truth_of({})
        estimated = []
        true = []
        variation = []
        for k, agent in enumerate(sources):
            name = names[k % len(names)]
            do = sphunc.Do(ids[agent], toward=name)
            effect = model.intervene(do, data=golden.known, horizon=horizon, samples=100, seed=0)
            after = truth_of({ids[agent]: name})
            moved = 0.5 * (after - factual).abs().sum(-1) > MOVED
            moved[agent] = False
            p = effect.probabilities.detach().cpu().double()
            estimated.append((p - effect.factual.detach().cpu().double())[moved])
            true.append((after - factual)[moved])
            variation.append(0.5 * (p - after).abs().sum(-1)[moved])
        one = torch.cat(estimated)
        other = torch.cat(true)
        figures[f"slope_{horizon}"] = float((one * other).sum() / other.square().sum().clamp(min=1e-12))
        figures[f"variation_{horizon}"] = float(torch.cat(variation).mean())
    return figures


def simple_losses(golden: GoldenSet, rows: Rows, names: Sequence[str]) -> tuple[dict[str, np.ndarray], Figures]:
    """Losses of the simple systems per row, and their figures."""
    predictions = simple_predictions(golden.data, golden.test_origins, names, partial(_learn_simple, golden, rows))
    found: dict[str, np.ndarray] = {}
    figures: Figures = {}
    for name in names:
        prediction, note, seconds = predictions[name]
        found[name] = prediction.nll(rows.outcome)
        figures[name] = {"nll": float(found[name].mean()), "seconds": seconds, "note": note}
        if prediction.probabilities is not None:
            figures[name] |= calibration(prediction.probabilities, rows.outcome)
    return found, figures


def _learn_simple(golden: GoldenSet, rows: Rows, name: str) -> tuple[Prediction, str, float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prediction, note = SIMPLE[name](golden.train_rows(), rows)
    return prediction, note, time.process_time() - start


def judge(name: str, model: Any, *, effects: bool = True, systems: Sequence[str] = tuple(SIMPLE)) -> Figures:
    """All figures of a model that was fitted on ``load_set(name).known``.

    Args:
        name: of the set.
        model: fitted.
        effects: also links and effects, on worlds.
        systems: the others.
    """
    golden = load_set(name)
    return _figures(golden, golden.test_rows(), model, effects=effects, systems=systems)


def _figures(golden: GoldenSet, rows: Rows, model: Any | None, *, effects: bool, systems: Sequence[str]) -> Figures:
    # Forecasts come first: the peak of memory is then that of the model alone.
    figures: Figures = {"rows": len(rows.outcome), "agents": len(np.unique(rows.agent)), "classes": rows.classes}
    found = None
    if model is not None:
        found = model_rows(model, golden, rows)
        figures["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    others, figures["systems"] = simple_losses(golden, rows, systems)
    if golden.world is not None:
        oracle = [golden.world.oracle(o, samples=ORACLE_SAMPLES).numpy() for o in golden.test_origins]
        chosen = [p[rows.agent[rows.origin == o]] for o, p in zip(golden.test_origins, oracle, strict=True)]
        figures["oracle"] = float(Prediction(probabilities=np.concatenate(chosen)).nll(rows.outcome).mean())
    if found is None:
        return figures
    mine = found.loss
    figures["systems"][MODEL] = {"nll": float(mine.mean())}
    figures["losses"] = [round(value, 6) for value in mine.tolist()]
    figures["row_agents"] = rows.agent.tolist()
    if others:
        figures |= compare_losses(mine, others, rows.agent)
    if found.prediction.probabilities is not None:
        figures |= calibration(found.prediction.probabilities, rows.outcome)
    else:
        figures["nll_normal"] = float(found.prediction.nll(rows.outcome).mean())
    figures |= error_ranking(found, rows.outcome)
    if found.covered is not None:
        figures |= {"coverage": float(found.covered.mean()), "set_size": found.set_size}
    if golden.world is not None and others:
        figures["share"] = oracle_share(figures)
        if effects:
            for part in (link_figures, effect_figures):
                figures |= _or_error(part.__name__, lambda part=part: part(model, golden))
    return figures


def rejudge(name: str, figures: Figures, systems: Sequence[str]) -> Figures:
    """Figures of an earlier run with gap and share against the simple systems as they are now."""
    golden = load_set(name)
    rows = golden.test_rows()
    others, found = simple_losses(golden, rows, systems)
    if "losses" not in figures:
        return figures | {"systems": found}
    mine = np.array(figures["losses"])
    found[MODEL] = figures["systems"][MODEL]
    figures = figures | {"systems": found} | compare_losses(mine, others, rows.agent)
    if "oracle" in figures:
        figures["share"] = oracle_share(figures)
    return figures


def _or_error(name: str, compute: Callable[[], Figures]) -> Figures:
    try:
        return compute()
    except Exception as error:
        return {f"{name}_error": _in_words(error)}


def _in_words(error: BaseException) -> str:
    return f"error: {type(error).__name__}: {str(error)[:300]}"


# One set in a process of its own ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What is measured."""

    systems: tuple[str, ...]
    estimator: str = "default"
    effects: bool = True


def measure(name: str, options: Options) -> Figures:
    """Load, fit and compare one set."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    golden = load_set(name)
    rows = golden.test_rows()
    model = None
    figures: Figures = {}
    if MODEL in options.systems:
        try:
            model, figures = _timed_fit(golden, options.estimator)
        except Exception as error:
            figures["error"] = _in_words(error)
    simple = [system for system in options.systems if system != MODEL]
    compute = partial(_figures, golden, rows, effects=options.effects, systems=simple)
    try:
        figures |= compute(model)
    except Exception as error:
        figures["error"] = _in_words(error)
        figures |= compute(None)
    figures["seconds"] = time.perf_counter() - start
    return figures


def _timed_fit(golden: GoldenSet, estimator: str) -> tuple[Any, Figures]:
    start = time.process_time()
    model = make_model(estimator).fit(golden.known, verbose=False)
    return model, {"fit_seconds": time.process_time() - start}


def _child(name: str, options: Options, sender: Connection) -> None:
    try:
        sender.send(measure(name, options))
    except BaseException as error:
        sender.send({"error": _in_words(error)})


def measure_all(names: Sequence[str], options: Options, jobs: int, limit: float) -> Iterator[tuple[str, Figures]]:
    """Measure sets, each in a fresh process, ``jobs`` at a time; yields them as they end.

    Args:
        names: of the sets.
        options: what is measured.
        jobs: processes at a time.
        limit: seconds after which a set is given up.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(names)
    running: dict[str, tuple[Any, Connection, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(name, options, sender), daemon=True)
            process.start()
            sender.close()
            running[name] = (process, receiver, time.perf_counter())
        for name, (process, receiver, start) in list(running.items()):
            figures = None
            if receiver.poll(0.1):
                try:
                    figures = receiver.recv()
                except EOFError:
                    process.join()
                    figures = {"error": f"error: the process ended with code {process.exitcode}"}
            elif time.perf_counter() - start > limit:
                process.terminate()
                figures = {"error": f"error: not done after {limit:.0f} s"}
            if figures is not None:
                process.join()
                receiver.close()
                del running[name]
                yield name, figures


# Tables -------------------------------------------------------------------------------------------------------------

ABBREVIATIONS = {"frequencies": "freq", "persistence": "pers", "regression": "regr", "boosting": "boost"}


def line(name: str, figures: Figures) -> str:
    """One set in one line."""
    systems = figures.get("systems", {})
    parts = [f"{name:24s}"]
    parts += [f"{ABBREVIATIONS.get(s, s)} {value['nll']:.3f}" for s, value in systems.items()]
    if "oracle" in figures:
        parts.append(f"oracle {figures['oracle']:.3f}")
    if "gap" in figures:
        parts.append(f"gap {figures['gap']:+.4f} ({figures['gap_error']:.4f})")
    for key, form in (
        ("share", ".2f"),
        ("auprc", ".2f"),
        ("p10", ".1f"),
        ("slope_1", ".2f"),
        ("variation_1", ".2f"),
        ("coverage", ".2f"),
        ("fit_seconds", ".1f"),
        ("memory_mb", ".0f"),
    ):
        if key in figures:
            parts.append(f"{key} {figures[key]:{form}}")
    if "ece" in figures:
        inside = "inside" if figures["ece_inside"] else "OUTSIDE"
        parts.append(f"ece {figures['ece']:.3f} (floor {figures['ece_floor']:.3f}, {inside})")
    if "auroc_total" in figures:
        parts.append(f"auroc {figures['auroc_total']:.3f} / {figures['auroc_plain']:.3f}")
    parts += [str(value) for key, value in figures.items() if key.endswith("error") and isinstance(value, str)]
    return "  ".join(parts)


def summarise(sets: dict[str, Figures]) -> Figures:
    """The figures by which a model is accepted; gaps leave out the worlds, which have their share."""
    judged = {name: found for name, found in sets.items() if "gap" in found}
    outside = {name: found for name, found in judged.items() if not name.startswith("world/")}
    covered = [(found["coverage"], found["rows"]) for found in judged.values() if "coverage" in found]
    differences = {name: found["auroc_difference"] for name, found in judged.items() if "auroc_difference" in found}
    checked = [found["ece_inside"] for found in judged.values() if "ece_inside" in found]
    summary: Figures = {
        "sets": len(sets),
        "errors": [name for name, found in sets.items() if "error" in found],
        "seconds": sum(found.get("seconds", 0.0) for found in sets.values()),
    }
    if not judged:
        return summary
    summary |= {
        "behind_two_errors": [name for name, found in judged.items() if found["gap_ratio"] > 2],
        "mean_gap": _mean([found["gap"] for found in outside.values()]),
        "mean_gap_standardised": _mean([found["gap_ratio"] for found in outside.values()]),
        "share_ahead": _mean([found["gap"] < 0 for found in outside.values()]),
        "ece_inside": f"{sum(checked)} of {len(checked)}",
        "fit_seconds": sum(found.get("fit_seconds", 0.0) for found in judged.values()),
        "memory_mb": max(found.get("memory_mb", 0.0) for found in judged.values()),
    }
    for key in ("share", "auprc", "p10", "slope_1", "slope_3", "variation_1", "variation_3"):
        summary[f"mean_{key}"] = _mean([found[key] for found in judged.values() if key in found])
    if covered:
        total = sum(rows for _, rows in covered)
        summary["coverage"] = sum(value * rows for value, rows in covered) / total
    if differences:
        worst = min(differences, key=lambda name: differences[name])
        summary["worst_auroc_difference"] = [worst, differences[worst]]
        summary["auroc_below_minus_0.01"] = [name for name, value in differences.items() if value < -0.01]
    return summary


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


COMPARED = (
    "gap",
    "share",
    "ece",
    "auroc_total",
    "auroc_difference",
    "coverage",
    "auprc",
    "p10",
    "slope_1",
    "slope_3",
    "variation_1",
    "variation_3",
    "fit_seconds",
    "memory_mb",
)


def print_differences(now: dict[str, Figures], earlier: dict[str, Figures]) -> None:
    """NLL and figures of the model on sets that both runs hold, earlier and now."""
    print("\nearlier -> now")
    for name in sorted(now.keys() & earlier.keys()):
        parts = []
        before = earlier[name].get("systems", {}).get(MODEL, {}).get("nll")
        after = now[name].get("systems", {}).get(MODEL, {}).get("nll")
        if before is not None and after is not None:
            parts.append(f"nll {before:.4f} -> {after:.4f} ({_paired_difference(now[name], earlier[name])})")
        both = [key for key in COMPARED if key in earlier[name] and key in now[name]]
        parts += [f"{key} {earlier[name][key]:.3f} -> {now[name][key]:.3f}" for key in both]
        for run, found in (("earlier", earlier[name]), ("now", now[name])):
            if "error" in found:
                parts.append(f"{run}: {found['error']}")
        print(f"{name:24s}  {'  '.join(parts)}")


def _paired_difference(now: Figures, earlier: Figures) -> str:
    if now.get("row_agents") != earlier.get("row_agents"):
        return "other rows"
    difference = np.array(now["losses"]) - np.array(earlier["losses"])
    error = clustered_error(difference, np.array(now["row_agents"]))
    return f"{difference.mean():+.4f}, error {error:.4f}"


# Command line -------------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=["*"], metavar="GLOB", help="such as 'panel/*' or 'world/snare-*'")
    parser.add_argument("--draws", nargs="*", type=int, default=DRAWS, help="of panels and worlds")
    parser.add_argument("--systems", default=",".join([MODEL, *SIMPLE]), help="names with commas")
    parser.add_argument("--estimator", choices=("default", "quick", "paper"), default="default")
    parser.add_argument("--no-effects", action="store_true", help="leave out links and effects on worlds")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a set is given up")
    parser.add_argument("--out", type=Path, default=None, help="JSON, written after every set")
    parser.add_argument("--keep", action="store_true", help="go on with the sets that --out does not hold yet")
    parser.add_argument("--rejudge", type=Path, default=None, help="JSON of a run whose gaps to take anew; no fit")
    parser.add_argument("--compare", type=Path, default=None, help="JSON of an earlier run")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, print, write."""
    arguments = parse()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    systems = tuple(arguments.systems.split(","))
    unknown = set(systems) - {MODEL, *SIMPLE}
    if unknown:
        sys.exit(f"--systems: {', '.join(sorted(unknown))} not known; choose from {MODEL}, {', '.join(SIMPLE)}")
    names = [name for name in set_names(arguments.draws) if any(fnmatch(name, pattern) for pattern in arguments.sets)]
    for name in [name for name in names if name in REAL and not real_path(name).exists()]:
        print(f"{name:24s}  left out: {real_path(name)} is not there (SPHUNC_DATA names the folder)")
        names.remove(name)
    if arguments.rejudge is not None:
        kept = json.loads(arguments.rejudge.read_text())["sets"]
        simple = [system for system in systems if system != MODEL]
        _report({name: rejudge(name, kept[name], simple) for name in names if name in kept}, arguments)
        return
    sets: dict[str, Figures] = {}
    if arguments.keep and arguments.out is not None and arguments.out.exists():
        sets = json.loads(arguments.out.read_text())["sets"]
    waiting = [name for name in names if name not in sets]
    options = Options(systems, arguments.estimator, not arguments.no_effects)
    start = time.perf_counter()
    for done, (name, figures) in enumerate(measure_all(waiting, options, arguments.jobs, arguments.limit), 1):
        sets[name] = figures
        left = (time.perf_counter() - start) / done * (len(waiting) - done)
        print(f"[{done}/{len(waiting)}, {left / 60:.1f} min left]  {line(name, figures)}", flush=True)
        if arguments.out is not None:
            _write(arguments.out, sets)
    _report(sets, arguments)
    print(f"{'wall_seconds':28s} {time.perf_counter() - start:.0f}")


def _report(sets: dict[str, Figures], arguments: argparse.Namespace) -> None:
    if arguments.rejudge is not None:
        print("\n".join(line(name, figures) for name, figures in sets.items()))
    if arguments.out is not None and sets:
        _write(arguments.out, sets)
    print()
    for key, value in summarise(sets).items():
        print(f"{key:28s} {value}")
    if arguments.compare is not None:
        print_differences(sets, json.loads(arguments.compare.read_text())["sets"])


def _write(path: Path, sets: dict[str, Figures]) -> None:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in sets.items())
    text = f'{{"summary": {json.dumps(summarise(sets), indent=1)},\n"sets": {{\n{lines}\n}}}}'
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text + "\n")
    temporary.replace(path)


if __name__ == "__main__":
    main()
