"""What the model must show beyond `benchmarks/golden.py`: sane uncertainty, cost, headlines, fits that go on.

    python benchmarks/core.py [--rows hide,age,unseen,causes,resume,cost,headlines] [--seeds N] [--sets GLOB ...]
                              [--against FOLDER] [--repeats 2] [--out core.json]

- hide: all but the last observation of an agent is hidden, a third of the agents at a time.
- age: the last k = 0, 1, 2, 4 times of an agent are hidden.
- unseen: AUROC by the epistemic part of agents that enter at the origin.
- causes: epistemic part with more training agents, aleatoric part with more label noise, each with the other's cause.
- resume: fits killed at a random moment, then resumed, in processes of their own; forecasts compared bit by bit.
- cost: CPU seconds and peak memory of fits, each in a process of its own with one thread; ``--against`` names the
  ``src`` folder of an earlier version, which is measured in turn with this one.
- headlines: the paper's metrics on worlds of the paper's sizes; the last time is forecast from all before it.

Every line has a value, the bound that it must reach and whether it does. Real data lie in the folder SPHUNC_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import core_cost as cost
import core_uncertainty as uncertainty
import numpy as np
import torch
from core_lines import Figures, Line

import sphunc
from sphunc.evaluation import accuracy, macro_auc, macro_f1

HEADLINES = {"snare": ("macro-F1", 78.5, 10), "pheme": ("macro AUC", 85.2, 10), "amigos": ("accuracy", 75.1, 30)}
ORACLE_SAMPLES = 2048


def headline_score(preset: str, p: np.ndarray, outcome: np.ndarray) -> float:
    """The paper's metric of a data set, in points.

    Args:
        preset: of the world.
        p: class probabilities ``[N, C]``.
        outcome: class codes ``[N]``.
    """
    if preset == "snare":
        return 100 * macro_f1(p, outcome)
    if preset == "pheme":
        return 100 * macro_auc(p, outcome).value
    return 100 * accuracy(p, outcome)


def headline_rows(presets: Sequence[str], seeds: int | None = None) -> Iterator[Line]:
    """Forecast the last time of worlds of the paper's sizes from all times before it.

    Args:
        presets: of :data:`HEADLINES`.
        seeds: worlds of each; None takes as many as the table asks for.
    """
    for preset in presets:
        metric, least, all_seeds = HEADLINES[preset]
        scores = []
        oracles = []
        seconds = []
        for seed in range(seeds or all_seeds):
            world = sphunc.simulate(preset, seed=seed)
            origin = world.data.num_times - 2
            model, taken = cost.timed_fit(world.data.until_index(origin), seed)
            outcome = world.outcomes[-1].numpy()
            p = model.predict_proba(world.data, origin_index=origin).numpy()
            scores.append(headline_score(preset, p, outcome))
            oracle = world.oracle(origin, samples=ORACLE_SAMPLES).numpy()
            oracles.append(headline_score(preset, oracle, outcome))
            seconds.append(taken)
            print(f"  {preset} seed {seed}: {scores[-1]:.1f} (oracle {oracles[-1]:.1f}), {taken:.1f} s", flush=True)
        error = 0.0
        if len(scores) > 1:
            error = float(np.std(scores, ddof=1) / np.sqrt(len(scores)))
        notes = {"error": error, "oracle": float(np.mean(oracles)), "seconds": float(np.mean(seconds))}
        notes |= {"seeds": scores}
        yield Line("headlines", f"world/{preset}", metric, float(np.mean(scores)), least, None, notes)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--seeds", type=int, help="seeds of worlds; default: as many as the table asks for")
    parser.add_argument("--sets", nargs="+", default=["*"], help="patterns of sets and cases, such as 'world/*'")
    parser.add_argument("--against", type=Path, help="src folder of an earlier version, for ratios of CPU seconds")
    parser.add_argument("--repeats", type=int, default=2, help="of timings and of random kills")
    parser.add_argument("--out", type=Path, help="JSON file; lines of rows that are not measured now stay")
    options = parser.parse_args(arguments)
    options.rows = options.rows.split(",")
    unknown = [row for row in options.rows if row not in ROWS]
    if unknown:
        parser.error(f"unknown rows {', '.join(unknown)}; choose from {', '.join(ROWS)}")
    return options


def _chosen(names: Sequence[str], options: argparse.Namespace) -> list[str]:
    return [name for name in names if any(fnmatch(name, pattern) for pattern in options.sets)]


def _worlds(presets: Iterable[str], options: argparse.Namespace) -> list[str]:
    return [preset for preset in presets if _chosen([f"world/{preset}"], options)]


def _unseen(options: argparse.Namespace) -> Iterator[Line]:
    seeds = uncertainty.UNSEEN_SEEDS[: options.seeds]
    return uncertainty.unseen_rows(_worlds(uncertainty.UNSEEN_WORLDS, options), seeds)


ROWS: dict[str, Callable[[argparse.Namespace], Iterator[Line]]] = {
    "hide": lambda options: uncertainty.hide_rows(_chosen(uncertainty.SETS, options)),
    "age": lambda options: uncertainty.age_rows(_chosen(uncertainty.SETS, options)),
    "unseen": _unseen,
    "causes": lambda options: uncertainty.cause_rows(uncertainty.CAUSE_SEEDS[: options.seeds]),
    "resume": lambda options: cost.resume_rows(3 * options.repeats),
    "cost": lambda options: cost.cost_rows(_chosen(list(cost.CASES), options), options.against, options.repeats),
    "headlines": lambda options: headline_rows(_worlds(HEADLINES, options), options.seeds),
}


def main() -> None:
    """Measure the chosen rows, print every line as it is measured, keep all of them as JSON."""
    options = parse()
    torch.set_num_threads(1)
    kept: list[Figures] = []
    if options.out is not None and options.out.exists():
        earlier = json.loads(options.out.read_text())["lines"]
        kept = [line for line in earlier if line["row"] not in options.rows]
    missed = 0
    for row in options.rows:
        for line in ROWS[row](options):
            print(line, flush=True)
            missed += line.reached is False
            kept.append(line.figures())
            if options.out is not None:
                options.out.write_text(json.dumps({"lines": kept}, indent=1))
    print(f"{missed} lines miss their bound")


if __name__ == "__main__":
    main()
