"""What the report says, section by section: values in, paragraphs, lists, tables and figures out."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import polars as pl
import torch

from sphunc.errors import DataError
from sphunc.estimator import SphUnc
from sphunc.forecasting import Forecast, align
from sphunc.hypergraph import Summary, TemporalHypergraph, summarise, suspicions
from sphunc.interventions import Effect
from sphunc.report.agents import DEVIATIONS, agents_to_look_at, found_graph, shown_uncertainty
from sphunc.report.change import change_over_time
from sphunc.report.checks import default_model
from sphunc.report.convergence import convergence
from sphunc.report.drawing import (
    MOST_NODES,
    Figure,
    band_chart,
    histogram,
    interval_plot,
    network_plot,
    scatter,
    stacked_shares,
)
from sphunc.report.goodness import goodness_of_fit
from sphunc.report.influences import influence_table
from sphunc.report.parameters import block_table, parameter_table
from sphunc.report.quality import HeldOutOutcomes, held_out_outcomes, quality_table, reliability_figure
from sphunc.report.refutation import refutation_table
from sphunc.report.table import Table, display
from sphunc.report.worth import fit_worth

COVERAGE = 0.9
DRAWN_LINKS = 24
"""Links of the drawing: more cannot be told apart."""
MOST_AFFECTED = 12
SMALLEST_EFFECT = 1e-6
"""Effects below are rounding."""
PACKAGES = ("sphunc", "torch", "numpy", "scipy", "polars", "scikit-learn")


@dataclass(frozen=True)
class Bullets:
    """A list of sentences.

    Attributes:
        items: of the list.
    """

    items: tuple[str, ...]


@dataclass(frozen=True)
class Download:
    """A table that is there to be downloaded, and not shown.

    Attributes:
        table: in full.
    """

    table: Table


Block = str | Bullets | Table | Figure | Download


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        key: its anchor.
        title: its heading.
        blocks: paragraphs, lists, tables and figures in order.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]


class ReportValues:
    """All that sections need, each computed once.

    Args:
        model: as fitted.
        data: the forecast is from its last time.
        interventions: titles and effects.
        run_info: how the run was made.
        later: ``data`` and outcomes after it, for forecast quality alone; None takes ``data``.
    """

    def __init__(
        self,
        model: SphUnc,
        data: TemporalHypergraph,
        interventions: Sequence[tuple[str, Effect]],
        run_info: Mapping[str, object],
        later: TemporalHypergraph | None = None,
    ) -> None:
        self.model = model
        self.data = data
        self.interventions = interventions
        self.run_info = run_info
        self.later = data if later is None else later

    @cached_property
    def forecast(self) -> Forecast:
        """From the last time of the data."""
        with warnings.catch_warnings():
            # The section on data has them.
            warnings.simplefilter("ignore", UserWarning)
            return self.model.predict(self.data)

    @cached_property
    def held_out(self) -> HeldOutOutcomes | None:
        """Outcomes that the model did not see."""
        return held_out_outcomes(self.model, self.later)

    @cached_property
    def quality(self) -> Table | None:
        """Scores on them."""
        return None if self.held_out is None else quality_table(self.held_out)

    @cached_property
    def summary(self) -> Summary:
        """Sizes of the data."""
        return summarise(self.data)


def all_sections(values: ReportValues) -> list[Section]:
    """The sections in reading order.

    Args:
        values: what they need.
    """
    sections = [
        in_short(values),
        asked(values),
        the_data(values),
        forecast_quality(values),
        uncertainty(values),
        agents(values),
        influence(values),
        interventions(values),
        the_model(values),
        limits(values),
        how_made(values),
    ]
    return [section for section in sections if section.blocks]


def sentence(text: str) -> str:
    """Text as a sentence: a capital first, a stop at the end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def in_short(values: ReportValues) -> Section:
    """The verdict first, then what each question's answer is."""
    model = values.model
    forecast = values.forecast
    items = []
    quality = values.quality
    if quality is not None:
        items.append(_quality_sentence(quality, forecast.numeric))
    items.append(
        f"The forecast is for {forecast.target}, from what was known at {forecast.origin}, for "
        f"{len(forecast.agents):,} agents."
    )
    if forecast.probabilities is not None:
        expected = forecast.probabilities.mean(0).tolist()
        pairs = [f"{name} {share:.0%}" for name, share in zip(forecast.class_names, expected, strict=True)]
        items.append(f"Expected shares: {', '.join(pairs[:6])}{' ...' if len(pairs) > 6 else ''}.")
    graph = found_graph(model)
    items.append("Links: none were learned." if graph is None else f"Links: {graph.verdict}.")
    for title, effect in values.interventions:
        items.append(_effect_sentence(title, effect))
    return Section("short", "In short", (sentence(model.verdict_), Bullets(tuple(items))))


