"""From files and dataframes of any library to tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sphunc.io.faults import Fault, FaultLog
from sphunc.io.tables.csv_files import POLARS_ERRORS, first_line, read_csv
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.roles import find_roles
from sphunc.io.tables.table import Table
from sphunc.io.tables.tidy import tidy
from sphunc.io.tables.workbooks import WORKBOOK, read_sheet

FrameLike = Any
"""A polars, pandas or pyarrow table, any Arrow stream, or a mapping from column name to values."""


def read_table(
    kind: str,
    path: Path,
    layout: Layout,
    log: FaultLog,
    *,
    classes: Sequence[str] = (),
    sheet: str | None = None,
) -> Table | None:
    """Read a CSV, TSV or Parquet file or a sheet of a workbook; None if it is faulty.

    Args:
        kind: which table it is: features, groups, outcomes, influence, or table.
        path: the file.
        layout: what the user said of it.
        log: takes the faults.
        classes: names of classes that are known.
        sheet: of a workbook; None takes the first one.
    """
    suffix = path.suffix.lower()
    if suffix == WORKBOOK:
        return _sheet_table(kind, path, sheet, layout, log, classes)
    if suffix != ".parquet":
        found = read_csv(kind, path, layout, log)
        if found is None:
            return None
        table, delimiter = found
        return tidy(table, replace(layout, delimiter=delimiter), classes)
    try:
        frame = pl.read_parquet(path, glob=False, low_memory=True)
    except POLARS_ERRORS as error:
        problem = f"this is not a readable Parquet file ({first_line(error)})"
        remedy = "It may be truncated or still being written: write or copy it again"
        log.add(Fault(path.name, problem, remedy))
        return None
    return _typed_table(kind, path.name, frame, layout, log, classes)


def table_from_frame(
    kind: str, source: FrameLike, log: FaultLog, layout: Layout | None = None, classes: Sequence[str] = ()
) -> Table | None:
    """Take a dataframe as a table; None if it is faulty.

    Args:
        kind: which table it is: features, groups, outcomes, influence, or table.
        source: the dataframe.
        log: takes the faults.
        layout: what the user said of it.
        classes: names of classes that are known.
    """
    try:
        frame = _to_polars(source)
    except Exception as error:  # foreign converters raise what they like
        problem = f"this {type(source).__name__} cannot be read as a table ({first_line(error)})"
        remedy = "Give a polars, pandas or pyarrow table, or a mapping from column name to values"
        log.add(Fault(kind, problem, remedy))
        return None
    return _typed_table(kind, kind, frame, layout or Layout(), log, classes)


def _typed_table(
    kind: str, file: str, frame: pl.DataFrame, layout: Layout, log: FaultLog, classes: Sequence[str]
) -> Table | None:
    roles = find_roles(kind, file, frame.columns, log, layout)
    if roles is None:
        return None
    return tidy(Table(file, frame, roles, log, kind=kind), layout, classes)


def _sheet_table(
    kind: str, path: Path, sheet: str | None, layout: Layout, log: FaultLog, classes: Sequence[str]
) -> Table | None:
    found = read_sheet(path, sheet, log)
    if found is None:
        return None
    frame, lines = found
    roles = find_roles(kind, path.name, frame.columns, log, layout)
    if roles is None:
        return None
    file = path.name
    if sheet is not None:
        file = f"{path.name}, sheet {sheet}"
    table = Table(file, frame, roles, log, typed=False, first_row=2, lines=lines, kind=kind)
    return tidy(table, layout, classes)


def _to_polars(source: FrameLike) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if type(source).__module__.partition(".")[0] == "pandas":
        frame = _from_pandas(source)
    elif isinstance(source, pl.DataFrame) or not hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
    else:
        frame = pl.from_arrow(source)
    if isinstance(frame, pl.Series):  # a stream of records is one series of structs
        frame = frame.struct.unnest()
    return frame.select([name for name in frame.columns if not name.startswith("__index_level_")])


def _from_pandas(source: FrameLike) -> pl.DataFrame:
    """Take a pandas frame, by its columns where pyarrow is not installed."""
    try:
        frame = pl.from_arrow(source)
    except ImportError:
        frame = None
    if isinstance(frame, pl.Series):
        return frame.struct.unnest()
    if frame is not None:
        return frame
    columns = []
    for name in source.columns:
        cells = source[name].astype(object)
        listed = [_plain_cell(cell) for cell in cells.where(source[name].notna(), None).tolist()]
        columns.append(pl.Series(str(name), listed, strict=False))
    return pl.DataFrame(columns)


def _plain_cell(cell: Any) -> Any:
    """Return timestamps of pandas as Python's, anything else as it is."""
    if hasattr(cell, "to_pydatetime"):
        return cell.to_pydatetime()
    return cell
