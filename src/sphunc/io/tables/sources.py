"""From files and dataframes of any library to tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from sphunc.io.faults import Fault, FaultLog
from sphunc.io.tables.csv_files import POLARS_ERRORS, first_line, read_csv
from sphunc.io.tables.roles import find_roles
from sphunc.io.tables.table import Table

FrameLike = Any
"""A polars, pandas or pyarrow table, any Arrow stream, or a mapping from column name to values."""


def read_table(kind: str, path: Path, delimiter: str | None, log: FaultLog) -> Table | None:
    """Read a CSV, TSV or Parquet file; None if it is faulty.

    Args:
        kind: which table it is: features, groups, outcomes or influence.
        path: the file.
        delimiter: of CSV files; None is a comma, or a tab in ``.tsv``.
        log: takes the faults.
    """
    suffix = path.suffix.lower()
    if suffix != ".parquet":
        usual = {".tsv": "\t"}.get(suffix, ",")
        return read_csv(kind, path, delimiter or usual, log)
    try:
        frame = pl.read_parquet(path, glob=False, low_memory=True)
    except POLARS_ERRORS as error:
        problem = f"this is not a readable Parquet file ({first_line(error)})"
        remedy = "It may be truncated or still being written: write or copy it again"
        log.add(Fault(path.name, problem, remedy))
        return None
    return _typed_table(kind, path.name, frame, log)


def table_from_frame(kind: str, source: FrameLike, log: FaultLog) -> Table | None:
    """Take a dataframe as a table; None if it is faulty.

    Args:
        kind: which table it is: features, groups, outcomes or influence.
        source: the dataframe.
        log: takes the faults.
    """
    try:
        frame = _to_polars(source)
    except Exception as error:  # foreign converters raise what they like
        problem = f"this {type(source).__name__} cannot be read as a table ({first_line(error)})"
        remedy = "Give a polars, pandas or pyarrow table, or a mapping from column name to values"
        log.add(Fault(kind, problem, remedy))
        return None
    return _typed_table(kind, kind, frame, log)


def _typed_table(kind: str, file: str, frame: pl.DataFrame, log: FaultLog) -> Table | None:
    roles = find_roles(kind, file, frame.columns, log)
    if roles is None:
        return None
    return Table(file, frame, roles, log)


def _to_polars(source: FrameLike) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame) or not hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
    else:
        frame = pl.from_arrow(source)
    if isinstance(frame, pl.Series):  # a stream of records is one series of structs
        frame = frame.struct.unnest()
    return frame.select([name for name in frame.columns if not name.startswith("__index_level_")])
