"""Links where there is no influence, and where there is: false and true links over a grid of panels.

Run `python benchmarks/null.py [--system discover|sphunc] [--panels 8] [--kind NAME ...] [--only null|planted]`. Every
panel draws its size from the grid (agents 40-600, times 3-30, features 1-40, groups of 2-500) and takes one of the
kinds: plain persistence, homophily, shared shocks, trends, constant and duplicated agents, few distinct values,
adoption, noisy features, heavy tails. Bounds: at most 5 % of null panels show a link above 0.9, fewer than one link
above 0.5 per null panel; of the planted links above 0.7 at least 0.7 are true wherever there are ten of them.
`--json FILE` keeps the rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

import sphunc

AGENTS = (40, 80, 120, 300, 600)
TIMES = (3, 4, 5, 6, 8, 12, 20, 30)
FEATURES = (1, 2, 4, 12, 40)
GROUPS = (2, 5, 12, 40, 500)
KINDS = (
    "plain",
    "homophily",
    "common shocks",
    "group shocks",
    "trends",
    "constant agents",
    "few values",
    "adoption",
    "noisy features",
    "heavy tails",
)
STATE_AXES = 4
"""More features than this are noisy readings of so many state axes."""


@dataclass(frozen=True)
class Size:
    """Sizes of a panel, and what kind of process it is."""

    kind: str
    agents: int
    times: int
    features: int
    group: int
    seed: int
    planted: bool


@dataclass(frozen=True)
class Row:
    """What was found on one panel."""

    kind: str
    agents: int
    times: int
    features: int
    group: int
    seed: int
    planted: bool
    above_9: int
    above_7: int
    above_5: int
    true_above_7: int
    true_links: int
    seconds: float
    error: str
    verdict: str


def draw_size(kind: str, seed: int, planted: bool) -> Size:
    """Draw the sizes of a panel; groups are no larger than the panel."""
    rng = np.random.default_rng([seed, KINDS.index(kind), int(planted)])
    agents = int(rng.choice(AGENTS))
    group = min(int(rng.choice(GROUPS)), agents)
    return Size(kind, agents, int(rng.choice(TIMES)), int(rng.choice(FEATURES)), group, seed, planted)


def draw_panel(size: Size) -> tuple[sphunc.TemporalHypergraph, set[tuple[int, int]]]:
    """Draw features, groups that meet at every time, outcomes, and the planted links (source, target)."""
    rng = np.random.default_rng([size.seed, KINDS.index(size.kind), 7])
    groups = partition(size.agents, size.group, rng)
    axes = min(size.features, STATE_AXES)
    links = draw_links(groups, size.agents, rng) if size.planted else {}
    states = draw_states(size, groups, links, axes, rng)
    features = observe(size, states, rng)
    return as_data(features, states, groups), set(links)


def partition(agents: int, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Split the agents into groups of about ``size`` members; the last ones join the group before."""
    order = rng.permutation(agents)
    count = max(agents // max(size, 2), 1)
    return [np.sort(part) for part in np.array_split(order, count)]


def draw_links(groups: list[np.ndarray], agents: int, rng: np.random.Generator) -> dict[tuple[int, int], float]:
    """Half of the agents have one or two sources among their co-members, coefficients 0.3 to 0.6, some negative."""
    links = {}
    for group in groups:
        for target in group:
            if rng.random() < 0.5:
                others = group[group != target]
                for source in rng.choice(others, min(int(rng.integers(1, 3)), len(others)), replace=False):
                    sign = -1.0 if rng.random() < 0.2 else 1.0
                    links[int(source), int(target)] = sign * rng.uniform(0.3, 0.6)
    return links


def draw_states(
    size: Size,
    groups: list[np.ndarray],
    links: dict[tuple[int, int], float],
    axes: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Autoregressive states [T, N, axes] with what the kind adds, after ten unobserved steps."""
    member = np.zeros(size.agents, dtype=int)
    for index, group in enumerate(groups):
        member[group] = index
    shared = 0.9 if size.kind == "homophily" else 0.3
    centre = rng.standard_normal((len(groups), axes))[member]
    level = shared * centre + np.sqrt(1 - shared**2) * rng.standard_normal((size.agents, axes))
    inertia = np.clip(rng.normal(0.5, 0.15, (size.agents, 1)), 0.1, 0.85)
    noise = 0.6 * np.exp(0.3 * rng.standard_normal((size.agents, 1)))
    slope = rng.standard_normal((size.agents, axes)) * (0.5 if size.kind == "trends" else 0.0)
    common_slope = rng.standard_normal(axes) * (0.5 if size.kind == "trends" else 0.0)
    matrix = np.zeros((size.agents, size.agents))
    for (source, target), value in links.items():
        matrix[target, source] = value
    still = np.zeros(size.agents, dtype=bool)
    if size.kind == "constant agents":
        still = rng.random(size.agents) < 0.3
    state = level.copy()
    shock = np.zeros((len(groups), axes))
    path = []
    for step in range(10 + size.times):
        drift = (1 - inertia) * level
        if size.kind == "trends":
            drift = drift + 0.3 * (slope + common_slope) * max(step - 10, 0) * (1 - inertia)
        if size.kind == "common shocks":
            drift = drift + rng.standard_normal(axes)
        if size.kind == "group shocks":
            shock = 0.6 * shock + 0.5 * rng.standard_normal(shock.shape)
            drift = drift + shock[member]
        if size.kind == "heavy tails":
            draw = rng.standard_t(3, state.shape) / np.sqrt(3)
        else:
            draw = rng.standard_normal(state.shape)
        moved = inertia * state + np.clip(matrix @ state, -4, 4) + drift + noise * draw
        state = np.where(still[:, None], state, moved)
        if step >= 10:
            path.append(state)
    return np.stack(path)


def observe(size: Size, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Features [T, N, F]: the states themselves, or noisy readings of them, coarsened as the kind says."""
    if size.features > states.shape[2]:
        loading = rng.standard_normal((states.shape[2], size.features)) / np.sqrt(states.shape[2])
        values = states @ loading
        values = values + 0.3 * rng.standard_normal(values.shape)
    else:
        values = states
    if size.kind == "noisy features":
        values = values + 0.8 * rng.standard_normal(values.shape)
    if size.kind == "few values":
        values = np.clip(np.round(values), -1, 2)
    if size.kind == "adoption":
        # Something taken up once and never given up.
        values = (np.maximum.accumulate(values, 0) > 1.5).astype(float)
    if size.kind == "constant agents":
        constant = (states == states[:1]).all((0, 2))
        values = np.where(constant[None, :, None], values[:1], values)
        values[:, 1] = values[:, 0]  # two agents with one series
    return values


def as_data(features: np.ndarray, states: np.ndarray, groups: list[np.ndarray]) -> sphunc.TemporalHypergraph:
    """The panel as data: the same groups meet at every time, outcomes are thirds of the first state axis."""
    times, agents, width = features.shape
    met = [(t, group) for t in range(times) for group in groups]
    index = np.concatenate([np.stack([g, np.full(len(g), k)]) for k, (_, g) in enumerate(met)], 1)
    cuts = np.quantile(states[..., 0], [1 / 3, 2 / 3])
    return sphunc.TemporalHypergraph(
        x=torch.from_numpy(features).float(),
        x_mask=torch.ones(times, agents, width, dtype=torch.bool),
        hyperedge_index=torch.from_numpy(index),
        hyperedge_time=torch.tensor([t for t, _ in met]),
        y=torch.from_numpy(np.digitize(states[..., 0], cuts)),
        y_mask=torch.ones(times, agents, dtype=torch.bool),
        num_nodes=agents,
        num_hyperedges=len(met),
        node_ids=tuple(range(agents)),
        hyperedge_ids=tuple(range(len(met))),
        feature_names=tuple(f"f{k}" for k in range(width)),
        class_names=("low", "middle", "high"),
        times=tuple(range(times)),
    )


def find_links(system: str, data: sphunc.TemporalHypergraph) -> sphunc.InfluenceGraph:
    """The influence graph of one system."""
    if system == "discover":
        return sphunc.discover(data.x.double(), data=data, diagnose=False)
    return sphunc.SphUnc(seed=0).fit(data).influence()


def measure(system: str, size: Size) -> Row:
    """Run a system on one panel and count."""
    data, links = draw_panel(size)
    start = time.perf_counter()
    error = words = ""
    above = dict.fromkeys((0.9, 0.7, 0.5), 0)
    true = 0
    try:
        graph = find_links(system, data)
        probability = graph.probability.numpy()
        words = graph.verdict
        for bound in above:
            above[bound] = int((probability > bound).sum())
        shown = graph.links[:, graph.probability > 0.7].T.tolist()
        true = sum((source, target) in links for source, target in shown)
    except Exception as problem:  # any exception counts against the system
        error = f"{type(problem).__name__}: {str(problem)[:80]}"
    seconds = time.perf_counter() - start
    counts = (above[0.9], above[0.7], above[0.5], true, len(links), seconds, error, words)
    return Row(*asdict(size).values(), *counts)


def summary(rows: list[Row], planted: bool) -> bool:
    """Print the figures per kind and over all, and say whether the bounds hold."""
    passed = True
    for kind in (*KINDS, "all"):
        mine = [row for row in rows if row.planted == planted and kind in (row.kind, "all")]
        if not mine:
            continue
        errors = sum(bool(row.error) for row in mine)
        if planted:
            shown = sum(row.above_7 for row in mine)
            true = sum(row.true_above_7 for row in mine)
            total = sum(row.true_links for row in mine)
            rich = [row for row in mine if row.above_7 >= 10]
            poor = [row for row in rich if row.true_above_7 < 0.7 * row.above_7]
            print(
                f"planted  {kind:16s} {len(mine):3d} panels  shown {shown:5d} precision {true / max(shown, 1):.2f} "
                f"recall {true / max(total, 1):.2f}  panels with ten {len(rich):3d}, of them below 0.7: {len(poor)}  "
                f"errors {errors}  seconds {np.mean([row.seconds for row in mine]):.1f}"
            )
            passed = passed and not poor and not errors
        else:
            wrong = np.mean([row.above_9 > 0 for row in mine])
            expected = np.mean([row.above_5 for row in mine])
            print(
                f"null     {kind:16s} {len(mine):3d} panels  any above 0.9: {wrong:.2f}  above 0.5 per panel "
                f"{expected:.2f}  errors {errors}  seconds {np.mean([row.seconds for row in mine]):.1f}"
            )
            if kind == "all":
                passed = bool(wrong <= 0.05) and bool(expected < 1) and not errors
    return passed


def main() -> None:
    """Draw the panels, print what was found, exit 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", choices=["discover", "sphunc"], default="discover")
    parser.add_argument("--panels", type=int, default=8, help="per kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--only", choices=["null", "planted"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true", help="a line per panel")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    passed = True
    for planted in (False, True):
        if options.only == ("null" if planted else "planted"):
            continue
        for kind in options.kind:
            for seed in range(options.first, options.first + options.panels):
                rows.append(measure(options.system, draw_size(kind, seed, planted)))
                if options.verbose or rows[-1].error:
                    print(rows[-1], flush=True)
        passed = summary(rows, planted) and passed
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
