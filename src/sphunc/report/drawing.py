"""Figures as inline SVG by small pure functions: colours come from the page, so that they suit dark mode and print.

Every figure is 440 units wide, so that its text stays readable on a phone, and says in words what it shows. Texts are
escaped here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sphunc._subsets import evenly_spaced
from sphunc.report.table import display

WIDTH = 440
ROW = 22
MOST_SERIES = 8
"""Colours that can be told apart; further classes are drawn as one."""
MOST_POINTS = 500
MOST_NODES = 24
LABEL_LENGTH = 28
LETTER = 6.4
"""Width of a letter, about."""
LAYOUT_ROUNDS = 300
ALIKE = 1e-6
"""Relative range below which values are drawn as alike."""
MOST_FIGURES = 12
"""Figures of a tick label, at most."""
UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
"""Letters behind large numbers."""

Number = float | int
Scale = Callable[[Number], float]


@dataclass(frozen=True)
class Figure:
    """A drawing with what it says.

    Attributes:
        title: what it shows.
        description: what a reader sees in it, for those who cannot see it and below it.
        svg: the drawing; its texts are escaped.
    """

    title: str
    description: str
    svg: str


def make_figure(title: str, description: str, height: Number, parts: Sequence[str]) -> Figure:
    """Put parts on a canvas.

    Args:
        title: what it shows.
        description: in words.
        height: of the canvas.
        parts: elements.
    """
    label = html.escape(f"{title}. {description}")
    body = "\n".join(parts)
    svg = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}">\n{body}\n</svg>'
    return Figure(title, description, svg)


def interval_plot(
    title: str,
    description: str,
    labels: Sequence[str],
    values: Sequence[Number],
    low: Sequence[Number],
    high: Sequence[Number],
    *,
    axis: str,
    reference: float | None = None,
) -> Figure:
    """Points with intervals, one row each, and a line to compare with.

    Args:
        title: what it shows.
        description: in words.
        labels: of the rows.
        values: of the points.
        low: ends of the intervals.
        high: other ends.
        axis: what the values are.
        reference: where the line is; None draws none.
    """
    ends = [*values, *low, *high]
    if reference is not None:
        ends.append(reference)
    bottom, top = _range(ends)
    margin = _label_width(labels)
    x = _linear(bottom, top, margin + 8, WIDTH - 12)
    height = ROW * len(labels)
    parts = _horizontal_axis(x, bottom, top, height, axis)
    if reference is not None:
        parts.append(_line(x(reference), 0, x(reference), height, "reference"))
    for k, label in enumerate(labels):
        y = ROW * (k + 0.5)
        parts.append(_text(margin, y + 4, label, "end"))
        if math.isfinite(low[k]) and math.isfinite(high[k]):
            parts.append(_line(x(low[k]), y, x(high[k]), y, "interval"))
        if math.isfinite(values[k]):
            parts.append(f'<circle class="c0" cx="{x(values[k]):.1f}" cy="{y:.1f}" r="4"/>')
    return make_figure(title, description, height + 42, parts)


def stacked_shares(
    title: str, description: str, times: Sequence[str], names: Sequence[str], shares: np.ndarray
) -> Figure:
    """Shares of classes at each time as stacked columns.

    Args:
        title: what it shows.
        description: in words.
        times: labels.
        names: of the classes.
        shares: ``[time, class]``, each row adding up to 1, or to 0 where nothing was observed.
    """
    names, shares = _few_series(names, shares)
    height = 170.0
    left = 36.0
    width = (WIDTH - left - 6) / max(1, len(times))
    y = _linear(0.0, 1.0, height, 6)
    parts = _vertical_axis(y, 0.0, 1.0, left)
    gap = min(2.0, 0.2 * width)
    for t, row in enumerate(shares):
        below = 0.0
        for c, share in enumerate(row):
            top = below + float(share)
            parts.append(_box(left + t * width, y(top), width - gap, y(below) - y(top), f"c{c}"))
            below = top
    parts += _time_labels(times, left, width, height)
    legend, used = _legend(names, height + 30)
    return make_figure(title, description, height + 30 + used, [*parts, *legend])


def band_chart(
    title: str,
    description: str,
    times: Sequence[str],
    middle: Sequence[Number],
    low: Sequence[Number],
    high: Sequence[Number],
    *,
    axis: str,
) -> Figure:
    """A line over time with a band around it.

    Args:
        title: what it shows.
        description: in words.
        times: labels.
        middle: of the line.
        low: lower end of the band.
        high: upper end.
        axis: what the values are.
    """
    bottom, top = _range([*middle, *low, *high])
    height = 170.0
    left = 52.0
    width = (WIDTH - left - 6) / max(1, len(times))
    y = _linear(bottom, top, height, 18)
    known = [t for t, value in enumerate(middle) if math.isfinite(value)]

    def place(t: int) -> float:
        return left + (t + 0.5) * width

    parts = [*_vertical_axis(y, bottom, top, left), _text(0, 10, axis)]
    upper = [f"{place(t):.1f},{y(high[t]):.1f}" for t in known]
    lower = [f"{place(t):.1f},{y(low[t]):.1f}" for t in reversed(known)]
    parts.append(f'<polygon class="band" points="{" ".join([*upper, *lower])}"/>')
    line = " ".join(f"{place(t):.1f},{y(middle[t]):.1f}" for t in known)
    parts.append(f'<polyline class="s0" points="{line}"/>')
    parts += _time_labels(times, left, width, height)
    return make_figure(title, description, height + 30, parts)


def histogram(title: str, description: str, values: Sequence[Number], *, axis: str, bins: int = 24) -> Figure:
    """How often values fall into equal steps.

    Args:
        title: what it shows.
        description: in words.
        values: one per agent.
        axis: what they are.
        bins: steps.
    """
    finite = np.asarray([value for value in values if math.isfinite(value)], dtype=float)
    bottom, top = _range(finite.tolist())
    count, edges = np.histogram(finite, bins=bins, range=(bottom, top))
    height = 130.0
    left = 40.0
    x = _linear(bottom, top, left, WIDTH - 12)
    most = max(1, int(count.max()) if len(count) else 1)
    y = _linear(0, most, height, 8)
    parts = _vertical_axis(y, 0, most, left)
    for k, number in enumerate(count):
        width = x(edges[k + 1]) - x(edges[k]) - 1
        parts.append(_box(x(edges[k]), y(int(number)), width, height - y(int(number)), "c0"))
    parts += _horizontal_axis(x, bottom, top, height, axis)
    return make_figure(title, description, height + 42, parts)


def scatter(
    title: str,
    description: str,
    across: Sequence[Number],
    upward: Sequence[Number],
    *,
    axis_across: str,
    axis_upward: str,
) -> Figure:
    """One point per agent; of many an even part.

    Args:
        title: what it shows.
        description: in words.
        across: horizontal values.
        upward: vertical values.
        axis_across: what the first are.
        axis_upward: what the second are.
    """
    keep = evenly_spaced(len(across), MOST_POINTS).tolist()
    first = [across[k] for k in keep]
    second = [upward[k] for k in keep]
    left_end, right_end = _range(first)
    bottom, top = _range(second)
    height = 220.0
    left = 48.0
    x = _linear(left_end, right_end, left + 6, WIDTH - 12)
    y = _linear(bottom, top, height - 6, 22)
    parts = [*_vertical_axis(y, bottom, top, left), _text(0, 10, axis_upward)]
    parts += _horizontal_axis(x, left_end, right_end, height, axis_across)
    for a, b in zip(first, second, strict=True):
        if math.isfinite(a) and math.isfinite(b):
            parts.append(f'<circle class="c0 point" cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.6"/>')
    return make_figure(title, description, height + 42, parts)


def reliability_plot(
    title: str,
    description: str,
    confidence: Sequence[Number],
    accuracy: Sequence[Number],
    count: Sequence[int],
) -> Figure:
    """How often forecasts of each confidence were right, against the diagonal; areas by number.

    Args:
        title: what it shows.
        description: in words.
        confidence: mean of each bin.
        accuracy: share that was right.
        count: forecasts in the bin.
    """
    height = 260.0
    left = 44.0
    x = _linear(0.0, 1.0, left, left + 250)
    y = _linear(0.0, 1.0, height, 22)
    parts = [*_vertical_axis(y, 0.0, 1.0, left, x(1.0)), _text(0, 10, "share that was right")]
    parts += _horizontal_axis(x, 0.0, 1.0, height, "probability of the class named")
    parts.append(_line(x(0.0), y(0.0), x(1.0), y(1.0), "reference"))
    largest = max([*count, 1])
    for a, b, number in zip(confidence, accuracy, count, strict=True):
        radius = 2.5 + 8 * math.sqrt(number / largest)
        error = 1.96 * math.sqrt(max(a * (1 - a), 1e-9) / number)
        parts.append(_line(x(a), y(max(0.0, a - error)), x(a), y(min(1.0, a + error)), "expected"))
        parts.append(f'<circle class="c0 point" cx="{x(a):.1f}" cy="{y(b):.1f}" r="{radius:.1f}"/>')
    parts.append(_text(left + 264, 60, "on the line:"))
    parts.append(_text(left + 264, 76, "calibrated"))
    parts.append(_text(left + 264, 104, "below it:"))
    parts.append(_text(left + 264, 120, "overconfident"))
    parts.append(_text(left + 264, 148, "bars: expected if"))
    parts.append(_text(left + 264, 164, "calibrated"))
    parts.append(_text(left + 264, 192, "area: number of"))
    parts.append(_text(left + 264, 208, "forecasts"))
    return make_figure(title, description, height + 42, parts)


def violin_plot(
    title: str, description: str, names: Sequence[str], simulated: np.ndarray, observed: np.ndarray
) -> Figure:
    """Simulated statistics as violins and observed ones as points, in standard deviations of the simulated.

    Args:
        title: what it shows.
        description: in words.
        names: of K statistics.
        simulated: ``[S, K]``.
        observed: ``[K]``.
    """
    limit = 4.0
    margin = _label_width(names)
    x = _linear(-limit, limit, margin + 8, WIDTH - 12)
    row = 28
    height = row * len(names)
    parts = _horizontal_axis(x, -limit, limit, height, "standard deviations from the simulated mean")
    parts.append(_line(x(0.0), 0, x(0.0), height, "reference"))
    grid = np.linspace(-limit, limit, 65)
    for k, name in enumerate(names):
        y = row * (k + 0.5)
        parts.append(_text(margin, y + 4, name, "end"))
        centre = float(simulated[:, k].mean())
        spread = float(simulated[:, k].std())
        if spread == 0:
            continue
        scores = (simulated[:, k] - centre) / spread
        width = 1.06 * len(scores) ** -0.2
        density = np.exp(-0.5 * ((grid[:, None] - scores) / width) ** 2).mean(1)
        half = 0.45 * row * density / density.max()
        upper = [f"{x(a):.1f},{y - b:.1f}" for a, b in zip(grid, half, strict=True)]
        lower = [f"{x(a):.1f},{y + b:.1f}" for a, b in zip(grid[::-1], half[::-1], strict=True)]
        parts.append(f'<polygon class="violin" points="{" ".join([*upper, *lower])}"/>')
        place = min(max((float(observed[k]) - centre) / spread, -limit), limit)
        parts.append(f'<circle class="observed" cx="{x(place):.1f}" cy="{y:.1f}" r="4.5"/>')
    return make_figure(title, description, height + 42, parts)


def network_plot(
    title: str, description: str, names: Sequence[str], links: Sequence[tuple[int, int, float, float]]
) -> Figure:
    """Agents and the links between them, as arrows: opaque where probable, dashed where they repel.

    Args:
        title: what it shows.
        description: in words.
        names: of the agents.
        links: source, target, probability, strength.
    """
    height = 380.0
    position = spring_layout(len(names), [(source, target) for source, target, _, _ in links])
    x = [40 + (WIDTH - 80) * float(p) for p in position[:, 0]]
    y = [26 + (height - 60) * float(p) for p in position[:, 1]]
    parts = []
    for source, target, probability, strength in sorted(links, key=lambda link: link[2]):
        parts.append(_arrow(x[source], y[source], x[target], y[target], probability, strength < 0))
    above = [0.0] * len(names)
    for source, target, _, _ in links:
        above[source] += y[source] - y[target]
        above[target] += y[target] - y[source]
    for k, name in enumerate(names):
        parts.append(f'<circle class="c0" cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="5"/>')
        # On the side where its links are not.
        label = y[k] + 17 if above[k] > 0 else y[k] - 9
        parts.append(_text(x[k], label, name, "middle", "node"))
    parts.append(_text(4, height - 4, "arrow: from source to target; dashed: repels; faint: less probable"))
    return make_figure(title, description, height, parts)


def spring_layout(count: int, links: Sequence[tuple[int, int]]) -> np.ndarray:
    """Positions in the unit square by forces (Fruchterman and Reingold 1991), always the same for the same graph.

    Args:
        count: of agents.
        links: pairs of them.
    """
    angle = 2 * np.pi * np.arange(count) / max(1, count)
    place = np.stack([np.cos(angle), np.sin(angle)], 1)
    ideal = 1.6 / math.sqrt(max(1, count))
    for turn in range(LAYOUT_ROUNDS):
        gap = place[:, None] - place[None]
        distance = np.linalg.norm(gap, axis=-1) + 1e-6
        force = (gap * (ideal**2 / distance**2)[..., None]).sum(1)
        for source, target in links:
            pull = gap[source, target] * distance[source, target] / ideal
            force[source] -= pull
            force[target] += pull
        force -= 0.12 * count * place
        length = np.linalg.norm(force, axis=1, keepdims=True) + 1e-9
        limit = 0.1 * (1 - turn / LAYOUT_ROUNDS)
        place = place + force / length * np.minimum(length, limit)
    low = place.min(0)
    extent = np.maximum(place.max(0) - low, 1e-9)
    return (place - low) / extent


def ticks(bottom: Number, top: Number, count: int = 5) -> list[float]:
    """Round numbers between two ends.

    Args:
        bottom: lower end.
        top: upper end.
        count: about so many.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (top - bottom) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(bottom / step - 1e-9)
    last = math.floor(top / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def _range(values: Sequence[Number]) -> tuple[float, float]:
    finite = [float(value) for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low = min(finite)
    high = max(finite)
    if high - low < ALIKE * max(1.0, abs(high)):
        available = max(0.5, 0.1 * abs(high))
        return low - available, high + available
    pad = 0.04 * (high - low)
    return low - pad, high + pad


def _linear(low: Number, high: Number, start: Number, end: Number) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _short(text: str) -> str:
    return text if len(text) <= LABEL_LENGTH else f"{text[: LABEL_LENGTH - 1]}…"


def _label_width(labels: Sequence[str]) -> float:
    """Room for labels at the left of rows."""
    return 8 + LETTER * max((len(_short(label)) for label in labels), default=0)


def _text(x: Number, y: Number, text: str, anchor: str = "start", kind: str = "label") -> str:
    shown = text if kind == "label" and anchor == "start" else _short(text)
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(shown)}</text>'


def _line(x1: Number, y1: Number, x2: Number, y2: Number, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _box(x: Number, y: Number, width: Number, height: Number, kind: str) -> str:
    if height <= 0:
        return ""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0.5, width):.1f}" height="{height:.1f}"/>'


