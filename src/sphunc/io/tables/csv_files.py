"""CSV files to tables of text: what cannot be read is named by its line before anything else is looked at."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from sphunc.io.faults import Fault, FaultLog
from sphunc.io.tables.layout import Layout
from sphunc.io.tables.roles import find_roles
from sphunc.io.tables.table import Table

BLOCK = 1 << 22  # bytes read at a time
DELIMITERS = {";": "semicolon", "\t": "tab", "|": "bar", ",": "comma"}
QUOTE_REMEDY = 'Close or double every "'
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What polars raises on a file that it cannot read; a panic is no Exception."""


LEGACY_ENCODING = "cp1252"
"""Latin-1 as Windows extends it, which Excel writes where it does not write UTF-8."""
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_csv(kind: str, path: Path, layout: Layout, log: FaultLog) -> tuple[Table, str] | None:
    """Read a CSV file and say what separates its cells; None if it cannot be read or lacks a column.

    A file that is not UTF-8 is read as Latin-1, with a note, where that gives text.

    Args:
        kind: which table it is: features, groups, outcomes, influence, or table.
        path: the file.
        layout: what the user said of it.
        log: takes the faults.
    """
    text = _legacy_text(path)
    if text is None:
        return _read_utf8(kind, path, layout, log)
    decoded, encoding = text
    log.note(f"{path.name} is not UTF-8; it was read as {encoding}. Save it as UTF-8 if names look odd")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(decoded, encoding="utf-8", newline="")
        return _read_utf8(kind, copy, layout, log)


def _read_utf8(kind: str, path: Path, layout: Layout, log: FaultLog) -> tuple[Table, str] | None:
    delimiter = layout.delimiter or {".tsv": "\t"}.get(path.suffix.lower(), ",")
    try:
        header_line, skipped = _header_line(path)
        if layout.delimiter is None:
            delimiter = _delimiter_of(header_line, delimiter)
        header = _header_names(path.name, header_line, delimiter, skipped, log)
        if not header or (roles := find_roles(kind, path.name, header, log, layout)) is None:
            return None
        frame = _parse(path, delimiter, header, roles.values(), numeric=kind in ("features", "table"))
    except UnicodeDecodeError:
        _note_broken_text(path, log)
        return None
    except POLARS_ERRORS as error:
        _diagnose(path, delimiter, first_line(error), log)
        return None
    reason = None
    if frame.width != len(header):
        reason = f"its header has {len(header)} names, its rows {frame.width} cells"
    if (reason or _may_be_ragged(path, delimiter, frame)) and _diagnose(path, delimiter, reason, log):
        return None
    frame.columns = header
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    lines = None
    if blank.any():
        lines = np.flatnonzero(~blank.to_numpy())
        frame = frame.filter(~blank)
    table = Table(path.name, frame, roles, log, typed=False, first_row=skipped + 2, lines=lines, kind=kind)
    return table, delimiter


def _legacy_text(path: Path) -> tuple[str, str] | None:
    """Return the text of a file that is not UTF-8, and its encoding; None if it is, or if it is broken."""
    try:
        for block in _decoded(path):
            del block
    except UnicodeDecodeError:
        pass
    else:
        return None
    content = path.read_bytes()
    if content.startswith(UTF_16_MARKS):
        return _text_or_none(content, "utf-16")
    # Characters beyond ASCII that are right in UTF-8 show that the file is UTF-8 with a broken byte.
    if not content.decode("utf-8", errors="ignore").isascii() or b"\x00" in content:
        return None
    return _text_or_none(content, LEGACY_ENCODING)


