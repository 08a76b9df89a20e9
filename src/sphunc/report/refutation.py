"""The refutation table: what was tried to prove the influence graph wrong, and how to read each attempt."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from sphunc.discovery import InfluenceGraph
from sphunc.report.checks import check_graph
from sphunc.report.table import Table

CHECKS = {
    "placebo_links": (
        "placebo",
        "Links found when every source is replaced by an agent that cannot influence the target, or read at wrong "
        "times. Should be near 0; as many as the links found means that these are noise.",
    ),
    "reversed_links": (
        "reversed time",
        "Links found with time running backwards. Clearly fewer than forwards if influence has a direction; as many "
        "or more means shared causes.",
    ),
    "fixed_effects_links": (
        "fixed effects",
        "Links left when every agent's own level is taken out. Much fewer means that levels, not changes, were linked.",
    ),
    "screened_out_share": (
        "screened out",
        "Share of candidate links that were left out before any was judged. A link there cannot be found.",
    ),
    "detectable": (
        "detectable size",
        "Smallest coefficient, in units of the standardised states, that these rows can show. Weaker links may exist.",
    ),
    "calibration_slope": (
        "calibration by simulation",
        "Slope of true on stated link probabilities in data simulated from the fit. Near 1 is calibrated; below 1 "
        "means overconfident.",
    ),
    "calibration_error": (
        "calibration by simulation",
        "Gap between stated probabilities and shares of true links in data simulated from the fit. Near 0 is good.",
    ),
}
"""Names and readings of the checks; one that is not listed is shown under its own name."""
EXPECTED = ("placebo_links", "reversed_links")
LINK_COUNT = 0.5
"""Links above this probability count as found."""


def refutation_table(graph: InfluenceGraph) -> Table:
    """Checks of an influence graph with a column that says how to read each; those that were not run are named.

    Args:
        graph: of :meth:`sphunc.SphUnc.influence` or :func:`sphunc.discover`.
    """
    check_graph(graph)
    is_found = graph.probability > LINK_COUNT
    expected = float(graph.probability[is_found].sum())
    rows = [
        _row(
            "links found",
            float(is_found.sum()),
            f"Links above probability {LINK_COUNT}. The probabilities say that {expected:.0f} of them are true.",
        ),
        _row(
            "calibrated by decoys",
            1.0 if graph.calibrated else 0.0,
            "1 if probabilities were lowered to what sources that cannot influence the target leave of them (agents "
            "never met, co-members in reversed time). 0 means that they are as the model alone has them.",
        ),
        _row(
            "identification confidence",
            graph.confidence,
            "Share of the prior uncertainty about who influences whom that the data removed: 0 nothing, 1 all.",
        ),
    ]
    rows += [_check(name, value) for name, value in _numbers(graph.diagnostics).items()]
    missing = [name for name in EXPECTED if name not in graph.diagnostics]
    for name in missing:
        title, reading = CHECKS[name]
        rows.append(_row(title, None, f"Not run. {reading}"))
    note = f"{graph.verdict[:1].upper()}{graph.verdict[1:]}."
    for sentence in graph.notes:
        note += f" {sentence[:1].upper()}{sentence[1:].rstrip('.')}."
    schema = {"check": pl.String, "value": pl.Float64, "how_to_read_it": pl.String}
    return Table("Attempts to refute the links", pl.DataFrame(rows, schema=schema), note)


def _row(check: str, value: float | None, reading: str) -> dict[str, str | float | None]:
    return {"check": check, "value": value, "how_to_read_it": reading}


def _numbers(values: Mapping[str, float | int]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if isinstance(value, float | int)}


def _check(name: str, value: float) -> dict[str, str | float | None]:
    title, reading = CHECKS.get(name, (name.replace("_", " "), ""))
    return _row(title, None if math.isnan(value) else value, reading)
