"""What-if answers against the truth of simulated worlds.

    python benchmarks/effects.py [--presets snare,financial,pheme] [--seeds 31,32,33,34] [--questions 12]
        [--agents 300] [--times 12] [--samples 100] [--null] [--json FILE]

Each question sets one agent with many followers to the direction of a class or to the state of another agent, from the
last time on, for 1 and 3 steps. The truth is simulated by the world. Over agents whose distribution the truth moves by
more than 0.05 (total variation): slope of estimated on true effects; total variation to the true interventional
distribution ("TV") and, for comparison, that of the forecast to the truth without intervention ("factual"); error of
H_causal. Coverage of 90 % intervals is over agents whose effect is estimated above 0.02 ("cover"): which of them these
are is known to who asks, while to count only those who truly moved would select large effects; and over all agents but
the one acted on ("cover all") and the truly moved ("cover moved") for comparison. "top 10" is the share of truly moved
agents among ``top_affected(10)``.

With ``--null`` the worlds have no links and no groups that pull: how often intervals hold 0.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import sphunc
from sphunc.estimator import SphUnc
from sphunc.forecasting import align
from sphunc.interventions import Do, Simulation, System, intervene, system_of

MOVED = 0.05
ESTIMATED = 0.02
TRUTH_SAMPLES = 1024
TOLERANCE = 1e-3
"""Of coverage: what is left of Monte Carlo error in the truth."""
HORIZONS = (1, 3)


def variation(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Total variation of each row."""
    return 0.5 * (p - q).abs().sum(-1)


def questions(world: sphunc.World, count: int) -> list[tuple[int, str, Do]]:
    """Agents with many followers, each set to a class or to the state of an agent."""
    followers = torch.bincount(world.links[0], minlength=world.data.num_nodes)
    ids = world.data.node_ids
    classes = world.data.class_names
    asked = []
    for k, agent in enumerate(torch.argsort(followers, descending=True, stable=True)[:count].tolist()):
        if k % 2 == 0:
            donor = classes[(k // 2) % len(classes)]
            asked.append((agent, donor, Do(ids[agent], toward=donor)))
        else:
            donor = str(ids[(agent + 37) % len(ids)])
            asked.append((agent, donor, Do(ids[agent], observed=donor)))
    return asked


@dataclass
class Scores:
    """Sums over questions."""

    product: float = 0.0
    square: float = 0.0

    def __post_init__(self) -> None:
        self.rows: dict[str, list[torch.Tensor]] = {}

    def add(self, name: str, values: torch.Tensor) -> None:
        """Add values of one question."""
        self.rows.setdefault(name, []).append(values.double().flatten())

    def summary(self) -> dict[str, float]:
        """Means, and the slope of effects."""
        means = {name: float(torch.cat(values).mean()) for name, values in self.rows.items()}
        return {"slope": self.product / max(self.square, 1e-12)} | means


def judge(world: sphunc.World, system: System, horizon: int, count: int, samples: int) -> dict[str, float]:
    """Scores of all questions at one horizon."""
    last = world.data.num_times - 1
    options = {"origin": last, "horizon": horizon, "samples": TRUTH_SAMPLES, "seed": 1}
    base = world.interventional({}, **options)
    ids = world.data.node_ids
    scores = Scores()
    for agent, donor, do in questions(world, count):
        truth = world.interventional({str(ids[agent]): donor}, **options)
        free = torch.arange(len(base)) != agent
        moved = (variation(truth, base) > MOVED) & free
        found = intervene(system, do, Simulation(horizon, samples))
        change = truth - base
        low = found.interval[..., 0] - TOLERANCE
        high = found.interval[..., 1] + TOLERANCE
        covers = (change >= low) & (change <= high)
        estimated = (found.size > ESTIMATED) & free
        scores.add("cover", covers[estimated])
        scores.add("cover all", covers[free])
        scores.add("largest", found.size[free].max())
        if not bool(moved.any()):
            continue
        scores.product += float((found.difference * change)[moved].sum())
        scores.square += float(change[moved].square().sum())
        scores.add("cover moved", covers[moved])
        scores.add("TV", variation(found.probabilities, truth)[moved])
        scores.add("factual", variation(found.factual, base)[moved])
        true_entropy = torch.special.entr(truth).sum(-1)
        scores.add("H error", (found.entropy - true_entropy).abs()[moved])
        top = found.top_affected(10)["agent"].to_list()
        hits = sum(bool(moved[ids.index(one)]) for one in top)
        scores.add("top 10", torch.tensor(hits / min(10, int(moved.sum()))))
    return scores.summary()


def fitted_system(world: sphunc.World) -> tuple[System, SphUnc]:
    """Fit the default model and ask from the last time."""
    model = SphUnc(seed=0).fit(world.data, verbose=False)
    data = align(world.data, model.schema_)
    return system_of(model.model_, data, model.schema_, model.preparation_, world.data.num_times - 1), model


def run(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """Print one row per world and horizon; return them."""
    rows: list[dict[str, object]] = []
    for preset in arguments.presets.split(","):
        for seed in map(int, arguments.seeds.split(",")):
            settings: dict[str, object] = {"agents": arguments.agents, "times": arguments.times, "seed": seed}
            if arguments.null:
                settings |= {"parents": 0.0, "group_pull": 0.0}
            world = sphunc.simulate(preset, **settings)
            begun = time.perf_counter()
            system, model = fitted_system(world)
            fit_seconds = time.perf_counter() - begun
            for horizon in HORIZONS:
                begun = time.perf_counter()
                scores = judge(world, system, horizon, arguments.questions, arguments.samples)
                row: dict[str, object] = {"preset": preset, "seed": seed, "horizon": horizon}
                row |= {name: round(value, 3) for name, value in scores.items()}
                row |= {"weight": model.model_.weight, "fit": round(fit_seconds, 1)}
                rows.append(row)
                print(json.dumps(row), flush=True)
    return rows


def means(rows: Sequence[dict[str, object]]) -> None:
    """Print means over seeds."""
    keys = sorted({(str(row["preset"]), int(str(row["horizon"]))) for row in rows})
    for preset, horizon in keys:
        own = [row for row in rows if row["preset"] == preset and row["horizon"] == horizon]
        names = [name for name in own[0] if name not in ("preset", "horizon", "seed")]
        shown = {name: sum(float(str(row.get(name, 0.0))) for row in own) / len(own) for name in names}
        values = "  ".join(f"{name} {value:.3f}" for name, value in shown.items())
        print(f"{preset:10} {horizon} steps: {values}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="snare,financial,pheme")
    parser.add_argument("--seeds", default="31,32,33,34")
    parser.add_argument("--questions", type=int, default=12)
    parser.add_argument("--agents", type=int, default=300)
    parser.add_argument("--times", type=int, default=12)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--null", action="store_true")
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    rows = run(arguments)
    means(rows)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