def _text_or_none(content: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        return content.decode(encoding), {"utf-16": "UTF-16"}.get(encoding, "Latin-1 (Windows-1252)")
    except UnicodeDecodeError:
        return None


def _decoded(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        while block := stream.read(BLOCK):
            yield block


def _delimiter_of(header: str, usual: str) -> str:
    """Return the usual delimiter if the header has it, else the one that it has."""
    if usual in header:
        return usual
    return next((other for other in DELIMITERS if other in header), usual)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name."""
    lines = str(error).strip().splitlines()
    return (lines or [type(error).__name__])[0]


def _header_line(path: Path) -> tuple[str, int]:
    """Return the first line that is not blank, and how many blank ones stand before it."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for skipped, line in enumerate(lines):
            if line.strip():
                return line.rstrip("\r\n"), skipped
    return "", 0


def _header_names(file: str, line: str, delimiter: str, skipped: int, log: FaultLog) -> list[str]:
    """Return the names of the header, stripped; empty if it is faulty."""
    if not line:
        log.add(Fault(file, "the file is empty", "Write a header and at least one row"))
        return []
    names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
    if len(names) == 1:
        for other, word in DELIMITERS.items():
            if other != delimiter and other in line:
                expected = DELIMITERS.get(delimiter, delimiter)
                problem = f"the header {names[0]!r} is separated by {word}, not by {expected}"
                remedy = f"Save the file with commas, or pass delimiter={other!r} (--delimiter)"
                log.add(Fault(file, problem, remedy, row=1))
                return []
    for name in names:
        # polars looks for the end of such a quote in the rows, and swallows both.
        if '"' in name and '"' + name.replace('"', '""') + '"' not in line:
            problem = f"the name {name!r} has a stray quote"
            log.add(Fault(file, problem, QUOTE_REMEDY, row=skipped + 1))
            return []
    return names


def _parse(path: Path, delimiter: str, header: list[str], text: Collection[str], *, numeric: bool) -> pl.DataFrame:
    if numeric:
        # Numbers take half the memory of text; text is for files where some cell is not a number,
        # to name that cell.
        dtypes = [pl.String if name in text else pl.Float64 for name in header]
        try:
            return pl.read_csv(path, separator=delimiter, schema_overrides=dtypes, infer_schema=False, glob=False)
        except POLARS_ERRORS:
            pass
    return pl.read_csv(path, separator=delimiter, infer_schema=False, glob=False)


def _may_be_ragged(path: Path, delimiter: str, frame: pl.DataFrame) -> bool:
    # polars fills short rows with nulls. Counting separators finds them, unless quotes may hide some.
    separators = 0
    quotes = 0
    for block in _blocks(path):
        separators += block.count(delimiter.encode())
        quotes += block.count(b'"')
    blank = frame.select(pl.all_horizontal(pl.all().is_null()).sum()).item()
    rows = frame.height + 1
    separators_in_row = frame.width - 1
    complete = separators_in_row * (rows - blank) <= separators <= separators_in_row * rows
    return quotes > 0 or not complete


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block


def _diagnose(path: Path, delimiter: str, reason: str | None, log: FaultLog) -> bool:
    """Note every row whose number of cells differs from the header, or the text that cannot be read.

    ``reason`` is what to say if no such row is found; None if the file may well be in order.
    """
    before = log.total
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        numbered = _numbered(reader)
        try:
            width = next((len(cells) for _, cells in numbered if cells), 0)
            for line, cells in numbered:
                if cells and len(cells) != width:
                    problem = f"there are {len(cells)} cells, but the header has {width}"
                    remedy = "Write one cell per column; leave a missing value empty"
                    log.add(Fault(path.name, problem, remedy, row=line))
        except csv.Error as error:
            problem = f"the quotes do not match ({error})"
            log.add(Fault(path.name, problem, QUOTE_REMEDY, row=reader.line_num))
        except UnicodeDecodeError:
            _note_broken_text(path, log)
    if log.total == before and reason:
        problem = f"the file cannot be read as CSV ({reason})"
        log.add(Fault(path.name, problem, "Save it again as CSV in UTF-8"))
    return log.total > before


def _numbered(reader: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line of the file on which it begins."""
    line = 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1  # pyright: ignore[reportAttributeAccessIssue]


def _note_broken_text(path: Path, log: FaultLog) -> None:
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"0x{content[error.start]:02x}"
        row = content[: error.start].count(b"\n") + 1
        problem = f"byte {byte} is not UTF-8 text"
        log.add(Fault(path.name, problem, "Save the file as UTF-8", row=row, value=byte))