def tick_labels(values: Sequence[Number]) -> list[str]:
    """Short texts of the ticks of an axis, which differ where the ticks do.

    Args:
        values: of the ticks.

    Example:
        >>> tick_labels([-500_000, 0, 500_000, 1_000_000])
        ['-500k', '0', '500k', '1.0M']
    """
    for figures in range(2, MOST_FIGURES):
        labels = [_tick_label(value, figures) for value in values]
        if len(set(labels)) == len(labels):
            return labels
    return [_tick_label(value, MOST_FIGURES) for value in values]


def _tick_label(value: Number, figures: int) -> str:
    if value == 0:
        return "0"
    size = abs(value)
    if size < 0.001 or size >= 1e15:
        return display(float(value))
    for unit, letter in UNITS:
        if size >= 10 * unit or size >= unit >= 1e6:
            number = value / unit
            decimals = max(0, figures - 1 - math.floor(math.log10(abs(number))))
            return f"{number:,.{decimals}f}{letter}"
    return f"{value:,.6g}"


def _horizontal_axis(x: Scale, bottom: Number, top: Number, height: Number, label: str) -> list[str]:
    parts = [_line(x(bottom), height, x(top), height, "axis")]
    places = ticks(bottom, top)
    labels = tick_labels(places)
    widest = LETTER * max((len(one) for one in labels), default=1) + 8
    apart = x(places[1]) - x(places[0]) if len(places) > 1 else widest
    every = max(1, math.ceil(widest / apart))
    for k, (value, text) in enumerate(zip(places, labels, strict=True)):
        parts.append(_line(x(value), height, x(value), height + 4, "axis"))
        if k % every == 0:
            parts.append(_text(_inside(x(value), text), height + 17, text, "middle"))
    middle = _inside((x(bottom) + x(top)) / 2, label)
    parts.append(
        f'<text class="label" x="{middle:.1f}" y="{height + 35:.1f}" text-anchor="middle">{html.escape(label)}</text>'
    )
    return parts