def _quality_sentence(quality: Table, is_numeric: bool) -> str:
    rows = {row["measure"]: row for row in quality.frame.rows(named=True)}
    measure = "accuracy"
    simple = "class_frequencies"
    guess = "frequencies"
    if is_numeric:
        guess = "mean so far"
        measure = next(iter(rows))
        simple = "mean_so_far"
    row = rows[measure]
    interval = ""
    if row["low"] is not None:
        interval = f" ({display(row['low'])} to {display(row['high'])})"
    return (
        f"On outcomes that the model did not see, {measure} is {display(row['model'])}{interval}; without a model "
        f"{display(row[simple])} ({guess}) and {display(row['last_outcome'])} (last outcome)."
    )


def _effect_sentence(title: str, effect: Effect) -> str:
    name = f"{title[:1].upper()}{title[1:]}"
    others = effect.top_affected(1) if bool((~effect.intervened).any()) else None
    acts = others is not None and len(others) > 0 and others["effect"][0] > SMALLEST_EFFECT
    if effect.message and not acts:
        return f"{name}: {effect.message}."
    if others is None or not len(others):
        return f"{name}: nobody else could be affected."
    row = others.row(0, named=True)
    text = f"{name}: the largest effect on anybody else is {display(row['effect'])}, on {row['agent']}."
    return f"{text} {sentence(effect.message)}" if effect.message else text


def asked(values: ReportValues) -> Section:
    """The questions."""
    model = values.model
    forecast = values.forecast
    outcome = "one of " + ", ".join(model.schema_.classes[:8])
    if len(model.schema_.classes) > 8:
        outcome += f" and {len(model.schema_.classes) - 8} more"
    if model.schema_.numeric:
        outcome = "a number" if model.schema_.outputs == 1 else f"{model.schema_.outputs} numbers"
    items = [
        f"What happens next? The outcome of every agent at {forecast.target} ({outcome}), "
        f"{forecast.horizon} step{'s' * (forecast.horizon != 1)} after {forecast.origin}.",
        "How sure is that, and why not more?",
        "Who influences whom?",
    ]
    items += [_question(title) for title, _ in values.interventions]
    return Section("asked", "What was asked", (Bullets(tuple(items)),))


def _question(title: str) -> str:
    text = title.rstrip("?")
    if not text.lower().startswith("what if"):
        text = f"What if: {text}"
    return f"{text[:1].upper()}{text[1:]}?"


def the_data(values: ReportValues) -> Section:
    """Sizes, outcomes over time, and what looks suspicious."""
    summary = values.summary
    rows = [
        ("agents", f"{summary.agents:,}"),
        ("times", f"{summary.times:,} ({summary.first_time} to {summary.last_time})"),
        ("groups", f"{summary.groups:,}, with {summary.size_min} to {summary.size_max} members"),
        ("memberships", f"{summary.memberships:,}"),
        ("features", f"{summary.features:,}, {summary.missing_share:.0%} of the cells missing"),
        ("outcome", f"{summary.outcome}, observed for {summary.outcome_share:.0%} of agents and times"),
        ("agents never seen", f"{summary.absent_agents:,}"),
        ("agents never in a group", f"{summary.isolated_agents:,}"),
    ]
    table = Table("Sizes", pl.DataFrame(rows, schema=["what", "how many"], orient="row"))
    blocks: list[Block] = [table]
    figure = outcome_figure(align(values.data, values.model.schema_))
    if figure is not None:
        blocks.append(figure)
    found = suspicions(values.data)
    if found:
        blocks.append("Worth a look before trusting anything below:")
        blocks.append(Bullets(tuple(sentence(one) for one in found)))
    else:
        blocks.append("No gaps in time, codes for missing values, wild values, constant or duplicated columns found.")
    return Section("data", "The data", tuple(blocks))


