"""How well the model forecasts, how honest its uncertainty is, who influences whom, and what it costs.

    python benchmarks/model.py [--rows nll,ece] [--presets snare,amigos] [--seeds 0,1] [--store FOLDER] [--jobs 2]

Without arguments: every row, on worlds of the presets' own sizes, at 5 seeds (headline: 10, amigos 50). That takes
hours on two cores; `--agents 800` caps the large worlds (the table says so), `--store` keeps every measurement, so that
an interrupted run goes on and rows that share a fit (nll, ece, aleatoric, correlation, dropout, links) pay for it once.
A stored figure counts only for the code that it was measured with. Trivial models and the oracle do not depend on the
model's code and are kept when that changes. Real data: --data FOLDER or SPHUNC_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import model_real
import model_speed
import model_table as table
import model_worlds as worlds
from model_store import Store, Task, Unit, run

PRESETS = ("snare", "pheme", "amigos", "financial", "collaboration")
LARGE = ("snare", "pheme", "financial", "collaboration")  # amigos would have 4 newcomers of each kind
MODEL_CODE = ("model", "nn", "causal", "worlds")
PEER_CODE = ("worlds", "model_trivial.py")
TIMES = 12

UNITS = {
    "fitted": Unit(worlds.fitted, MODEL_CODE),
    "trivial": Unit(worlds.trivial, PEER_CODE),
    "headline": Unit(worlds.headline, MODEL_CODE),
    "newcomers": Unit(worlds.newcomers, MODEL_CODE),
    "newcomer_peers": Unit(worlds.newcomer_peers, (*PEER_CODE, "model_peers.py")),
    "sizes": Unit(worlds.sizes, MODEL_CODE),
    "epoch": Unit(model_speed.epoch, MODEL_CODE, alone=True),
    "layer": Unit(model_speed.layer, ("nn",), alone=True),
    "fit": Unit(model_speed.fit, MODEL_CODE, alone=True),
    "real": Unit(model_real.real, (*MODEL_CODE, "model_real.py")),
}
MODEL_FREE = ("trivial", "newcomer_peers", "layer")


@dataclass(frozen=True)
class Row:
    """One row of the table: what is measured, where, how often, and how it is put into lines."""

    lines: table.Lines
    units: tuple[str, ...] = ("fitted",)
    presets: tuple[str, ...] = PRESETS
    seeds: int = 5
    times: int | None = TIMES


ROWS = {
    "nll": Row(table.nll_lines, ("fitted", "trivial")),
    "headline": Row(table.headline_lines, ("headline",), ("snare", "pheme", "amigos"), 10, None),
    "ece": Row(table.ece_lines),
    "aleatoric": Row(table.aleatoric_lines),
    "ood": Row(table.ood_lines, ("newcomers", "newcomer_peers"), LARGE),
    "size": Row(table.size_lines, ("sizes",), ("snare",)),
    "correlation": Row(table.correlation_lines),
    "dropout": Row(table.dropout_lines),
    "links": Row(table.link_lines, presets=("snare", "pheme", "financial")),
    "epoch": Row(table.epoch_lines, ("epoch",), ("collaboration",), 1, None),
    "layer": Row(table.layer_lines, ("layer",), ("snare",), 1, None),
    "fit": Row(table.fit_lines, ("fit",), ("snare",), 3, None),
}
MORE_SEEDS = {("headline", "amigos"): 50}


def tasks(name: str, args: argparse.Namespace) -> Iterator[Task]:
    """All measurements that a row needs."""
    row = ROWS[name]
    for preset in presets(name, args):
        for seed in args.seeds or range(MORE_SEEDS.get((name, preset), row.seeds)):
            for unit in row.units:
                settings = "{}" if unit in MODEL_FREE else json.dumps(args.set, sort_keys=True)
                cap = None if unit in ("sizes", "layer", "fit") else args.agents
                yield Task(unit, preset, seed, cap, row.times and args.times, settings)


def presets(name: str, args: argparse.Namespace) -> list[str]:
    """Presets of a row, as far as they were asked for; timing rows have their own."""
    if name in ("epoch", "layer", "fit"):
        return list(ROWS[name].presets)
    return [preset for preset in ROWS[name].presets if preset in args.presets]


def real_tasks(args: argparse.Namespace) -> Iterator[Task]:
    """One measurement per real data set."""
    for case in model_real.CASES:
        yield Task("real", case, 0, settings=json.dumps(args.set, sort_keys=True))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=names, default=[*ROWS, "real"], help=f"of {', '.join(ROWS)}, real")
    parser.add_argument("--presets", type=names, default=list(PRESETS))
    parser.add_argument("--seeds", type=lambda text: [int(part) for part in names(text)], help="such as 0,1,2")
    parser.add_argument("--agents", type=int, help="cap on the agents of every world; default: the presets' own sizes")
    parser.add_argument("--times", type=int, default=TIMES, help="times of the worlds, except headline and timing rows")
    parser.add_argument("--set", type=setting, action="append", default=[], help="setting of the model, as epochs=50")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each; timing rows run alone")
    parser.add_argument("--store", type=Path, help="folder that keeps every measurement")
    parser.add_argument("--data", default=os.environ.get("SPHUNC_DATA"), help="folder with the real data sets")
    args = parser.parse_args()
    args.set = dict(args.set)
    if unknown := [*(set(args.rows) - {*ROWS, "real"}), *(set(args.presets) - set(PRESETS))]:
        parser.error(f"unknown: {', '.join(unknown)}; rows are {', '.join(ROWS)}, real; presets {', '.join(PRESETS)}")
    return args


def names(text: str) -> list[str]:
    """Split at commas."""
    return [part for part in text.split(",") if part]


def setting(text: str) -> tuple[str, object]:
    """Read name=value, the value as JSON where it is some."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    """Measure what is missing, print the table, exit 1 when a row misses its target."""
    args = parse()
    chosen = [name for name in ROWS if name in args.rows]
    wanted = [task for name in chosen for task in tasks(name, args)]
    folder = Path(args.data or "")
    has_data = bool(args.data) and folder.is_dir()
    if "real" in args.rows and has_data:
        os.environ["SPHUNC_DATA"] = str(folder.resolve())
        wanted += real_tasks(args)
    found: table.Found = {}
    for task, figures in run(wanted, UNITS, Store(args.store), args.jobs):
        found.setdefault((task.unit, task.preset), {})[task.seed] = figures
    failed = [task for task in wanted if task.seed not in found.get((task.unit, task.preset), {})]
    missed = show(chosen, found, args) + len(failed)
    if "real" in args.rows:
        print()
        print("\n".join(table.real_lines(found, [])) if has_data else "no real data: give --data FOLDER or SPHUNC_DATA")
    for task in failed:
        print(f"FAILED, and left out above: {task.unit} {task.preset} seed {task.seed}")
    sys.exit(1 if missed else 0)


def show(chosen: list[str], found: table.Found, args: argparse.Namespace) -> int:
    """Print the lines of the chosen rows; return how many miss their target."""
    cap = "the presets' own sizes" if args.agents is None else f"at most {args.agents} agents"
    print(f"\nWorlds of {cap}, {args.times} times (headline, epoch, fit: their own); settings {args.set or 'default'}")
    print(table.HEADER)
    missed = 0
    for name in chosen:
        for line in ROWS[name].lines(found, presets(name, args)):
            print(line, flush=True)
            missed += line.reached is False
    return missed


if __name__ == "__main__":
    main()
