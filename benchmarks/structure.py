"""Accuracy, calibration, time and memory of `sphunc.discover`: every figure of docs/structure.md.

Run `python benchmarks/structure.py [--data FOLDER] [--only NAME ...] [--quick]`. FOLDER (or SPHUNC_DATA) holds the
DREAM4 and NetSim series; without it those rows are left out. Times are ratios within one run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from real_series import dream4, netsim
from sklearn.metrics import average_precision_score, roc_auc_score
from spherical_scm import World, group_world, principal_latents, short_panel

import sphunc
from sphunc.baselines.links import conditional_granger, cosine, lagged_cosine, lasso, pairwise_granger, pcmci

Row = tuple[str, str, str, bool | None]


def row(case: str, figure: str, value: float, needed: float | None = None, *, below: bool = False) -> Row:
    """One line of the table; ``needed`` is a bound from below unless ``below``."""
    if needed is None:
        return case, f"{figure} {value:.3f}", "-", None
    passed = value <= needed if below else value >= needed
    return case, f"{figure} {value:.3f}", f"{'<=' if below else '>='} {needed:g}", bool(passed)


def calibration_error(probability: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error over equal bins."""
    which = np.minimum((probability * bins).astype(int), bins - 1)
    gap = np.bincount(which, probability, bins) - np.bincount(which, truth, bins)
    return float(np.abs(gap).sum() / len(truth))


def hypergraph(world: World) -> sphunc.TemporalHypergraph:
    """The groups of a world as data without features."""
    times, agents = world.states.shape[:2]
    met = [(t, group) for t, groups in enumerate(world.meetings) for group in groups]
    index = np.concatenate([np.stack([g, np.full(len(g), k)]) for k, (_, g) in enumerate(met)], 1)
    return sphunc.TemporalHypergraph(
        x=torch.zeros(times, agents, 1),
        x_mask=torch.ones(times, agents, 1, dtype=torch.bool),
        hyperedge_index=torch.from_numpy(index),
        hyperedge_time=torch.tensor([t for t, _ in met]),
        y=None,
        y_mask=torch.zeros(times, agents, dtype=torch.bool),
        num_nodes=agents,
        num_hyperedges=len(met),
        node_ids=tuple(range(agents)),
        hyperedge_ids=tuple(range(len(met))),
        feature_names=("none",),
        class_names=(),
        times=tuple(range(times)),
    )


def judge(world: World, latents: np.ndarray, **options: object) -> tuple[float, float, float, float]:
    """AUPRC, ECE, precision at 10 and seconds of one discovery."""
    candidates = torch.from_numpy(world.candidates)
    start = time.perf_counter()
    graph = sphunc.discover(torch.from_numpy(latents), candidates, diagnose=False, **options)  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    p, truth = graph.probability.numpy(), world.truth.astype(float)
    top = np.argsort(-p, kind="stable")[:10]
    return float(average_precision_score(truth, p)), calibration_error(p, truth), float(truth[top].mean()), seconds


def plain(quick: bool) -> Iterator[Row]:
    """N=540, T=5, D=128."""
    seeds = 1 if quick else 3
    found = np.mean([judge(w := short_panel(seed=100 + s), w.states) for s in range(seeds)], 0)
    yield row("N=540 T=5 D=128", "AUPRC", found[0], 0.90)
    yield row("N=540 T=5 D=128", "ECE", found[1], 0.04, below=True)


def small(quick: bool) -> Iterator[Row]:
    """N=40, T=4, with every peer on the same candidates."""
    worlds = [short_panel(40, 4, seed=200 + s) for s in range(2 if quick else 5)]
    found = np.mean([judge(w, w.states) for w in worlds], 0)
    yield row("N=40 T=4", "P@10", found[2], 0.95)
    yield row("N=40 T=4", "AUPRC", found[0], 0.78)
    yield row("N=40 T=4", "ECE", found[1])
    for name, score in peers().items():
        values = [
            average_precision_score(w.truth, score(torch.from_numpy(w.states), torch.from_numpy(w.candidates)))
            for w in worlds
        ]
        yield row("N=40 T=4", f"AUPRC of {name}", float(np.mean(values)))


def peers() -> dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]:
    """Scores of plain methods."""
    return {
        "cosine": cosine,
        "lagged cosine": lagged_cosine,
        "pairwise Granger": lambda x, c: pairwise_granger(x, c)[0],
        "conditional Granger": lambda x, c: conditional_granger(x, c)[0],
        "lasso": lasso,
    }


def harder(quick: bool) -> Iterator[Row]:
    """400 agents, 8 dimensions, signed links, group pull; true states, then PCA of noisy features."""
    worlds = [group_world(seed=300 + s) for s in range(1 if quick else 3)]
    for name, needed in (("true states", 0.95), ("PCA latents", 0.5)):
        found = []
        for world in worlds:
            assert world.features is not None
            latents = world.states if name == "true states" else principal_latents(world.features, 8)
            found.append(judge(world, latents, data=hypergraph(world)))
        auprc, ece, _, _ = np.mean(found, 0)
        yield row(f"harder world, {name}", "AUPRC", auprc, needed)
        yield row(f"harder world, {name}", "ECE", ece, 0.04, below=True)


def anisotropic(quick: bool) -> Iterator[Row]:
    """Effective dimension 0.2 D."""
    worlds = [short_panel(seed=400 + seed, anisotropy=0.49) for seed in range(1 if quick else 3)]
    found = np.mean([judge(world, world.states) for world in worlds], 0)
    yield row("anisotropic N=540", "AUPRC", found[0], 0.88)
    yield row("anisotropic N=540", "ECE", found[1])