def _inside(middle: Number, text: str) -> float:
    """Middle of a text, moved so that all of it is on the canvas."""
    half = 0.5 * LETTER * len(text)
    return min(max(middle, half), max(WIDTH - half, 0.5 * WIDTH))


def _vertical_axis(y: Scale, bottom: Number, top: Number, left: Number, right: Number = WIDTH - 6) -> list[str]:
    parts = []
    places = ticks(bottom, top, 4)
    for value, text in zip(places, tick_labels(places), strict=True):
        parts.append(_line(left, y(value), right, y(value), "grid"))
        parts.append(_text(left - 5, y(value) + 4, text, "end"))
    return parts


def _time_labels(times: Sequence[str], left: Number, width: Number, height: Number) -> list[str]:
    longest = max([len(_short(time)) for time in times], default=1)
    every = max(1, math.ceil((LETTER * longest + 8) / width))
    return [
        _text(left + (t + 0.5) * width, height + 16, time, "middle") for t, time in enumerate(times) if t % every == 0
    ]


def _few_series(names: Sequence[str], shares: np.ndarray) -> tuple[list[str], np.ndarray]:
    if len(names) <= MOST_SERIES:
        return list(names), shares
    order = np.argsort(-shares.sum(0), kind="stable")
    kept = order[: MOST_SERIES - 1]
    rest = shares[:, order[MOST_SERIES - 1 :]].sum(1, keepdims=True)
    return [*(str(names[int(k)]) for k in kept), "all others"], np.concatenate([shares[:, kept], rest], 1)