def outcome_figure(data: TemporalHypergraph) -> Figure | None:
    """Class shares, or mean and deviation of a number, at every time; None without outcomes.

    Args:
        data: with outcomes.
    """
    if data.y is None:
        return None
    times = [str(time) for time in data.times]
    if data.class_names:
        indicator = torch.nn.functional.one_hot(data.y, data.num_classes).double() * data.y_mask.unsqueeze(-1)
        total = indicator.sum(1)
        shares = (total / total.sum(1, keepdim=True).clamp(min=1.0)).numpy()
        observed = [t for t, row in enumerate(shares) if row.sum() > 0]
        first = shares[observed[0]] if observed else shares[0]
        last = shares[observed[-1]] if observed else shares[-1]
        most = int(np.abs(last - first).argmax())
        description = (
            f"The share that changes most is that of {data.class_names[most]}: {first[most]:.0%} at first, "
            f"{last[most]:.0%} at last."
        )
        return stacked_shares("Outcomes over time", description, times, data.class_names, shares)
    middle = []
    spread = []
    for t in range(data.num_times):
        known = data.y[t, :, 0][data.y_mask[t]].double()
        middle.append(float(known.mean()) if len(known) else float("nan"))
        spread.append(float(known.std(correction=0)) if len(known) else float("nan"))
    low = [m - s for m, s in zip(middle, spread, strict=True)]
    high = [m + s for m, s in zip(middle, spread, strict=True)]
    name = data.outcome_names[0] if data.outcome_names else "outcome"
    description = f"Line: mean of {name}, from {display(middle[0])} to {display(middle[-1])}. Band: one deviation."
    return band_chart("Outcomes over time", description, times, middle, low, high, axis=name)


def forecast_quality(values: ReportValues) -> Section:
    """What the fit is worth, and scores on held-out outcomes."""
    blocks: list[Block] = []
    worth = fit_worth(values.model)
    if len(worth):
        blocks.append(worth)
        blocks.append(_gain_figure(worth))
    if values.quality is None or values.held_out is None:
        blocks.append(
            "No outcomes later than the training data were given, and the fit was not repeated without its last times, "
            "so that accuracy and calibration are not stated. Give later outcomes to see them."
        )
    else:
        blocks.append(values.quality)
        figure = reliability_figure(values.held_out)
        if figure is not None:
            blocks.append(figure)
    return Section("quality", "Forecast quality", tuple(blocks))


def _gain_figure(worth: Table) -> Figure:
    rows = [row for row in worth.frame.rows(named=True) if row["gain"] is not None]
    clear = [row["model"] for row in rows if row["low"] > 0]
    description = f"Clear of 0: {', '.join(clear)}." if clear else "No gain is clear of 0."
    return interval_plot(
        "What each model adds",
        f"Gain in held-out log-likelihood over the model before, two errors to both sides. {description}",
        [row["model"] for row in rows],
        [row["gain"] for row in rows],
        [row["low"] for row in rows],
        [row["high"] for row in rows],
        axis="nats per outcome",
        reference=0.0,
    )


