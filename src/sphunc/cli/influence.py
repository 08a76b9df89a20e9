"""``sphunc influence``: who influences whom, and whether it is to be trusted."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.cli.output import Form, notes, print_csv, print_json, print_table, print_text
from sphunc.errors import ArgumentError
from sphunc.runs import Run


def run(folder: Path, *, form: Form, rows: int, by_agent: bool) -> None:
    """Print the links of a run; all candidates in JSON and CSV.

    Args:
        folder: of the run.
        form: in which to print.
        rows: most that are shown to a person.
        by_agent: a row per agent in place of a row per link.
    """
    with notes():
        opened = Run.open(folder)
        try:
            graph = opened.model.influence()
        except ArgumentError as error:
            _print_none(str(error), form)
            return
    frame = graph.agents_to_frame() if by_agent else graph.to_frame()
    if form is Form.CSV:
        print_csv(frame)
        return
    if form is Form.JSON:
        name = "agents" if by_agent else "links"
        print_json(
            {
                "verdict": graph.verdict,
                "confidence": graph.confidence,
                "assumptions": graph.assumptions,
                "notes": graph.notes,
                name: frame,
            }
        )
        return
    print_text(f"Verdict: {graph.verdict}")
    if by_agent:
        print_table(frame, title="Agents: possible sources, and how far the data tell which of them act", rows=rows)
    else:
        shown = graph.top(max(rows, 1))
        if shown.height:
            print_table(shown, title="Links about which the data say more than was assumed, the most probable first")
        else:
            print_text(f"None of {frame.height:,} possible links is more probable than it was assumed to be.")
    for note in graph.notes:
        print_text(f"Note: {note}")
    print_text(f"Assumed: {graph.assumptions}")


def _print_none(reason: str, form: Form) -> None:
    """Print that there is nothing to see, and why: an answer, not a fault."""
    if form is Form.JSON:
        print_json({"verdict": reason, "links": []})
    elif form is Form.CSV:
        print_csv(pl.DataFrame(schema=["source", "target", "probability", "strength", "lag"]))
    else:
        print_text(f"Verdict: {reason}.")
