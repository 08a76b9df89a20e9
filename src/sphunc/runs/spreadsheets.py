"""CSV files that spreadsheets open without running what stands in them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.io import replacing

FORMULA = r"^[=+\-@\t\r]"
"""How a cell begins that a spreadsheet would run."""


def flat_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose lists are texts, joined by a bar, as CSV holds them."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    return frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" | ") for name in lists)


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text cells that begin with =, +, -, @, a tab or a carriage return.

    Args:
        frame: numbers in it stay as they are.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    escaped = [
        pl.when(pl.col(name).str.contains(FORMULA)).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in texts
    ]
    renamed = {name: f"'{name}" for name in frame.columns if name[:1] in "=+-@\t\r" and name}
    return frame.with_columns(escaped).rename(renamed)


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """Write a table for people and spreadsheets, whole or not at all.

    Args:
        frame: the table.
        path: the file; replaced if it exists.
    """
    with replacing(path) as temporary:
        escape_formulas(flat_frame(frame)).write_csv(temporary)
