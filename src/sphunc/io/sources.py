"""From files and dataframes to tables: a frame, the parts of its columns, and row numbers as a person sees them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sphunc.io.columns import find_roles
from sphunc.io.faults import SHOWN, Fault, FaultLog, Problem

BLOCK = 1 << 22
OTHER_DELIMITERS = {";": "semicolon", "\t": "tab", "|": "bar", ",": "comma"}


@dataclass(frozen=True)
class Table:
    """A user's table: its name in messages, its frame, which column plays which part, and how rows are counted.

    ``typed`` is False for CSV, where every cell is text until proven otherwise. ``lines`` holds the position of each
    row in the file where that is not simply its number plus ``first_row``.
    """

    file: str
    frame: pl.DataFrame
    roles: Mapping[str, str]
    typed: bool
    first_row: int = 0
    lines: np.ndarray | None = None

    def column(self, role: str) -> pl.Series:
        """Return the column that plays ``role``."""
        return self.frame[self.roles[role]]

    @property
    def values(self) -> list[str]:
        """Columns that play no part: features, or outcomes."""
        return [name for name in self.frame.columns if name not in self.roles.values()]

    def note(
        self, log: FaultLog, bad: np.ndarray | pl.Series, column: str, problem: Problem, remedy: str, **known: Any
    ) -> None:
        """Note a fault for every row where ``bad`` holds."""
        rows = np.flatnonzero(bad.to_numpy() if isinstance(bad, pl.Series) else bad)
        if len(rows) == 0:
            return
        lines = self._lines()
        faults = []
        for row in rows[:SHOWN].tolist():
            value = known["value"] if "value" in known else self.frame[column][row]
            text = problem if isinstance(problem, str) else problem(value)
            faults.append(Fault(self.file, text, remedy, row=int(lines[row]), column=column, value=value))
        log.extend(self.file, faults, len(rows))

    def _lines(self) -> np.ndarray:
        rows = np.arange(self.frame.height) if self.lines is None else self.lines
        if self.typed:
            return rows + self.first_row
        text = [name for name, dtype in self.frame.schema.items() if dtype == pl.String]
        breaks = self.frame.select(pl.sum_horizontal(pl.col(text).str.count_matches("\n", literal=True).fill_null(0)))
        return rows + self.first_row + np.concatenate([[0], breaks.to_series().cum_sum().to_numpy()[:-1]]).astype(int)


def table_from_frame(kind: str, source: Any, log: FaultLog) -> Table | None:
    """Take any dataframe (Arrow stream, mapping of columns, polars lazy or eager) as the table ``kind``."""
    try:
        frame = _to_polars(source)
    except Exception as error:  # foreign converters raise what they like
        remedy = "Give a polars, pandas or pyarrow table, or a mapping from column name to values"
        log.add(Fault(kind, f"this {type(source).__name__} cannot be read as a table ({_first_line(error)})", remedy))
        return None
    return finish(kind, kind, frame, frame.columns, log, typed=True)


def read_table(kind: str, path: Path, delimiter: str | None, log: FaultLog) -> Table | None:
    """Read a CSV, TSV or Parquet file as the table ``kind``; noted faults give None."""
    if path.suffix.lower() == ".parquet":
        return _read_parquet(kind, path, log)
    return _read_csv(kind, path, delimiter or ("\t" if path.suffix.lower() == ".tsv" else ","), log)


def finish(
    kind: str,
    file: str,
    frame: pl.DataFrame,
    header: Sequence[str],
    log: FaultLog,
    *,
    typed: bool,
    first_row: int = 0,
    lines: np.ndarray | None = None,
) -> Table | None:
    """Find the parts of the columns; None if one is missing."""
    before = log.total
    roles = find_roles(kind, file, list(header), log)
    if log.total > before:
        return None
    return Table(file, frame, roles, typed, first_row, lines)


def _to_polars(source: Any) -> pl.DataFrame:
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame) or not hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
    else:
        stream = pl.from_arrow(source)  # a stream of records is one series of structs
        frame = stream.struct.unnest() if isinstance(stream, pl.Series) else stream
    return frame.select([name for name in frame.columns if not name.startswith("__index_level_")])


def _read_parquet(kind: str, path: Path, log: FaultLog) -> Table | None:
    try:
        frame = pl.read_parquet(path, glob=False, low_memory=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:  # a panic is no Exception
        problem = f"this is not a readable Parquet file ({_first_line(error)})"
        log.add(Fault(path.name, problem, "It may be truncated or still being written: write or copy it again"))
        return None
    return finish(kind, path.name, frame, frame.columns, log, typed=True)


def _read_csv(kind: str, path: Path, delimiter: str, log: FaultLog) -> Table | None:
    try:
        line, skipped = _header_line(path)
        header = _names(line, delimiter)
        if not header:
            log.add(Fault(path.name, "the file is empty", "Write a header and at least one row"))
            return None
        if _wrong_delimiter(path.name, header, delimiter, log) or _stray_quote(path.name, header, line, skipped, log):
            return None
        frame = _parse_csv(path, delimiter, header if kind == "features" else [])
    except UnicodeDecodeError as error:
        log.add(_broken_text(path, error))
        return None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        _diagnose(path, delimiter, _first_line(error), log)
        return None
    reason = f"its header has {len(header)} names, its rows {frame.width} cells" if frame.width != len(header) else None
    if (reason or _is_ragged(path, delimiter, frame)) and _diagnose(path, delimiter, reason, log):
        return None
    return _named(kind, path.name, frame, header, skipped + 2, log)


def _parse_csv(path: Path, delimiter: str, header: list[str]) -> pl.DataFrame:
    # Numbers take half the memory of text; text is for files where some cell is not a number, to name that cell.
    roles = find_roles("features", path.name, header, FaultLog()).values() if header else ()
    dtypes = [pl.String if name in roles else pl.Float64 for name in header]
    try:
        return pl.read_csv(path, separator=delimiter, infer_schema=False, glob=False, schema_overrides=dtypes or None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # a panic is no Exception
        return pl.read_csv(path, separator=delimiter, infer_schema=False, glob=False)


def _named(kind: str, file: str, frame: pl.DataFrame, header: list[str], first: int, log: FaultLog) -> Table | None:
    before = log.total
    find_roles(kind, file, header, log)
    if log.total > before:
        return None
    frame = frame.rename(dict(zip(frame.columns, header, strict=True)))
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    lines = None
    if blank.any():
        lines = np.flatnonzero(~blank.to_numpy())
        frame = frame.filter(~blank)
    return finish(kind, file, frame, header, log, typed=False, first_row=first, lines=lines)


def _header_line(path: Path) -> tuple[str, int]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for skipped, line in enumerate(lines):
            if line.strip():
                return line.rstrip("\r\n"), skipped
    return "", 0


def _names(line: str, delimiter: str) -> list[str]:
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))] if line else []


def _stray_quote(file: str, header: list[str], line: str, skipped: int, log: FaultLog) -> bool:
    # polars looks for the end of such a quote in the rows, and swallows both.
    for name in header:
        if '"' in name and '"' + name.replace('"', '""') + '"' not in line:
            log.add(Fault(file, f"the name {name!r} has a stray quote", 'Close or double every "', row=skipped + 1))
            return True
    return False


def _wrong_delimiter(file: str, header: list[str], delimiter: str, log: FaultLog) -> bool:
    if len(header) > 1:
        return False
    for other, name in OTHER_DELIMITERS.items():
        if other != delimiter and other in header[0]:
            problem = (
                f"the header {header[0]!r} is separated by {name}, not by {OTHER_DELIMITERS.get(delimiter, delimiter)}"
            )
            remedy = f"Save the file with commas, or pass delimiter={other!r} (--delimiter)"
            log.add(Fault(file, problem, remedy, row=1))
            return True
    return False


def _is_ragged(path: Path, delimiter: str, frame: pl.DataFrame) -> bool:
    # polars fills short rows with nulls. Counting separators finds them, unless quotes may hide some: then we look.
    separators = quotes = 0
    for block in _blocks(path):
        separators += block.count(delimiter.encode())
        quotes += block.count(b'"')
    blank = frame.select(pl.all_horizontal(pl.all().is_null()).sum()).item()
    full = (frame.width - 1) * (frame.height + 1)
    return quotes > 0 or not full - (frame.width - 1) * blank <= separators <= full


def _blocks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block


def _diagnose(path: Path, delimiter: str, reason: str | None, log: FaultLog) -> bool:
    """Note every row whose number of cells differs from the header, or the text that cannot be read."""
    before = log.total
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            _note_ragged(path.name, reader, log)
        except csv.Error as error:
            problem = f"the quotes do not match ({error})"
            log.add(Fault(path.name, problem, 'Close or double every "', row=reader.line_num))
        except UnicodeDecodeError as error:
            log.add(_broken_text(path, error))
    if log.total == before and reason:
        log.add(Fault(path.name, f"the file cannot be read as CSV ({reason})", "Save it again as CSV in UTF-8"))
    return log.total > before


def _note_ragged(file: str, reader: Any, log: FaultLog) -> None:
    width, line = 0, 1
    for cells in reader:
        if cells and not width:
            width = len(cells)
        elif cells and len(cells) != width:
            problem = f"there are {len(cells)} cells, but the header has {width}"
            log.add(Fault(file, problem, "Write one cell per column; leave a missing value empty", row=line))
        line = reader.line_num + 1


def _broken_text(path: Path, error: UnicodeDecodeError) -> Fault:
    content = path.read_bytes()
    start = len(content) if (bad := _first_bad_byte(content)) is None else bad
    byte = f"0x{content[start]:02x}" if start < len(content) else str(error.reason)
    problem = f"byte {byte} is not UTF-8 text"
    return Fault(path.name, problem, "Save the file as UTF-8", row=content[:start].count(b"\n") + 1, value=byte)


def _first_bad_byte(content: bytes) -> int | None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
