r"""What data cannot be: codes for missing values, gaps in time, wild values, constants, duplicated agents.

Nothing here refuses data. :func:`suspicions` says in plain sentences what a user should look at, and
:func:`winsorise` pulls wild values of features to a robust limit (Tukey, 1962, "The future of data analysis").

The limit of a feature. With d = |x - median| over all observed cells, a value is wild if

.. math:: d > \max(20 \cdot 1.4826\, \mathrm{MAD},\; q_{50}\, e^{5 s}), \qquad s = \log(q_{90} / q_{50}) / 1.2816,

where MAD is the median of d, or of the d above 0 if that is 0 (more than half of the cells are equal), and q the
quantiles of the d above 0. The second term is five standard deviations of log d: it leaves skewed features (incomes,
counts) alone and is about 22 standard deviations for a normal feature. A wild value must also stand apart from the
last ordinary one, by a ratio of at least 2 and of exp(7 / alpha), with 1 / alpha the tail index of the values below it
(Hill, 1975, "A simple general approach to inference about the tail of a distribution"), and be rare (1 % of the cells,
or 3 of them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sphunc.hypergraph.temporal import TemporalHypergraph
from sphunc.hypergraph.time_gaps import missing_times
from sphunc.hypergraph.time_labels import show_time

Array = np.ndarray

SENTINELS = (-1, -8, -9, -77, -88, -97, -98, -99, -888, -998, -999, -9999, 99, 999, 9999, 99999)
SENTINEL_DECIMALS = (-9.9, -9.99, -99.9, -99.99, -999.9, -999.99, 99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99)
CODES = np.asarray((*SENTINELS, *SENTINEL_DECIMALS), dtype=np.float32)
FEWEST_OTHERS = 5  # ordinary values that a code must stand apart from
ROBUST_DEVIATIONS = 20.0
LOG_DEVIATIONS = 5.0
MAD_TO_DEVIATION = 1.4826  # of a normal distribution
NORMAL_Q90 = 1.2816
FEWEST_DEVIATIONS = 8  # values that differ from the median, for its spread to be known
APART = 2.0
TAIL_INDICES = 7.0  # exp(-7) = 0.001 of the largest values of a Pareto tail stand apart by more
TAIL_SHARE = 0.05
FEWEST_TAIL = 5
MOST_TAIL = 50
TINY = 1e-300  # below all deviations of float32 values; keeps log finite at 0
RARE_SHARE = 0.01
RARE_COUNT = 3
CONTINUOUS_SHARE = 0.5  # of the values of a feature must differ for equal values to be evidence
FEWEST_EQUAL_CELLS = 3  # equal cells of such features that make two agents duplicates
SHOWN = 5  # sentences of a kind


@dataclass(frozen=True)
class _Columns:
    """Features or numeric outcomes as rows: ``values``, ``observed`` are ``[C, T N]``, cells in order of time."""

    kind: str
    names: tuple[str, ...]
    values: Array
    observed: Array

    def describe(self, column: int) -> str:
        return f"{self.kind} {self.names[column]!r}"


KINDS = ("gaps", "codes", "wild", "constant", "duplicates")
"""What :func:`suspicions` looks for."""


def suspicions(data: TemporalHypergraph, kinds: tuple[str, ...] = KINDS) -> tuple[str, ...]:
    """Say what in ``data`` looks like a mistake, one plain sentence each; empty for data without any.

    Looked for are gaps in a regular calendar, codes for missing values (-99, 999), wild values, features that never
    change, and agents that are the same as another one in everything.

    Args:
        data: as it was read.
        kinds: what to look for.

    Example:
        >>> from sphunc.hypergraph import assemble
        >>> suspicions(assemble(times=[1, 2, 3, 5], node_ids=["a"]))[0].split(":")[0]
        'time 4 is missing between 1 and 5, whose other steps are equal'
    """
    found: list[str] = []
    features = _features(data)
    if "gaps" in kinds:
        found += _gap_sentences(data)
    if "codes" in kinds:
        found += _class_code_sentences(data)
    for columns in (features, _outcomes(data)):
        codes = _find_codes(columns)
        if "codes" in kinds:
            found += _code_sentences(columns, codes)
        if "wild" in kinds:
            found += _wild_sentences(data, _without(columns, codes))
    if "constant" in kinds:
        found += _constant_sentences(features)
    if "duplicates" in kinds:
        found += _duplicate_sentences(data, features)
    return tuple(found)


def robust_limits(data: TemporalHypergraph) -> Tensor:
    """Return the lowest and highest ordinary value of each feature, float64 ``[2, F]``, on the CPU.

    Infinite where too few values differ to say. The text at the head of the module has the rule; a limit that ordinary
    values pass lies at the last of them.
    """
    columns = _features(data)
    center, limit, _ = _robust_range(columns)
    return torch.from_numpy(np.stack([center - limit, center + limit]))


def winsorise(data: TemporalHypergraph, limits: Tensor | None = None) -> tuple[TemporalHypergraph, tuple[str, ...]]:
    """Pull wild values of features to their limits; return the data and one sentence per feature that changed.

    Args:
        data: left as it is; returned itself if nothing is wild.
        limits: lowest and highest value per feature ``[2, F]``, as :func:`robust_limits` of training data gives them;
            those of ``data`` by default.
    """
    if limits is None:
        limits = robust_limits(data)
    low, high = limits.to(device=data.device, dtype=data.x.dtype)
    is_wild = data.x_mask & ((data.x < low) | (data.x > high))
    if not bool(is_wild.any()):
        return data, ()
    pulled = torch.where(is_wild, data.x.clamp(low, high), data.x)
    sentences: list[str] = []
    for feature in is_wild.flatten(0, 1).any(0).nonzero().flatten().tolist():
        time, agent = is_wild[:, :, feature].nonzero()[0].tolist()
        others = _and_more(int(is_wild[:, :, feature].sum()) - 1, "value")
        sentences.append(
            f"feature {data.feature_names[feature]!r} of agent {data.node_ids[agent]!r} at time "
            f"{show_time(data.times[time])} is {float(data.x[time, agent, feature]):g}; it was pulled to the limit "
            f"{float(pulled[time, agent, feature]):g}{others}"
        )
    return replace(data, x=pulled), tuple(sentences)


def _features(data: TemporalHypergraph) -> _Columns:
    return _columns("feature", data.feature_names, data.x, data.x_mask)


def _outcomes(data: TemporalHypergraph) -> _Columns:
    if data.y is None or data.class_names:
        nothing = torch.zeros(data.num_times, data.num_nodes, 0)
        return _columns("outcome", (), nothing, nothing.bool())
    return _columns("outcome", data.outcome_names, data.y, data.y_mask.unsqueeze(-1).expand_as(data.y))


def _columns(kind: str, names: tuple[str, ...], values: Tensor, observed: Tensor) -> _Columns:
    as_rows = values.flatten(0, 1).T.contiguous().cpu().numpy()
    mask = observed.flatten(0, 1).T.contiguous().cpu().numpy()
    return _Columns(kind, names, as_rows, mask)


def _without(columns: _Columns, cells: Array) -> _Columns:
    return replace(columns, observed=columns.observed & ~cells)


# Wild values


def _robust_range(columns: _Columns) -> tuple[Array, Array, Array]:
    """Return the medians ``[C]``, the largest ordinary deviations from them ``[C]`` and the wild cells ``[C, T N]``."""
    count = columns.observed.sum(1)
    center = _medians(columns, count)
    unobserved = ~columns.observed
    deviation = np.abs(columns.values - center[:, None])
    deviation[unobserved] = np.inf
    ranked = np.sort(deviation, axis=1)
    limit = _limits(ranked, count)
    wild = np.zeros_like(columns.observed)
    largest = _at(ranked, count - 1)
    for column in np.flatnonzero((count > 0) & (largest > limit)).tolist():
        observed = ranked[column, : count[column]]
        ordinary = _last_ordinary(observed, limit[column])
        limit[column] = max(limit[column], ordinary)
        wild[column] = columns.observed[column] & (deviation[column] > limit[column])
    return center, limit, wild


def _medians(columns: _Columns, count: Array) -> Array:
    ranked = np.sort(np.where(columns.observed, columns.values, np.float32(np.inf)), axis=1)
    lower = _at(ranked, (count - 1) // 2).astype(np.float64)
    upper = _at(ranked, count // 2).astype(np.float64)
    middle = (lower + upper) / 2
    return np.where(count > 0, middle, 0.0)


def _at(ranked: Array, place: Array) -> Array:
    if not ranked.size:
        return np.zeros(len(ranked))
    inside = np.clip(place, 0, ranked.shape[1] - 1)
    return np.take_along_axis(ranked, inside[:, None], axis=1)[:, 0]


def _limits(ranked: Array, count: Array) -> Array:
    equal = (ranked == 0).sum(1)
    differing = count - equal
    mad = (_at(ranked, (count - 1) // 2) + _at(ranked, count // 2)) / 2
    q50 = _at(ranked, equal + (differing - 1) // 2)
    q90 = _at(ranked, equal + (9 * (differing - 1)) // 10)
    known = differing >= FEWEST_DEVIATIONS
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = MAD_TO_DEVIATION * np.where(mad > 0, mad, q50)
        log_spread = (np.log(q90) - np.log(q50)) / NORMAL_Q90
        limit = np.maximum(ROBUST_DEVIATIONS * scale, q50 * np.exp(LOG_DEVIATIONS * log_spread))
    return np.where(known, limit, np.inf)


def _last_ordinary(ranked: Array, limit: float) -> float:
    """Return the largest deviation that is not wild: below the first wide gap beyond the limit, if few lie above it."""
    first = int(np.searchsorted(ranked, limit, side="right"))
    allowed = max(RARE_COUNT, int(RARE_SHARE * len(ranked)))
    tail = int(np.clip(TAIL_SHARE * len(ranked), FEWEST_TAIL, MOST_TAIL))
    for place in range(max(first, len(ranked) - allowed, tail + 1), len(ranked)):
        below = np.log(np.maximum(ranked[place - tail - 1 : place], TINY))
        gap = np.log(ranked[place]) - below[-1]
        tail_index = float((below[1:] - below[0]).mean())  # Hill's estimate of 1 / alpha
        if gap > max(np.log(APART), TAIL_INDICES * tail_index):
            return float(ranked[place - 1])
    return float(ranked[-1])


def _wild_sentences(data: TemporalHypergraph, columns: _Columns) -> list[str]:
    center, _, wild = _robust_range(columns)
    sentences: list[str] = []
    for column in np.flatnonzero(wild.any(1)).tolist():
        cells = np.flatnonzero(wild[column])
        time, agent = divmod(int(cells[0]), data.num_nodes)
        ordinary = columns.values[column][columns.observed[column] & ~wild[column]]
        others = _and_more(len(cells) - 1, "value")
        sentences.append(
            f"{columns.describe(column)} of agent {data.node_ids[agent]!r} at time {show_time(data.times[time])} is "
            f"{columns.values[column, cells[0]]:g}{others}, far from all others ({ordinary.min():g} to "
            f"{ordinary.max():g}, median {center[column]:g}): correct it, or leave the cell empty"
        )
    return _shortened(sentences, lambda rest: f"{rest} more {columns.kind}s have values far from all others")


# Codes for missing values


def _find_codes(columns: _Columns) -> Array:
    """Return the cells ``[C, T N]`` that hold a code for a missing value rather than a number."""
    is_code = np.zeros_like(columns.observed)
    for code in CODES:
        is_code |= columns.values == code
    is_code &= columns.observed
    for column in np.flatnonzero(is_code.any(1)).tolist():
        values = columns.values[column].astype(np.float64)
        others = values[columns.observed[column] & ~is_code[column]]
        for code in np.unique(values[is_code[column]]).tolist():
            cells = is_code[column] & (values == code)
            if not _stands_apart(code, int(cells.sum()), others):
                is_code[column] &= ~cells
    return is_code


def _stands_apart(code: float, count: int, others: Array) -> bool:
    if len(others) < max(FEWEST_OTHERS, count):
        return False
    low = float(others.min())
    high = float(others.max())
    if low <= code <= high or low == high:
        return False
    distance = max(low - code, code - high)
    spread = high - low
    if code < 0 <= low:
        return _only_negative(code, count, others, distance)
    # Heavy tails reach far: a single value must be twice as far away as the others spread, a frequent one as far.
    if distance > (1 + 1 / count) * spread:
        return True
    is_repeated = count >= 3 and len(np.unique(others)) > len(others) / 2
    return is_repeated and distance > spread / 4


def _only_negative(code: float, count: int, others: Array, distance: float) -> bool:
    spread = float(others.max() - others.min())
    if code == -1:
        # -1, 0, 1 and -1, +1 are ordinary codings; so is -1 beside the 0 of a scale or a count.
        return distance >= 2 and len(np.unique(others)) >= 3
    return count >= 2 or distance > spread / 10


def _code_sentences(columns: _Columns, codes: Array) -> list[str]:
    sentences: list[str] = []
    for column in np.flatnonzero(codes.any(1)).tolist():
        values, counts = np.unique(columns.values[column][codes[column]], return_counts=True)
        others = columns.values[column][columns.observed[column] & ~codes[column]]
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            sentences.append(
                f"{columns.describe(column)} is {value:g} in {_cells(count)} while all others lie between "
                f"{others.min():g} and {others.max():g}: "
                f"if {value:g} stands for a missing value, leave these cells empty"
            )
    return _shortened(sentences, lambda rest: f"{rest} more codes of this kind in other {columns.kind}s")


def _class_code_sentences(data: TemporalHypergraph) -> list[str]:
    try:
        numbers = np.asarray([float(name) for name in data.class_names])
    except ValueError:
        return []
    is_code = np.isin(numbers.astype(np.float32), CODES)
    others = numbers[~is_code]
    if data.y is None or len(others) < 2:
        return []
    sentences: list[str] = []
    for index in np.flatnonzero(is_code).tolist():
        code = float(numbers[index])
        distance = max(float(others.min()) - code, code - float(others.max()))
        spread = float(others.max() - others.min())
        is_only_negative = code < -1 and others.min() >= 0
        if distance > spread or (is_only_negative and distance > 1):
            count = int((data.y_mask & (data.y == index)).sum())
            sentences.append(
                f"the outcome is class {data.class_names[index]!r} in {_cells(count)} while the other classes are "
                f"{others.min():g} to {others.max():g}: if it stands for a missing value, leave these rows out"
            )
    return sentences


# Times, constants, duplicates


def _gap_sentences(data: TemporalHypergraph) -> list[str]:
    names, total = missing_times(data.times)
    if not total:
        return []
    listed = ", ".join(names)
    if total > len(names):
        listed = f"{listed} and {total - len(names)} more"
    sentence = f"times {listed} are missing"
    if total == 1:
        sentence = f"time {listed} is missing"
    return [
        f"{sentence} between {show_time(data.times[0])} and {show_time(data.times[-1])}, whose other steps "
        "are equal: a gap counts as one step; add the missing times, or number the times anew if none was skipped"
    ]


def _constant_sentences(columns: _Columns) -> list[str]:
    count = columns.observed.sum(1)
    highest = np.where(columns.observed, columns.values, -np.inf).max(1, initial=-np.inf)
    lowest = np.where(columns.observed, columns.values, np.inf).min(1, initial=np.inf)
    sentences: list[str] = []
    for column in np.flatnonzero((count == 0) | (highest == lowest)).tolist():
        name = columns.describe(column)
        if count[column]:
            sentence = f"{name} is {highest[column]:g} in all of its {_cells(int(count[column]))}"
        else:
            sentence = f"{name} was never observed"
        sentences.append(f"{sentence}: it tells nothing; leave the column out, or check how it was made")
    return _shortened(sentences, lambda rest: f"{rest} more features are constant or were never observed")


def _duplicate_sentences(data: TemporalHypergraph, columns: _Columns) -> list[str]:
    continuous = _continuous(columns)
    if not continuous.any() or data.num_nodes < 2:
        return []
    parts = [data.x.transpose(0, 1).flatten(1), data.x_mask.transpose(0, 1).flatten(1)]
    if data.y is not None:
        parts.append(data.y.transpose(0, 1).flatten(1))
    rows = np.concatenate([_bytes(part) for part in parts], axis=1)
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0].tolist()
    cells = columns.observed[continuous].reshape(-1, data.num_times, data.num_nodes).sum((0, 1))
    first: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for agent, key in enumerate(keys):
        original = first.setdefault(key, agent)
        if original != agent and cells[agent] >= FEWEST_EQUAL_CELLS:
            pairs.append((original, agent))
    sentences = [
        f"agent {data.node_ids[agent]!r} has the same features and outcomes as agent {data.node_ids[original]!r} "
        "at all times: if both are the same agent, keep one of them"
        for original, agent in pairs
    ]
    return _shortened(sentences, lambda rest: f"{rest} more agents are the same as another one")


def _continuous(columns: _Columns) -> Array:
    ranked = np.sort(np.where(columns.observed, columns.values, np.float32(np.inf)), axis=1)
    is_new = (ranked[:, 1:] > ranked[:, :-1]) & np.isfinite(ranked[:, 1:])
    return is_new.sum(1) > CONTINUOUS_SHARE * columns.observed.sum(1)


def _bytes(values: Tensor) -> Array:
    array = np.ascontiguousarray(values.cpu().numpy())
    return array.view(np.uint8).reshape(len(array), -1)


def _shortened(sentences: list[str], rest: Callable[[int], str]) -> list[str]:
    if len(sentences) <= SHOWN:
        return sentences
    return [*sentences[:SHOWN], rest(len(sentences) - SHOWN)]


def _cells(count: int) -> str:
    if count == 1:
        return "1 cell"
    return f"{count:,} cells"


def _and_more(count: int, what: str) -> str:
    if not count:
        return ""
    if count > 1:
        what += "s"
    return f" (and {count:,} more {what})"