def against_pcmci(quick: bool) -> Iterator[Row]:
    """PCMCI with the dimensions as data sets."""
    found, theirs, ratio = [], [], []
    for seed in range(1 if quick else 2):
        world = short_panel(40, 4, seed=500 + seed)
        fast, full = judge(world, world.states, calibrate=False), judge(world, world.states)
        start = time.perf_counter()
        score = pcmci(torch.from_numpy(world.states), torch.from_numpy(world.candidates))
        seconds = time.perf_counter() - start
        ratio.append((seconds / fast[3], seconds / full[3]))
        found.append(full[0])
        theirs.append(average_precision_score(world.truth, score))
    fast_ratio, full_ratio = np.mean(ratio, 0)
    yield row("against PCMCI, N=40", "AUPRC of PCMCI", float(np.mean(theirs)))
    yield row("against PCMCI, N=40", "AUPRC", float(np.mean(found)), float(np.mean(theirs)))
    yield row("against PCMCI, N=40", "times faster, no calibration", float(fast_ratio), 10)
    yield row("against PCMCI, N=40", "times faster, calibrated", float(full_ratio))


def large(quick: bool) -> Iterator[Row]:
    """Time against one dense cosine matrix, and memory, each in a process of its own."""
    sizes = [(5000, 20)] if quick else [(5000, 20), (10_000, 15)]
    for agents, times in sizes:
        output = subprocess.run(
            [sys.executable, __file__, "--measure", str(agents), str(times)], check=True, capture_output=True, text=True
        )
        auprc, ratio, peak, inputs = (float(x) for x in output.stdout.split()[-4:])
        case = f"N={agents} T={times}"
        yield row(case, "AUPRC", auprc)
        yield row(case, "time / dense cosine", ratio)
        yield row(case, "peak memory GB", peak, 1.5, below=True)
        yield row(case, "of which discover adds GB", peak - inputs)


def measure(agents: int, times: int) -> None:
    """Print AUPRC, time ratio, peak memory of the discovery and memory held before it."""
    world = short_panel(agents, times, seed=700)
    latents, candidates = torch.from_numpy(world.states).float(), torch.from_numpy(world.candidates)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here (Linux)
    before = memory("VmRSS")
    start = time.perf_counter()
    graph = sphunc.discover(latents, candidates, diagnose=False, calibrate=False)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM")
    flat = torch.nn.functional.normalize(latents.transpose(0, 1).flatten(1), dim=1)
    start = time.perf_counter()
    _ = flat @ flat.T
    dense = time.perf_counter() - start
    print(average_precision_score(world.truth, graph.probability.numpy()), seconds / dense, peak, before)


def memory(entry: str) -> float:
    """Gigabytes that the kernel reports for this process."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(entry))
    return int(line.split()[1]) / 1e6


def real(folder: Path) -> Iterator[Row]:
    """DREAM4 and NetSim beside the peers: AUROC and AUPRC over all pairs."""
    for case, systems in (*dream4(folder), *netsim(folder)):
        table: dict[str, list[tuple[float, float]]] = {}
        for series, pairs, truth in systems:
            for name, score in real_scores(series, pairs).items():
                figures = roc_auc_score(truth, score), average_precision_score(truth, score)
                table.setdefault(name, []).append(figures)
        for name, figures in table.items():
            auroc, auprc = np.mean(figures, 0)
            yield case, f"{name}: AUROC {auroc:.3f} AUPRC {auprc:.3f}", "-", None


def real_scores(series: torch.Tensor, pairs: torch.Tensor) -> dict[str, np.ndarray]:
    """Score of every pair by each method."""
    graph = sphunc.discover(series, pairs, replicates=True, max_lag=1, diagnose=False, calibrate=False)
    key = graph.links[1] * series.shape[1] + graph.links[0]
    order = torch.searchsorted(key, pairs[1] * series.shape[1] + pairs[0])
    scores = {
        "sphunc": ranked(graph)[order].numpy(),
        "pairwise Granger": pairwise_granger(series, pairs, replicates=True)[0].numpy(),
        "conditional Granger": conditional_granger(series, pairs, replicates=True)[0].numpy(),
        "lasso": lasso(series, pairs, replicates=True).numpy(),
    }
    if series.shape[1] <= 10:
        scores["PCMCI"] = pcmci(series, pairs).numpy()
    return scores


def ranked(graph: sphunc.InfluenceGraph) -> torch.Tensor:
    """Probability, with ties (many links are certain in long series) broken by strength, as `top` does."""
    size = graph.strength.abs()
    return graph.probability + 1e-6 * size / size.max()


CASES = {
    "plain": plain,
    "small": small,
    "harder": harder,
    "anisotropic": anisotropic,
    "pcmci": against_pcmci,
    "large": large,
}


def main() -> None:
    """Print the table; exit 1 when a row misses its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SPHUNC_DATA"))
    parser.add_argument("--only", nargs="*", choices=[*CASES, "real"])
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    parser.add_argument("--measure", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.measure:
        measure(*options.measure)
        return
    missed = 0
    for name, case in CASES.items():
        if not options.only or name in options.only:
            missed += show(case(options.quick))
    if not options.only or "real" in options.only:
        if options.data is None:
            print("DREAM4 and NetSim left out: pass --data FOLDER or set SPHUNC_DATA")
        else:
            missed += show(real(Path(options.data)))
    sys.exit(1 if missed else 0)


def show(rows: Iterator[Row]) -> int:
    """Print rows as they come; return how many missed their bound."""
    missed = 0
    for case, measured, needed, passed in rows:
        mark = "" if passed is None else "pass" if passed else "MISSED"
        print(f"{case:32s} {measured:52s} {needed:>10s} {mark}", flush=True)
        missed += passed is False
    return missed


if __name__ == "__main__":
    main()
