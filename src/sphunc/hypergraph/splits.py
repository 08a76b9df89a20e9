"""Splits as values: forecast origins in time order, or agents kept apart, alone or with their community."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sphunc.errors import ArgumentError
from sphunc.hypergraph.temporal import TemporalHypergraph

PARTS = ("train", "validation", "calibration", "test")
DEFAULT_SHARES = (0.6, 0.1, 0.1, 0.2)


@dataclass(frozen=True)
class Split:
    """Forecast origins (positions in ``data.times``) of each part, and how far ahead they forecast.

    A forecast from origin o sees :meth:`TemporalHypergraph.until_index` (o) and is judged on the outcomes at position
    ``o + horizon``. :meth:`from_labels` takes the user's times instead of positions.
    The first origin of a part is never earlier than the last target of the part before it, so that whatever was learnt
    from earlier parts was known at the origin. When ``shared`` is True the panel is too short to keep validation and
    calibration apart: both are the same origins, and calibration is a little optimistic.
    """

    train: tuple[int, ...]
    validation: tuple[int, ...]
    calibration: tuple[int, ...]
    test: tuple[int, ...]
    horizon: int = 1

    def __post_init__(self) -> None:
        _check_order(self)

    @classmethod
    def from_labels(
        cls,
        data: TemporalHypergraph,
        *,
        train: object,
        validation: object,
        calibration: object,
        test: object,
        horizon: int = 1,
    ) -> Split:
        """Make a split of origins that are named by their times, as ``data.until`` takes them.

        Args:
            data: whose times the labels name.
            train: label of an origin (wave 5, a date, an ISO string), or several of them, ascending.
            validation: the same, for validation.
            calibration: the same, for calibration; the origins of validation where the panel is too short for both.
            test: the same, for test.
            horizon: steps ahead, counted in positions of ``data.times``.

        Example:
            >>> from sphunc.hypergraph import assemble
            >>> waves = assemble(times=[1, 2, 3, 4, 5], node_ids=["a"])
            >>> print(Split.from_labels(waves, train=1, validation=2, calibration=3, test=4))
            origins (positions in times): train 0, validation 1, calibration 2, test 3; horizon 1
        """
        labels = {"train": train, "validation": validation, "calibration": calibration, "test": test}
        origins = {part: _origins(data, part, given) for part, given in labels.items()}
        return cls(**origins, horizon=horizon)

    @property
    def shared(self) -> bool:
        """True when validation and calibration are the same origins."""
        return self.validation == self.calibration

    def targets(self, part: str) -> tuple[int, ...]:
        """Return the positions in time on which a part is judged."""
        return tuple(origin + self.horizon for origin in getattr(self, part))

    def __str__(self) -> str:
        parts = ", ".join(f"{part} {_span(getattr(self, part))}" for part in PARTS)
        text = f"origins (positions in times): {parts}; horizon {self.horizon}"
        if self.shared:
            text += " (validation = calibration)"
        return text


@dataclass(frozen=True)
class AgentSplit:
    """Agents (indices) of each part; no agent is in two of them."""

    train: tuple[int, ...]
    validation: tuple[int, ...]
    calibration: tuple[int, ...]
    test: tuple[int, ...]

    def __post_init__(self) -> None:
        everyone = [agent for part in PARTS for agent in getattr(self, part)]
        if len(set(everyone)) != len(everyone):
            double = next(agent for agent in everyone if everyone.count(agent) > 1)
            raise ArgumentError(f"agent {double} is in two parts of the split; put every agent into one part")


def time_split(
    data: TemporalHypergraph, horizon: int = 1, *, shares: Sequence[float] = DEFAULT_SHARES, gap: bool = True
) -> Split:
    """Split the forecast origins, positions ``0 ... T - 1 - horizon``, by time: train, validation, calibration, test.

    Every part has at least one origin. With ``4 h + 1`` times (5 at horizon 1) all four parts stand apart; with
    ``3 h + 1`` (4 at horizon 1) validation and calibration share their origin; with fewer there is no honest split.

    Args:
        data: T times.
        horizon: steps ahead, h.
        shares: of the origins, for the four parts in order.
        gap: leave out the h - 1 origins between parts whose targets would lie after the next part begins.
    """
    _check_shares(shares)
    least = least_times(max(horizon, 1), gap=gap)
    if horizon < 1 or data.num_times < least:
        given = f"{data.num_times} times are"
        if data.num_times == 1:
            given = "1 time is"
        raise ArgumentError(
            f"{given} too few to train, validate and test at horizon {horizon}; "
            f"give at least {least} times, or a horizon between 1 and {max((data.num_times - 1) // 3, 1)}"
        )
    step = _step(horizon, gap)
    origins = data.num_times - horizon
    apart = origins >= 3 * step + 1
    if not apart:
        shares = [shares[0], shares[1] + shares[2], shares[3]]
    sizes = _sizes(origins - (len(shares) - 1) * (step - 1), shares)
    starts = np.cumsum([0, *(size + step - 1 for size in sizes)]).tolist()
    parts = [tuple(range(start, start + size)) for start, size in zip(starts, sizes, strict=False)]
    if not apart:
        parts.insert(1, parts[1])
    return Split(*parts, horizon=horizon)


def least_times(horizon: int = 1, *, gap: bool = True) -> int:
    """Times that :func:`time_split` needs to train, validate and test so many steps ahead.

    Args:
        horizon: steps ahead.
        gap: whether origins between parts are left out.
    """
    return horizon + 2 * _step(horizon, gap) + 1


def _step(horizon: int, gap: bool) -> int:
    # From the last origin of a part to the first of the next one.
    if gap:
        return horizon
    return 1


def agent_split(data: TemporalHypergraph, *, shares: Sequence[float] = DEFAULT_SHARES, seed: int = 0) -> AgentSplit:
    """Split the agents at random into four parts that share nobody.

    Args:
        data: N agents.
        shares: of the agents, for train, validation, calibration and test.
        seed: of the order in which agents are dealt out.
    """
    return group_split(data, communities=list(range(data.num_nodes)), shares=shares, seed=seed)


def group_split(
    data: TemporalHypergraph,
    *,
    communities: Sequence[Hashable] | None = None,
    shares: Sequence[float] = DEFAULT_SHARES,
    seed: int = 0,
) -> AgentSplit:
    """Split the agents so that a community (a school, a thread, a table) is never torn apart.

    Args:
        data: N agents.
        communities: one label per agent; None takes those who are connected through groups, at any time.
        shares: of the agents, for train, validation, calibration and test; met as closely as whole communities allow.
        seed: of the order in which communities are dealt out.
    """
    _check_shares(shares)
    if communities is None:
        labels = connected_agents(data)
        how = "groups connect the agents into"
    else:
        labels = _encode(communities, data.num_nodes)
        how = "communities has"
    sizes = np.bincount(labels)
    if len(sizes) < len(PARTS):
        raise ArgumentError(
            f"{how} {len(sizes)} communities, but four parts need at least 4; give more in communities="
        )
    part = _deal(sizes, np.asarray(shares), np.random.default_rng(seed))[labels]
    members = [tuple(np.flatnonzero(part == i).tolist()) for i in range(len(PARTS))]
    return AgentSplit(*members)


def connected_agents(data: TemporalHypergraph) -> np.ndarray:
    """Label every agent with its component: agents that a chain of shared groups connects have the same label."""
    from scipy.sparse import coo_array  # here, so that the data object alone does not load scipy
    from scipy.sparse.csgraph import connected_components

    node, edge = data.hyperedge_index.cpu().numpy()
    size = data.num_nodes + data.num_hyperedges
    graph = coo_array((np.ones(len(node)), (node, edge + data.num_nodes)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    return np.unique(labels[: data.num_nodes], return_inverse=True)[1]


def _deal(sizes: np.ndarray, shares: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    wanted = shares / shares.sum() * sizes.sum()
    order = generator.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    got = np.zeros(len(PARTS))
    part = np.zeros(len(sizes), dtype=np.int64)
    for place, community in enumerate(order.tolist()):
        need = wanted - got
        empty = (got == 0) & (len(order) - place <= (got == 0).sum())  # the last communities fill parts still empty
        part[community] = int(np.argmax(np.where(empty, np.inf, need)))
        got[part[community]] += sizes[community]
    return part


def _encode(communities: Sequence[Hashable], count: int) -> np.ndarray:
    if len(communities) != count:
        raise ArgumentError(f"communities has {len(communities)} labels, but there are {count} agents")
    places = {label: i for i, label in enumerate(dict.fromkeys(communities))}
    return np.array([places[label] for label in communities], dtype=np.int64)


def _sizes(total: int, shares: Sequence[float]) -> list[int]:
    weights = np.asarray(shares) / sum(shares)
    later = [max(1, round(total * weight)) for weight in weights[1:].tolist()]
    while total - sum(later) < 1:
        later[later.index(max(later))] -= 1
    return [total - sum(later), *later]


def _check_shares(shares: Sequence[float]) -> None:
    if len(shares) != len(PARTS) or min(shares) <= 0:
        raise ArgumentError(f"shares is {tuple(shares)}; give four positive numbers for {', '.join(PARTS)}")


def _check_order(split: Split) -> None:
    last = -1
    before = ""
    for part in PARTS:
        origins = getattr(split, part)
        if not origins or list(origins) != sorted(set(origins)) or origins[0] < 0:
            raise ArgumentError(f"{part} is {origins}; give ascending time indices, at least one")
        if part == "calibration" and split.shared:
            continue
        if origins[0] <= last:
            raise ArgumentError(
                f"{part} begins at origin {origins[0]}, but {before} ends at {last}; keep the time order"
            )
        last = origins[-1]
        before = part


def _origins(data: TemporalHypergraph, part: str, labels: object) -> tuple[int, ...]:
    several = [labels]
    if isinstance(labels, Iterable) and not isinstance(labels, str):
        several = list(labels)
    try:
        return tuple(data.time_index(label) for label in several)
    except ArgumentError as error:
        raise ArgumentError(f"{part}: {error}") from None


def _span(origins: tuple[int, ...]) -> str:
    if len(origins) == 1:
        return str(origins[0])
    return f"{origins[0]}-{origins[-1]}"