def _legend(names: Sequence[str], top: Number) -> tuple[list[str], float]:
    """Squares with names, in lines as wide as the figure, and the height they take."""
    parts = []
    x = 36.0
    y = top
    for k, name in enumerate(names):
        width = LETTER * len(_short(name)) + 30
        if x + width > WIDTH and x > 36.0:
            x = 36.0
            y += 18
        parts.append(_box(x, y, 11, 11, f"c{k}"))
        parts.append(f'<text class="label" x="{x + 16:.1f}" y="{y + 10:.1f}">{html.escape(_short(name))}</text>')
        x += width
    return parts, y - top + 20


def _arrow(x1: Number, y1: Number, x2: Number, y2: Number, probability: Number, repels: bool) -> str:
    length = math.hypot(x2 - x1, y2 - y1)
    if length < 14:
        return ""
    dx = (x2 - x1) / length
    dy = (y2 - y1) / length
    start_x = x1 + 6 * dx
    start_y = y1 + 6 * dy
    tip_x = x2 - 7 * dx
    tip_y = y2 - 7 * dy
    base_x = tip_x - 7 * dx
    base_y = tip_y - 7 * dy
    opacity = 0.2 + 0.7 * probability
    kind = "link repels" if repels else "link"
    head = (
        f"{tip_x:.1f},{tip_y:.1f} {base_x - 3.5 * dy:.1f},{base_y + 3.5 * dx:.1f} "
        f"{base_x + 3.5 * dy:.1f},{base_y - 3.5 * dx:.1f}"
    )
    return (
        f'<g opacity="{opacity:.2f}"><line class="{kind}" x1="{start_x:.1f}" y1="{start_y:.1f}" x2="{base_x:.1f}" '
        f'y2="{base_y:.1f}"/><polygon class="head" points="{head}"/></g>'
    )
