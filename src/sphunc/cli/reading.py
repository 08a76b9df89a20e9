"""Data from what a command names: a folder of tables, one table, a workbook, or a HIF file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphunc.hypergraph import TemporalHypergraph
from sphunc.io import SUFFIXES, read_hif, read_tables
from sphunc.runs import Run, continue_data

CODE = re.compile(r"^(feature|outcome) .* is (\S+) in [\d,]+ cells? .* stands for a missing value")


def read_data(path: Path, layout: Mapping[str, Any]) -> TemporalHypergraph:
    """Read tables or a HIF file.

    Args:
        path: folder or file.
        layout: arguments of the reader of tables.
    """
    if path.is_file() and path.suffix.lower() not in SUFFIXES:
        return read_hif(path)
    return read_tables(path, **layout)


def data_for(run: Run, tables: Path | None, *, all_data: bool = False) -> tuple[TemporalHypergraph, str]:
    """Return the data that a run is asked about, and a sentence about it.

    Args:
        run: with the data that it learned from.
        tables: new ones, which may hold only what is new; None takes those of the run.
        all_data: of the run also what is later than its fit.
    """
    if tables is None:
        return (run.all_data if all_data else run.data), ""
    if tables.is_file() and tables.suffix.lower() not in SUFFIXES:
        return continue_data(run.data, read_hif(tables))
    own = dict(run.layout)
    own.pop("table", None)
    if tables.is_dir() and (name := run.layout.get("table")) and (tables / name).is_file():
        own["table"] = name
    return continue_data(run.data, read_tables(tables, **own, like=run.data))


def with_flag(sentence: str) -> str:
    """Add the flag to a warning of a code for missing values that takes it as one."""
    found = CODE.match(sentence)
    if found is None:
        return sentence
    return f"{sentence}, or pass --missing {found[2]}"
