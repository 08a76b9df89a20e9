"""How the demonstration is shown: one function per table, and plain paragraphs between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sphunc._typing import Float, Tensor
from sphunc.discovery import InfluenceGraph
from sphunc.forecasting import Forecast
from sphunc.interventions import Effect

Score = tuple[str, float, float]


def heading(console: Console, text: str) -> None:
    """Begin a section.

    Args:
        console: where to print.
        text: what to print.
    """
    console.print()
    console.rule(text, align="left", style="dim")


def paragraph(console: Console, text: str) -> None:
    """Print words as they are.

    Args:
        console: where to print.
        text: what to print.
    """
    console.print(text, highlight=False, markup=False)


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return an empty table: columns of words on the left, of numbers on the right.

    Args:
        title: of the table.
        words: titles of columns of words.
        numbers: titles of columns of numbers.
    """
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    for name in words:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def forecast_table(forecast: Forecast, rows: Iterable[int], happened: Sequence[str]) -> Table:
    """Forecasts of some agents, with their decomposition and what really happened.

    Args:
        forecast: of all agents.
        rows: to show.
        happened: name of the class that occurred, per agent.
    """
    title = f"{len(forecast.agents)} agents, from time {forecast.origin} to {forecast.target}: surest and least sure"
    numbers = ("p", "epistemic", "scaled", "aleatoric", "total")
    table = plain_table(title, ("agent", "forecast", "happened"), numbers)
    table.add_column("set", min_width=8)
    names = forecast.class_names
    for i in rows:
        parts = forecast.epistemic_scaled[i], forecast.aleatoric[i], forecast.total[i]
        chosen = []
        if forecast.set is not None:
            chosen = [names[c] for c in forecast.set[i].nonzero().flatten().tolist()]
        table.add_row(
            str(forecast.agents[i]),
            names[int(forecast.prediction[i])],
            happened[i],
            f"{float(forecast.confidence[i]):.2f}",
            f"{float(forecast.epistemic[i]):z.1f}",
            *(f"{float(part):z.2f}" for part in parts),
            ", ".join(chosen),
        )
    return table


def score_table(rows: Iterable[Score], count: int) -> Table:
    """Accuracy and NLL of several systems on the same outcomes.

    Args:
        rows: to show.
        count: of outcomes.
    """
    table = plain_table(f"{count} outcomes that no model has seen", ("system",), ("accuracy", "NLL (nats)"))
    for name, right, nll in rows:
        table.add_row(name, f"{right:.3f}", f"{nll:.3f}")
    return table


def comparison_table(comparison: pl.DataFrame) -> Table:
    """Nested models on held-out outcomes, each with what it gains over the one before it."""
    table = plain_table("Held-out outcomes of the past", ("model",), ("NLL (nats)", "gain", "error"))
    for row, (model, nll, gain, error) in enumerate(comparison.select("model", "nll", "gain", "error").iter_rows()):
        change = ("", "")
        if row > 0:
            change = (f"{gain:+z.3f}", f"{error:.3f}")
        table.add_row(model, f"{nll:.3f}", *change)
    return table


def links_table(graph: InfluenceGraph, truth: set[tuple[Hashable, Hashable]]) -> Table:
    """The ten most probable links, and whether they are true; links about which the data say nothing are left out.

    Args:
        graph: links that the model found.
        truth: what only a simulation knows.
    """
    title = f"The most probable of {graph.links.shape[1]:,} candidate links"
    table = plain_table(title, ("source", "target"), ("probability", "strength", "lag", "true link"))
    columns = ("source", "target", "probability", "strength", "lag")
    for source, target, probability, strength, lag in graph.top(10).select(columns).iter_rows():
        known = "yes" if (source, target) in truth else "no"
        table.add_row(str(source), str(target), f"{probability:.3f}", f"{strength:+.2f}", str(lag), known)
    return table


def affected_table(effect: Effect, truth: Float[Tensor, " agent"]) -> Table:
    """The agents that an intervention moves most, beside how much it really moves them.

    Args:
        effect: of an intervention.
        truth: what only a simulation knows.
    """
    numbers = ("from", "to", "low", "high", "effect", "true effect")
    table = plain_table("Moved most", ("agent", "class"), numbers)
    for row in effect.top_affected(5).iter_rows(named=True):
        shown = [f"{row[name]:z.3f}" for name in ("from", "to", "low", "high", "effect")]
        true = float(truth[effect.agents.index(row["agent"])])
        table.add_row(str(row["agent"]), row["most_changed"], *shown, f"{true:.3f}")
    return table


def parts_table(effect: Effect) -> Table:
    """Entropy of outcomes after an intervention, with its two parts: of the agents moved most, and on average."""
    table = plain_table("H_causal (nats)", ("agent",), ("entropy", "within", "identification", "error"))
    for name in effect.top_affected(3)["agent"]:
        table.add_row(str(name), *_parts(effect, effect.agents.index(name)))
    table.add_row(f"mean of {len(effect.agents)}", *_parts(effect, None))
    return table


def _parts(effect: Effect, agent: int | None) -> list[str]:
    columns: tuple[Any, ...] = (effect.entropy, effect.within, effect.identification, effect.standard_error)
    if agent is None:
        return [*(f"{float(column.mean()):z.3f}" for column in columns[:3]), ""]
    return [f"{float(column[agent]):z.3f}" for column in columns]


def sphere_table(rows: Iterable[Sequence[float]], dim: int, samples: int) -> Table:
    """Concentration, exact entropy, exact mean resultant length and that of samples.

    Args:
        rows: to show.
        dim: of the sphere.
        samples: drawn per concentration.
    """
    numbers = ("kappa", "entropy (nats)", "mean resultant length", f"from {samples:,} samples")
    table = plain_table(f"Exact, in dimension {dim}", (), numbers)
    for kappa, entropy, exact, empirical in rows:
        table.add_row(f"{kappa:g}", f"{entropy:z.3f}", f"{exact:.5f}", f"{empirical:.5f}")
    return table
