"""What commands print: tables for people, JSON for programs, CSV for spreadsheets; notes on standard error."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, TextIO

import polars as pl
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sphunc.errors import ArgumentError
from sphunc.runs import escape_formulas, flat_frame

DIGITS = 3
NARROWEST = 100
SPOKEN = (
    (r", or a position from 0 to \d+ to until_index\(i\)", ""),
    (r": give this label, or until_index\(\d+\) for the position", "; give this label"),
    (r"\(decimal='(.)' changes that\)", r"(--decimal \1 changes that)"),
)
"""What the library says in Python, and what it is on the command line."""
"""Columns of a table where no terminal says how many there are."""


class Form(Enum):
    """In which form a command prints."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


def form_of(as_json: bool, as_csv: bool) -> Form:
    """Return the form that the flags ask for.

    Args:
        as_json: ``--json``.
        as_csv: ``--csv``.
    """
    if as_json and as_csv:
        raise ArgumentError("--json and --csv exclude each other; give one of them")
    if as_json:
        return Form.JSON
    if as_csv:
        return Form.CSV
    return Form.TEXT


def for_command_line(sentence: str) -> str:
    """Return a sentence of the library with flags in place of Python.

    Args:
        sentence: of an error or a warning.
    """
    for pattern, words in SPOKEN:
        sentence = re.sub(pattern, words, sentence)
    return sentence


def say(sentence: str) -> None:
    """Print a sentence for a person, on standard error."""
    typer.echo(sentence, err=True)


@contextmanager
def notes() -> Iterator[list[str]]:
    """Print warnings as ``note:`` lines on standard error, and collect them."""
    said: list[str] = []

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, UserWarning):
            return
        for sentence in str(message).splitlines():
            if sentence not in said:
                said.append(sentence)
                say(f"note: {for_command_line(sentence)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield said


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object; frames are lists of rows, what JSON cannot say (not a number) is null."""
    typer.echo(json.dumps(_plain(document), indent=1, ensure_ascii=False, default=str, allow_nan=False))


def print_csv(frame: pl.DataFrame) -> None:
    """Print a table as CSV, formulas escaped."""
    typer.echo(escape_formulas(flat_frame(frame)).write_csv(), nl=False)


def print_table(frame: pl.DataFrame, *, title: str = "", rows: int | None = None) -> None:
    """Print a table for a person.

    Args:
        frame: the table.
        title: a line above it.
        rows: most that are shown; the rest is counted.
    """
    console = _console()
    if title:
        print_text(f"{title}:")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, dtype in frame.schema.items():
        table.add_column(Text(name), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    shown = flat_frame(frame).head(rows if rows is not None else frame.height)
    for row in shown.iter_rows():
        table.add_row(*(Text(_cell(value)) for value in row))
    console.print(table)
    if rows is not None and frame.height > rows:
        print_text(f"... and {frame.height - rows:,} more rows (--rows {frame.height}, --csv or --json for all)")


def print_text(text: str) -> None:
    """Print a paragraph."""
    _console().print(Text(text), soft_wrap=True)


def is_lively() -> bool:
    """Say whether standard error is a terminal that may be drawn upon."""
    return Console(stderr=True).is_terminal and "NO_COLOR" not in os.environ


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=NARROWEST)
    return console


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        if abs(value) < 1e5:
            return f"{value:.{DIGITS}f}"
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.4g}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, pl.DataFrame):
        return [_plain(row) for row in value.to_dicts()]
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
