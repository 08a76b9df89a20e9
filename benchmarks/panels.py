"""Panels whose process is not that of the simulated worlds, as folders of tables a user would bring.

Every generator draws sizes, groups, features and outcomes from one seed, then loses part of it: missing cells,
missing outcomes, agents that join late or drop out. Times are waves numbered from 1, years or dates.

    >>> data = make_panel("contagion", 0, folder)      # writes the tables and reads them back
    >>> PANELS["contagion"](0).test_origins            # positions of the origins to be forecast from
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from zlib import crc32

import numpy as np

import sphunc
from sphunc.hypergraph import TemporalHypergraph

Groups = list[np.ndarray]
"""Members of every group of one time."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Agents at times as a user has them on file.

    Attributes:
        name: of the process.
        times: labels of the times, ascending.
        agents: ids.
        x: features ``[time, agent, feature]``; NaN is not observed.
        groups: members of each group, per time.
        y: outcomes ``[time, agent]``; a class code, or a number; NaN is not observed.
        classes: names of the classes; empty for numbers.
        test_origins: positions of the times to forecast from, the last ones.
    """

    name: str
    times: tuple[int | str, ...]
    agents: tuple[int | str, ...]
    x: np.ndarray
    groups: list[Groups]
    y: np.ndarray
    classes: tuple[str, ...]
    test_origins: tuple[int, ...]

    def write(self, folder: Path) -> None:
        """Write features.csv, groups.csv and outcomes.csv."""
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"f{k + 1}" for k in range(self.x.shape[2])]
        _write(folder / "features.csv", ["time", "agent", *names], self._feature_rows())
        _write(folder / "groups.csv", ["time", "group", "agent"], self._group_rows())
        _write(folder / "outcomes.csv", ["time", "agent", "outcome"], self._outcome_rows())

    def _feature_rows(self) -> Iterable[list[object]]:
        for t, i in np.argwhere(~np.isnan(self.x).all(-1)):
            cells = ["" if np.isnan(value) else f"{value:.5g}" for value in self.x[t, i]]
            yield [self.times[t], self.agents[i], *cells]

    def _group_rows(self) -> Iterable[list[object]]:
        for t, groups in enumerate(self.groups):
            for g, members in enumerate(groups):
                for i in members:
                    yield [self.times[t], f"g{g + 1}", self.agents[i]]

    def _outcome_rows(self) -> Iterable[list[object]]:
        for t, i in np.argwhere(~np.isnan(self.y)):
            value = self.y[t, i]
            cell = self.classes[int(value)] if self.classes else f"{value:.6g}"
            yield [self.times[t], self.agents[i], cell]


def _write(path: Path, header: list[str], rows: Iterable[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def make_panel(name: str, draw: int, folder: str | Path) -> TemporalHypergraph:
    """Write the tables of a panel into ``folder`` and read them back.

    Args:
        name: a key of :data:`PANELS`.
        draw: seed; the same draw gives the same tables.
        folder: made if it does not exist.
    """
    panel = PANELS[name](draw)
    panel.write(Path(folder))
    outcome = "class" if panel.classes else "number"
    data = sphunc.read_tables(folder, outcome_kind=outcome, allow_rare_classes=True)
    assert data.num_times == len(panel.times), "a time without a single row would shift the test origins"
    return data


# Parts that the processes share -------------------------------------------------------------------------------------


def _generator(name: str, draw: int) -> np.random.Generator:
    return np.random.default_rng([crc32(name.encode()), draw])


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _last_origins(times: int) -> tuple[int, ...]:
    """The origins to be tested: one of three times, a quarter of more, at most eight."""
    count = max(1, min(8, times // 4))
    return tuple(range(times - 1 - count, times - 1))


def _waves(times: int) -> tuple[int, ...]:
    return tuple(range(1, times + 1))


def _years(times: int) -> tuple[int, ...]:
    return tuple(range(2024 - times, 2024))


def _days(times: int, step: int) -> tuple[str, ...]:
    first = date(2023, 1, 2)
    return tuple((first + timedelta(days=step * t)).isoformat() for t in range(times))


def _fixed_groups(rng: np.random.Generator, agents: int, size: int, times: int) -> list[Groups]:
    """The same partition at every time, as classes of a school."""
    order = rng.permutation(agents)
    groups = [np.sort(order[k : k + size]) for k in range(0, agents, size)]
    return [[g for g in groups if len(g) > 1]] * times


def _new_groups(rng: np.random.Generator, agents: int, size: int, times: int, meetings: float = 1.0) -> list[Groups]:
    """Groups drawn anew at every time, about ``meetings`` per agent, sizes 2 to twice ``size``."""
    found = []
    for _ in range(times):
        count = max(1, round(meetings * agents / size))
        sizes = np.clip(2 + rng.poisson(max(size - 2, 0), count), 2, min(2 * size, agents))
        found.append([np.sort(rng.choice(agents, s, replace=False)) for s in sizes])
    return found


def _similar_groups(rng: np.random.Generator, trait: np.ndarray, size: int, times: int) -> list[Groups]:
    """Groups of agents of similar trait, drawn anew at every time."""
    found = []
    for _ in range(times):
        order = np.argsort(trait + 0.3 * trait.std() * rng.standard_normal(len(trait)))
        groups = [np.sort(order[k : k + size]) for k in range(0, len(order), size)]
        found.append([g for g in groups if len(g) > 1])
    return found


def _group_means(groups: Groups, values: np.ndarray) -> np.ndarray:
    """Mean of ``values [agent, ...]`` over co-members, first within and then over groups; 0 for agents alone."""
    total = np.zeros_like(values, dtype=float)
    count = np.zeros(len(values))
    for members in groups:
        inside = values[members].sum(0)
        total[members] += (inside - values[members]) / (len(members) - 1)
        count[members] += 1
    shape = (-1, *[1] * (values.ndim - 1))
    return total / np.maximum(count, 1).reshape(shape)


def _walks(rng: np.random.Generator, times: int, agents: int, features: int, stay: float = 0.8) -> np.ndarray:
    """Features with an agent's own level and persistence from time to time; no bearing on outcomes."""
    level = rng.standard_normal((agents, features))
    now = rng.standard_normal((agents, features))
    found = np.empty((times, agents, features))
    for t in range(times):
        now = stay * now + np.sqrt(1 - stay**2) * rng.standard_normal(now.shape)
        found[t] = 0.7 * level + 0.7 * now
    return found


