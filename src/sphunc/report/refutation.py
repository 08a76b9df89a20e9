"""The refutation table: what was tried to prove the influence graph wrong, and how to read each attempt."""

from __future__ import annotations

import polars as pl

from sphunc.discovery import InfluenceGraph
from sphunc.report.checks import check_graph
from sphunc.report.table import Table

SCHEMA = {"check": pl.String, "value": pl.Float64, "reference": pl.Float64, "how_to_read_it": pl.String}
LINK_COUNT = 0.5
"""Links above this probability count as found."""


def refutation_table(graph: InfluenceGraph) -> Table:
    """Checks of an influence graph with a column that says how to read each.

    Args:
        graph: of :meth:`sphunc.SphUnc.influence` or :func:`sphunc.discover`.
    """
    check_graph(graph)
    is_found = graph.probability > LINK_COUNT
    expected = float(graph.probability[is_found].sum())
    rows: list[tuple[str, float, float | None, str]] = [
        (
            "links found",
            float(is_found.sum()),
            expected,
            f"Links above probability {LINK_COUNT}; the reference says how many of them are expected to be true.",
        ),
        (
            "calibrated by decoys",
            float(graph.calibrated),
            1.0,
            "1 if probabilities were lowered to what sources that cannot influence the target leave of them (agents "
            "never met, co-members in reversed time). 0 means that they are as the model alone has them.",
        ),
        (
            "identification confidence",
            graph.confidence,
            1.0,
            "Share of the prior uncertainty about who influences whom that the data removed: 0 nothing, 1 all.",
        ),
    ]
    rows += [
        (check.name.replace("_", " "), check.value, check.reference, f"{_sentence(check.reading)}.")
        for check in graph.checks
    ]
    note = f"{_sentence(graph.verdict)}."
    if not graph.checks:
        note += " No other check was run; discover(diagnose=True) runs them."
    for sentence in graph.notes:
        note += f" {_sentence(sentence)}."
    return Table("Attempts to refute the links", pl.DataFrame(rows, schema=SCHEMA, orient="row"), note)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}"
