"""``sphunc check``: what is in a folder of tables or a HIF file and looks odd, or everything that is wrong with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from sphunc.hypergraph import TemporalHypergraph, summarise, suspicions
from sphunc.io import SUFFIXES, FaultyDataError, read_hif, read_tables


def run(path: Path, *, as_json: bool, options: dict[str, Any]) -> None:
    """Print the summary of ``path`` with warnings of what looks like a mistake, or all its faults with exit code 2.

    Args:
        path: folder of tables, or HIF file.
        as_json: print one JSON object instead of text; warnings are a list of sentences in it.
        options: of the reader of tables.
    """
    try:
        data = _read(path, options)
    except FaultyDataError as error:
        if not as_json:
            raise
        faults = [asdict(fault) for fault in error.faults]
        typer.echo(json.dumps({"ok": False, "total": error.total, "faults": faults}, default=str))
        raise typer.Exit(2) from error
    summary = summarise(data)
    warnings = suspicions(data)
    if as_json:
        typer.echo(json.dumps({"ok": True, **summary.to_dict(), "warnings": warnings}))
        return
    typer.echo(str(summary))
    for sentence in warnings:
        typer.echo(f"warning: {sentence}")


def _read(path: Path, options: dict[str, Any]) -> TemporalHypergraph:
    if path.is_file() and path.suffix.lower() not in SUFFIXES:
        return read_hif(path)
    return read_tables(path, **options)  # which tells that a table alone is not a folder of tables
