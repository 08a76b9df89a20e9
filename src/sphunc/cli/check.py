"""``sphunc check``: what is in a folder of tables or a HIF file and looks odd, or everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sphunc.cli.output import notes
from sphunc.cli.reading import read_data, with_flag
from sphunc.hypergraph import summarise, suspicions
from sphunc.io import FaultyDataError


def run(path: Path, *, as_json: bool, options: Mapping[str, Any]) -> None:
    """Print the summary of ``path`` with warnings of what looks like a mistake, or all its faults with exit code 2.

    Args:
        path: folder of tables, one table, workbook, or HIF file.
        as_json: print one JSON object instead of text; warnings are a list of sentences in it.
        options: of the reader of tables.
    """
    try:
        with notes() as said:
            data = read_data(path, options)
    except FaultyDataError as error:
        if not as_json:
            raise
        faults = [asdict(fault) for fault in error.faults]
        typer.echo(json.dumps({"ok": False, "total": error.total, "faults": faults}, default=str))
        raise typer.Exit(2) from error
    summary = summarise(data)
    warnings = [with_flag(sentence) for sentence in suspicions(data)]
    if data.y is None:
        warnings.append("there are no outcomes, which a fit needs: add outcomes, or name their column (--outcome)")
    if data.num_hyperedges == 0:
        warnings.append("there are no groups: nobody meets, so that nobody can influence anybody (--group COLUMN)")
    if as_json:
        typer.echo(json.dumps({"ok": True, **summary.to_dict(), "notes": said, "warnings": warnings}))
        return
    typer.echo(str(summary))
    for sentence in warnings:
        typer.echo(f"warning: {sentence}")