def _draw(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """One class per row."""
    edges = np.cumsum(probabilities, -1)
    edges = edges / edges[..., -1:]
    return (rng.random(edges.shape[:-1])[..., None] > edges).sum(-1)


def _softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def _logistic(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-value))


def _finish(
    rng: np.random.Generator,
    name: str,
    times: Sequence[int | str],
    x: np.ndarray,
    groups: list[Groups],
    y: np.ndarray,
    classes: tuple[str, ...],
    *,
    missing: float = 0.05,
    unanswered: float = 0.03,
    leaving: float = 0.08,
    joining: float = 0.1,
    numbered: bool = False,
) -> Panel:
    """Lose cells, outcomes and agents as real panels do.

    Args:
        rng: source of every loss.
        name: of the process.
        times: labels.
        x: features in full ``[time, agent, feature]``.
        groups: members per time in full.
        y: outcomes in full ``[time, agent]``.
        classes: names, empty for numbers.
        missing: share of feature cells not observed.
        unanswered: share of outcomes not observed.
        leaving: share of agents that drop out before the end.
        joining: share of agents that join after the first time.
        numbered: ids are whole numbers instead of text.
    """
    T, N, _ = x.shape
    first = np.where(rng.random(N) < joining, rng.integers(1, max(T - 1, 2), N), 0)
    last = np.where(rng.random(N) < leaving, rng.integers(max(1, T // 3), T, N), T - 1)
    clock = np.arange(T)[:, None]
    there = (clock >= first) & (clock <= np.maximum(last, first))
    x = np.where(rng.random(x.shape) < missing, np.nan, x)
    x[~there] = np.nan
    y = np.where((rng.random((T, N)) < unanswered) | ~there, np.nan, y.astype(float))
    # An agent without any feature at any time has no row: it is then unknown to the table, and to its groups.
    known = ~np.isnan(x).all((0, 2))
    y[:, ~known] = np.nan
    there = there & known
    kept = []
    for t, of_time in enumerate(groups):
        inside = [members[there[t, members]] for members in of_time]
        kept.append([members for members in inside if len(members) > 1])
    ids: tuple[int | str, ...] = tuple(range(101, 101 + N))
    if not numbered:
        ids = tuple(f"a{i + 1:03d}" for i in range(N))
    return Panel(name, tuple(times), ids, x, kept, y, classes, _last_origins(T))


# The processes ------------------------------------------------------------------------------------------------------


def adoption(draw: int) -> Panel:
    """Something taken up and never given up, sooner by the inclined and among adopters; waves from 1."""
    rng = _generator("adoption", draw)
    N, T, F = _between(rng, 150, 400), _between(rng, 7, 14), _between(rng, 3, 8)
    x = _walks(rng, T, N, F, 0.9)
    groups = _fixed_groups(rng, N, _between(rng, 8, 30), T)
    y = np.zeros((T, N), dtype=int)
    y[0] = rng.random(N) < 0.08
    for t in range(T - 1):
        share = _group_means(groups[t], y[t])
        hazard = _logistic(-3.2 + 0.9 * x[t, :, 0] - 0.6 * x[t, :, 1] + 2.5 * share)
        y[t + 1] = np.where(y[t] == 1, 1, rng.random(N) < hazard)
    return _finish(rng, "adoption", _waves(T), x, groups, y, ("no", "yes"))


def contagion(draw: int) -> Panel:
    """Caught from co-members, lasting some times, caught again; dates of weeks."""
    rng = _generator("contagion", draw)
    N, T, F = _between(rng, 200, 600), _between(rng, 10, 20), _between(rng, 1, 4)
    x = _walks(rng, T, N, F, 0.95)
    homes = _fixed_groups(rng, N, _between(rng, 3, 5), T)
    places = _fixed_groups(rng, N, _between(rng, 15, 40), T)
    groups = [a + b for a, b in zip(homes, places, strict=True)]
    y = np.zeros((T, N), dtype=int)
    y[0] = rng.random(N) < 0.1
    for t in range(T - 1):
        ill = (y[t] == 1).astype(float)
        risk = 0.01 + 0.55 * _group_means(homes[t], ill) + 0.6 * _group_means(places[t], ill)
        caught = rng.random(N) < np.minimum(risk, 0.9)
        over = rng.random(N) < 0.45
        immune_ends = rng.random(N) < 0.25
        after_well = np.where(caught, 1, 0)
        after_ill = np.where(over, 2, 1)
        after_immune = np.where(immune_ends, 0, 2)
        y[t + 1] = np.choose(y[t], [after_well, after_ill, after_immune])
    return _finish(rng, "contagion", _days(T, 7), x, groups, y, ("well", "ill", "immune"), missing=0.02)


def persistence(draw: int) -> Panel:
    """Habits that differ strongly between agents: own shares of classes, own readiness to change."""
    rng = _generator("persistence", draw)
    N, T, F = _between(rng, 60, 200), _between(rng, 10, 24), _between(rng, 2, 10)
    C = _between(rng, 3, 4)
    own = rng.dirichlet(np.full(C, 0.4), N)
    stay = rng.beta(1.5, 1.5, N)
    y = np.zeros((T, N), dtype=int)
    y[0] = _draw(rng, own)
    for t in range(T - 1):
        y[t + 1] = np.where(rng.random(N) < stay, y[t], _draw(rng, own))
    groups = _new_groups(rng, N, 5, T)
    names = ("red", "green", "blue", "white")[:C]
    x = _walks(rng, T, N, F)
    return _finish(rng, "persistence", _years(T), x, groups, y, names, joining=0.2)


def cycles(draw: int) -> Panel:
    """a, then b, then c, then a again, each agent at its own speed; days."""
    rng = _generator("cycles", draw)
    N, T, F = _between(rng, 40, 90), _between(rng, 30, 60), _between(rng, 1, 3)
    speed = np.clip(rng.beta(4, 2, N), 0.05, 0.97)
    y = np.zeros((T, N), dtype=int)
    y[0] = rng.integers(0, 3, N)
    for t in range(T - 1):
        y[t + 1] = (y[t] + (rng.random(N) < speed)) % 3
    groups = _new_groups(rng, N, 4, T, 0.5)
    x = _walks(rng, T, N, F, 0.5)
    return _finish(rng, "cycles", _days(T, 1), x, groups, y, ("a", "b", "c"), unanswered=0.06)


def homophily(draw: int) -> Panel:
    """Alike agents meet; outcomes follow the lasting trait, nobody influences anybody; waves from 1."""
    rng = _generator("homophily", draw)
    N, T, F = _between(rng, 100, 300), _between(rng, 4, 8), _between(rng, 6, 20)
    trait = rng.standard_normal((N, 2))
    loading = rng.standard_normal((2, F)) * (rng.random(F) < 0.5)
    x = trait @ loading + rng.standard_normal((T, N, F))
    groups = _similar_groups(rng, trait[:, 0], _between(rng, 5, 12), T)
    directions = np.array([[1.6, 0.0], [-0.8, 1.4], [-0.8, -1.4]])
    p = _softmax(trait @ directions.T)
    y = np.stack([_draw(rng, p) for _ in range(T)])
    return _finish(rng, "homophily", _waves(T), x, groups, y, ("left", "centre", "right"), missing=0.12)


def neighbourhood(draw: int) -> Panel:
    """The next outcome is mostly drawn from those of present co-members, who are new at every time."""
    rng = _generator("neighbourhood", draw)
    N, T, F = _between(rng, 120, 300), _between(rng, 8, 16), _between(rng, 2, 6)
    groups = _new_groups(rng, N, _between(rng, 5, 14), T, 1.2)
    x = _walks(rng, T, N, F)
    y = np.zeros((T, N), dtype=int)
    y[0] = rng.integers(0, 3, N)
    for t in range(T - 1):
        around = _group_means(groups[t], np.eye(3)[y[t]])
        p = 0.1 / 3 + 0.9 * _softmax(7.0 * (around - 1 / 3))
        y[t + 1] = _draw(rng, p)
    return _finish(rng, "neighbourhood", _days(T, 30), x, groups, y, ("low", "mid", "high"), numbered=True)


def feature(draw: int) -> Panel:
    """Features drawn anew at every time, two of which decide the next outcome; up to 40 features."""
    rng = _generator("feature", draw)
    N, T, F = _between(rng, 100, 250), _between(rng, 6, 12), _between(rng, 10, 40)
    x = rng.standard_normal((T, N, F))
    logits = np.stack([1.8 * x[..., 0], -1.2 * x[..., 0] + 1.5 * x[..., 1], -1.5 * x[..., 1]], -1)
    y = rng.integers(0, 3, (T, N))
    y[1:] = _draw(rng, _softmax(logits[:-1]))
    groups = _new_groups(rng, N, 6, T)
    return _finish(rng, "feature", _waves(T), x, groups, y, ("buy", "hold", "sell"), missing=0.04)


def trend(draw: int) -> Panel:
    """A rising share for everybody, agents apart in level; one group of nearly all; quarters as dates."""
    rng = _generator("trend", draw)
    N, T, F = _between(rng, 300, 600), _between(rng, 8, 14), _between(rng, 2, 5)
    x = _walks(rng, T, N, F, 0.9)
    level = 0.8 * rng.standard_normal(N) + 0.5 * x[0, :, 0]
    rise = np.linspace(-2.2, 1.8, T)[:, None]
    y = (rng.random((T, N)) < _logistic(rise + level)).astype(int)
    size = min(N, 500)
    everybody = [[np.arange(size)] for _ in range(T)]
    small = _new_groups(rng, N, 3, T, 0.5)
    groups = [a + b for a, b in zip(everybody, small, strict=True)]
    return _finish(rng, "trend", _days(T, 91), x, groups, y, ("without", "with"))


def regime(draw: int) -> Panel:
    """Outcomes stick, then from three quarters of the time on they alternate; months."""
    rng = _generator("regime", draw)
    N, T, F = _between(rng, 80, 200), _between(rng, 20, 36), _between(rng, 2, 6)
    change = T - T // 4 - max(3, T // 8)
    x = _walks(rng, T, N, F)
    before = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    after = np.array([[0.2, 0.6, 0.2], [0.25, 0.15, 0.6], [0.6, 0.25, 0.15]])
    y = np.zeros((T, N), dtype=int)
    y[0] = rng.integers(0, 3, N)
    for t in range(T - 1):
        matrix = before if t < change else after
        y[t + 1] = _draw(rng, matrix[y[t]])
    groups = _fixed_groups(rng, N, _between(rng, 10, 40), T)
    return _finish(rng, "regime", _days(T, 30), x, groups, y, ("calm", "tense", "crisis"))


def rare(draw: int) -> Panel:
    """One outcome in thirty or so, likelier for some agents and after a warning feature."""
    rng = _generator("rare", draw)
    N, T, F = _between(rng, 250, 500), _between(rng, 6, 12), _between(rng, 4, 12)
    x = _walks(rng, T, N, F, 0.6)
    frailty = 0.7 * rng.standard_normal(N)
    y = np.zeros((T, N), dtype=int)
    y[1:] = rng.random((T - 1, N)) < _logistic(-4.6 + frailty + 1.3 * x[:-1, :, 0])
    groups = _new_groups(rng, N, 8, T)
    return _finish(rng, "rare", _waves(T), x, groups, y, ("fine", "default"), numbered=True)


def coin(draw: int) -> Panel:
    """Nothing tells anything; three times on the first draw, more on others."""
    rng = _generator("coin", draw)
    N, F = _between(rng, 60, 250), _between(rng, 2, 12)
    T = 3 if draw == 0 else _between(rng, 5, 20)
    x = _walks(rng, T, N, F)
    p = np.array([0.5, 0.3, 0.2])
    y = _draw(rng, np.broadcast_to(p, (T, N, 3)))
    groups = _fixed_groups(rng, N, 6, T)
    return _finish(rng, "coin", _waves(T), x, groups, y, ("one", "two", "three"), missing=0.1)


def drift(draw: int) -> Panel:
    """Numbers that wander, each with its own slope, under shocks common to a group; years."""
    rng = _generator("drift", draw)
    N, T, F = _between(rng, 80, 250), _between(rng, 8, 20), _between(rng, 2, 6)
    x = _walks(rng, T, N, F)
    groups = _fixed_groups(rng, N, _between(rng, 5, 20), T)
    slope = 0.5 + 0.4 * rng.standard_normal(N) + 0.3 * x[0, :, 0]
    y = np.zeros((T, N))
    y[0] = 20 + 5 * rng.standard_normal(N)
    shock = np.zeros(N)
    for t in range(T - 1):
        fresh = np.zeros(N)
        for members in groups[t]:
            fresh[members] = 0.8 * rng.standard_normal()
        shock = 0.6 * shock + fresh
        y[t + 1] = y[t] + slope + shock + 0.5 * rng.standard_normal(N)
    return _finish(rng, "drift", _years(T), x, groups, y, (), joining=0.15)


def jumps(draw: int) -> Panel:
    """Numbers that stay about where they are, and now and then jump; jumps are likelier after a feature is high."""
    rng = _generator("jumps", draw)
    N, T, F = _between(rng, 60, 200), _between(rng, 10, 30), _between(rng, 2, 8)
    x = _walks(rng, T, N, F, 0.5)
    y = np.zeros((T, N))
    level = 3.0 * rng.standard_normal(N)
    y[0] = level + 0.3 * rng.standard_normal(N)
    for t in range(T - 1):
        jumped = rng.random(N) < 0.15 * _logistic(1.5 * x[t, :, 0])
        level = level + jumped * 4.0 * rng.standard_normal(N)
        y[t + 1] = level + 0.3 * rng.standard_normal(N)
    groups = _new_groups(rng, N, 4, T, 0.7)
    return _finish(rng, "jumps", _days(T, 7), x, groups, y, (), unanswered=0.08)


PANELS: dict[str, Callable[[int], Panel]] = {
    "adoption": adoption,
    "contagion": contagion,
    "persistence": persistence,
    "cycles": cycles,
    "homophily": homophily,
    "neighbourhood": neighbourhood,
    "feature": feature,
    "trend": trend,
    "regime": regime,
    "rare": rare,
    "coin": coin,
    "drift": drift,
    "jumps": jumps,
}