def uncertainty(values: ReportValues) -> Section:
    """The parts of uncertainty over agents, and the forecast in full."""
    forecast = values.forecast
    epistemic = forecast.epistemic_scaled.double()
    aleatoric, total = (one.double() for one in shown_uncertainty(forecast))
    meaning = "estimates the squared error of the forecast"
    if forecast.numeric:
        meaning = f"is the spread of the forecast. {DEVIATIONS.rstrip('.')}"
    texts = (
        "Epistemic: what is not known of an agent's state, from 0 (known) to 1 (nothing known). More observations of "
        "the agent lower it. Aleatoric: what would be left if states and parameters were known; nothing lowers it. "
        f"Total joins both, and {meaning}."
    )
    blocks: list[Block] = [texts]
    rows = []
    for name, part in (("epistemic", epistemic), ("aleatoric", aleatoric), ("total", total)):
        quantiles = np.quantile(part.numpy(), [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
        rows.append((name, *quantiles))
    columns = ["part", "5 %", "25 %", "median", "75 %", "95 %"]
    blocks.append(Table("Uncertainty over agents", pl.DataFrame(rows, schema=columns, orient="row")))
    blocks.append(
        scatter(
            "Both parts, agent by agent",
            "One point per agent; to the right those of whom little is known, above those whose outcome is noise.",
            epistemic.tolist(),
            aleatoric.tolist(),
            axis_across="epistemic",
            axis_upward="aleatoric",
        )
    )
    quantile = float(np.quantile(total.numpy(), 0.9))
    blocks.append(
        histogram(
            "Total uncertainty",
            f"Number of agents. Half of them have at most {display(float(total.median()))}, nine of ten at most "
            f"{display(quantile)}.",
            total.tolist(),
            axis="total",
        )
    )
    blocks.append(forecast_table(forecast))
    return Section("uncertainty", "How sure, and why not more", tuple(blocks))


def forecast_table(forecast: Forecast) -> Table:
    """The forecast of every agent, with 90 % sets or intervals where these can be made.

    Args:
        forecast: of all agents.
    """
    frame = forecast.to_frame()
    note = "All agents; the order is that of the data."
    if forecast.numeric:
        aleatoric, total = (pl.Series(one.tolist()) for one in shown_uncertainty(forecast))
        frame = frame.with_columns(aleatoric.alias("aleatoric"), total.alias("total"))
        note += f" {DEVIATIONS}"
    if len(forecast.scores):
        sets = forecast.prediction_set(COVERAGE)
        if forecast.numeric:
            ends = [f"{display(low)} to {display(high)}" for low, high in sets[:, 0].tolist()]
            frame = frame.with_columns(pl.Series("interval 90 %", ends))
        else:
            named = [
                ", ".join(name for name, inside in zip(forecast.class_names, row, strict=True) if inside)
                for row in sets.tolist()
            ]
            frame = frame.with_columns(pl.Series("set 90 %", named))
        note += f" Sets and intervals hold 90 % of outcomes; {forecast.caveat.rstrip('.')}."
    return Table(f"Forecast for {forecast.target}", frame, note)


def agents(values: ReportValues) -> Section:
    """Agents to look at first."""
    table = agents_to_look_at(values.model, values.data, values.forecast)
    return Section("agents", "Agents to look at first", (table,))


def influence(values: ReportValues) -> Section:
    """The graph, what its links mean, attempts to refute it, and change over time."""
    graph = found_graph(values.model)
    if graph is None:
        table = influence_table(values.model, values.data)
        return Section("influence", "Who influences whom", (sentence(table.note),))
    blocks: list[Block] = [sentence(graph.verdict)]
    if graph.notes:
        blocks.append(Bullets(tuple(sentence(note) for note in graph.notes)))
    blocks.append(graph.assumptions)
    top = graph.top(DRAWN_LINKS)
    if len(top):
        blocks.append(link_figure(top))
    blocks.append(influence_table(values.model, values.data))
    blocks.append(refutation_table(graph))
    change = change_over_time(values.model, values.data)
    blocks.append(change if len(change) else change.note)
    shown = graph.is_informative()
    frame = graph.to_frame().head(int(shown.sum()))
    if len(frame):
        note = "Every candidate whose probability is above its prior by 0.05."
        blocks.append(Table("All links that stand out", frame, note))
    return Section("influence", "Who influences whom", tuple(blocks))


def link_figure(top: pl.DataFrame) -> Figure:
    """The most probable links as a drawing, as many as can be told apart.

    Args:
        top: source, target, probability and strength, the most probable first.
    """
    names: dict[Any, int] = {}
    links = []
    for row in top.rows(named=True):
        new = {row["source"], row["target"]} - set(names)
        if len(names) + len(new) > MOST_NODES:
            continue
        for agent in (row["source"], row["target"]):
            names.setdefault(agent, len(names))
        links.append((names[row["source"]], names[row["target"]], row["probability"], row["strength"]))
    description = (
        f"The {len(links)} most probable links, between {len(names)} agents; probabilities from "
        f"{links[-1][2]:.2f} to {links[0][2]:.2f}. The table below names them."
    )
    return network_plot("The clearest links", description, [str(name) for name in names], links)


def interventions(values: ReportValues) -> Section:
    """What each intervention does to others."""
    blocks: list[Block] = []
    for title, effect in values.interventions:
        plan = " and ".join(map(str, effect.plan)) or "no intervention"
        kind = "Counterfactual" if effect.coupling else "Intervention"
        text = f"{kind} {title!r}: {plan}. From {effect.origin} to {effect.times[-1]}."
        blocks.append(f"{text} {sentence(effect.message)}" if effect.message else text)
        if not bool((~effect.intervened).any()):
            continue
        top = effect.top_affected(MOST_AFFECTED)
        top = top.filter(pl.col("effect") > SMALLEST_EFFECT)
        others = effect.size[~effect.intervened]
        number = int((others > SMALLEST_EFFECT).sum())
        blocks.append(f"It changes the forecast of {number:,} of {len(others):,} other agents.")
        unit = "root mean square change" if effect.numeric else "total variation"
        note = (
            f"Effect: {unit}. From and to: the outcome that changes most, without and with. Low and high hold 90 % of "
            "the difference, links, coefficients, states and noise included; error is that of simulating a finite "
            "number of samples."
        )
        if len(top):
            blocks.append(effect_figure(title, top))
            blocks.append(Table(f"Most affected: {title}", top, note))
        blocks.append(Download(Table(f"All agents and steps: {title}", effect.to_frame())))
    return Section("interventions", "What if", tuple(blocks))


def effect_figure(title: str, top: pl.DataFrame) -> Figure:
    """Differences of the most affected agents with their intervals.

    Args:
        title: of the intervention.
        top: of :meth:`~sphunc.Effect.top_affected`.
    """
    rows = top.rows(named=True)
    labels = [f"{row['agent']}: {row['most_changed']}" if "most_changed" in row else str(row["agent"]) for row in rows]
    clear = sum(row["low"] > 0 or row["high"] < 0 for row in rows)
    description = (
        f"Change of the outcome that changes most, with 90 % intervals; {clear} of {len(rows)} are clear of 0."
    )
    return interval_plot(
        f"Effect on others: {title}",
        description,
        labels,
        [row["to"] - row["from"] for row in rows],
        [row["low"] for row in rows],
        [row["high"] for row in rows],
        axis="difference to the forecast",
        reference=0.0,
    )


def the_model(values: ReportValues) -> Section:
    """Parameters, goodness of fit, convergence."""
    blocks: list[Block] = [convergence(values.model)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = goodness_of_fit(values.model, values.data)
        blocks += [found.to_figure(), found.to_table()]
    except DataError as error:
        blocks.append(f"Goodness of fit was not simulated: {error}.")
    if default_model(values.model) is not None:
        blocks += [block_table(values.model), parameter_table(values.model, values.data)]
    return Section("model", "The model: does it fit, and what did it learn", tuple(blocks))


def limits(values: ReportValues) -> Section:
    """Assumptions and limits in plain words."""
    forecast = values.forecast
    items = [
        "Forecasts assume that the next step resembles the past: a rule, a season or a shock that was never observed "
        "is not in them.",
        f"Prediction sets: {forecast.caveat.rstrip('.')}.",
        "Epistemic uncertainty can be compared between agents of this model, not between models.",
        "Links are found from who changes after whom. A hidden cause that varies in time and drives both can pass for "
        "influence, and what acts within one time step is not seen.",
        "Agents who like each other and meet may become alike without any influence. Levels that stay are accounted "
        "for, preferences that change are not.",
        "What-if answers hold if the links are causal and nothing else changes in response.",
        "Where links or states add nothing to held-out forecasts, they are left out of the forecast, and effects act "
        "through outcomes and groups alone.",
        "Not being found is not being absent: short panels show strong links only.",
    ]
    return Section("limits", "Assumptions and limits", (Bullets(tuple(items)),))


def how_made(values: ReportValues) -> Section:
    """Versions, seeds, settings, and what the caller says about the run."""
    model = values.model
    rows = [(str(name), _plain(value)) for name, value in values.run_info.items()]
    rows.append(("model", repr(model)))
    rows.append(("seed", str(model.seed)))
    rows += [(f"setting {name}", str(value)) for name, value in model.config_.model_dump().items()]
    rows.append(("fingerprint of data and settings", model.fingerprint_))
    rows += [(f"version of {name}", _version(name)) for name in PACKAGES]
    rows.append(("version of Python", platform.python_version()))
    rows.append(("machine", f"{platform.system()} {platform.machine()}, {model.device}"))
    table = Table("Record of the run", pl.DataFrame(rows, schema=["what", "value"], orient="row"))
    text = "The same data, settings and seed give the same numbers on the same machine."
    return Section("made", "How this was made", (text, table))


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_plain(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return str(value)


def _version(name: str) -> str:
    if name == "sphunc":
        import sphunc

        return sphunc.__version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
