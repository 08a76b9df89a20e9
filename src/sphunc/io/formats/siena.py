"""Longitudinal networks in the formats of SIENA: a session table, or a folder of matrices, edge lists, Pajek files.

Codes in a network file: 0 no tie, 1 tie (or the codes that the session calls non-zero), 9 missing (or the session's
codes), 10 structural zero (no tie is possible), 11 structural one (a tie that cannot change). The diagonal means
nothing; ties of an actor to itself are counted and then left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sphunc.errors import DataError
from sphunc.io.formats.siena_files import (
    MISSING_WORDS,
    read_edge_list,
    read_lines,
    read_matrix,
    read_pajek,
    read_table,
)

STRUCTURAL_ZERO = 10
STRUCTURAL_ONE = 11
NETWORK_TYPES = {"network"}
CHANGING_TYPES = {"behavior", "behaviour", "changing covariate"}
CONSTANT_TYPES = {"constant covariate"}
SESSION_COLUMNS = {"Name", "Filename", "Format", "Period", "Type"}

Codes = Collection[int | float]
Waves = dict[int, np.ndarray]
"""Codes ``[n, n]`` by wave."""


@dataclass(frozen=True, eq=False)
class SienaNetwork:
    """One network at W waves of n actors.

    Attributes:
        tie: 1, 0, or NaN where missing, ``[W, n, n]``.
        fixed: True at structural cells, ``[W, n, n]``.
        self_ties: ties of actors to themselves per wave, which ``tie`` leaves out.
    """

    tie: np.ndarray
    fixed: np.ndarray
    self_ties: tuple[int, ...] = ()

    @property
    def ties(self) -> list[int]:
        """Number of ties per wave between different actors, structural ones included."""
        return (self.tie == 1).sum((1, 2)).tolist()

    @property
    def answered(self) -> np.ndarray:
        """True where an actor's row has at least one cell that was free and observed, ``[W, n]``."""
        itself = np.eye(self.tie.shape[-1], dtype=bool)
        free = ~np.isnan(self.tie) & ~self.fixed & ~itself
        return np.any(free, axis=-1)


@dataclass(frozen=True, eq=False)
class SienaStudy:
    """Actors observed at waves.

    Attributes:
        ids: of the n actors.
        waves: numbers of the W waves.
        networks: by name.
        values: what changes from wave to wave, by name, ``[n, W]``.
        constants: what does not, by name, ``[n]``.
    """

    ids: tuple[str, ...]
    waves: tuple[int, ...]
    networks: Mapping[str, SienaNetwork]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)


def decode(codes: np.ndarray, *, missing: Codes = (9,), ties: Codes = (1,)) -> SienaNetwork:
    """Turn codes into ties, missing cells and structural cells; the diagonal becomes 0.

    Args:
        codes: ``[W, n, n]``.
        missing: codes of a missing cell.
        ties: codes of a tie.
    """
    codes = np.array(codes, dtype=float)
    diagonal = np.arange(codes.shape[-1])
    self_ties = np.isin(codes[:, diagonal, diagonal], list(ties)).sum(1)
    codes[:, diagonal, diagonal] = 0
    fixed = np.isin(codes, [STRUCTURAL_ZERO, STRUCTURAL_ONE])
    unknown = np.isnan(codes) | np.isin(codes, list(missing))
    tie = np.isin(codes, [*ties, STRUCTURAL_ONE])
    strange = np.argwhere(~(unknown | tie | fixed | (codes == 0)))
    if len(strange):
        wave, sender, receiver = strange[0]
        raise DataError(
            f"wave {wave + 1}, row {sender + 1}, column {receiver + 1}: code {codes[wave, sender, receiver]:g} is "
            f"neither 0, a tie {sorted(ties)}, missing {sorted(missing)}, 10 nor 11; name it in ties= or missing="
        )
    known = np.where(unknown, np.nan, tie.astype(float))
    return SienaNetwork(known, fixed, tuple(self_ties.tolist()))


def read_siena(path: Path, *, group: str | None = None, missing: str = "9", ties: str = "1") -> SienaStudy:
    """Read a study from a session table, or from a folder of files that their shapes distinguish.

    In a folder without session table a square file is a wave of a network (the number at the end of its name is the
    wave), a file with one column per wave holds values, a file with one column constants, and four columns of another
    length an edge list.

    Args:
        path: the session table, or the folder.
        group: which group of a session table with several.
        missing: codes of a missing cell in networks without session table, separated by blanks.
        ties: codes of a tie in them.
    """
    if path.is_file():
        return read_session(path, group)
    sessions = [file for file in sorted(path.glob("*.csv")) if is_session(file)]
    if len(sessions) == 1:
        return read_session(sessions[0], group)
    if sessions:
        names = ", ".join(file.name for file in sessions)
        raise DataError(f"{path}: holds {len(sessions)} session tables ({names}); give the path of one of them")
    return _read_folder(path, missing, ties)


def is_session(path: Path) -> bool:
    """Whether a CSV file is a session table."""
    try:
        with path.open(encoding="utf-8-sig") as handle:
            header = handle.readline()
    except (OSError, UnicodeDecodeError):
        return False
    return {cell.strip().strip('"') for cell in header.split(",")} >= SESSION_COLUMNS


def read_session(path: Path, group: str | None = None) -> SienaStudy:
    """Read a study from its session table (CSV: Group, Name, Filename, Format, Period, Type, MissingValues, ...).

    Args:
        path: the table; files that it names lie in the same folder.
        group: which group of a table with several.
    """
    networks: dict[str, Waves] = {}
    codes: dict[str, tuple[str, str]] = {}
    values = {}
    constants = {}
    ids: tuple[str, ...] = ()
    for row in _session_rows(path, group):
        kind = row["Type"].lower()
        file = path.parent / row["Filename"]
        missing = row.get("MissingValues", "")
        if kind in NETWORK_TYPES:
            waves, labels = _network_waves(row, file)
            networks.setdefault(row["Name"], {}).update(waves)
            codes[row["Name"]] = (missing, row.get("NonZeroCode", ""))
            ids = labels or ids
            continue
        table = read_table(file)
        table[np.isin(table, list(_numbers(missing, ())))] = np.nan
        if kind in CHANGING_TYPES:
            values[row["Name"]] = table
        else:
            constants[row["Name"]] = table[:, 0]
    return _study(path.name, networks, codes, values, constants, ids)


def _session_rows(path: Path, group: str | None) -> list[dict[str, str]]:
    """Return the selected rows of one group."""
    table = list(csv.DictReader(read_lines(path)))
    absent = SESSION_COLUMNS.difference(*table[:1])
    if absent:
        raise DataError(f"{path.name}: a session table needs the column(s) {', '.join(sorted(absent))}")
    rows = [{key: (value or "").strip() for key, value in row.items() if key} for row in table]
    rows = [row for row in rows if row.get("Selected", "Yes").lower() in {"yes", "y", ""}]
    groups = sorted({row.get("Group", "") for row in rows})
    if group not in groups and (group is not None or len(groups) > 1):
        raise DataError(f"{path.name}: holds {len(groups)} groups ({', '.join(groups)}); choose one with group=")
    known = NETWORK_TYPES | CHANGING_TYPES | CONSTANT_TYPES
    for row in rows:
        if row["Type"].lower() not in known:
            raise DataError(
                f"{path.name}: {row['Name']!r} has Type {row['Type']!r}; known are {', '.join(sorted(known))}. "
                "Set Selected to No for what is not needed"
            )
    return [row for row in rows if group in (None, row.get("Group", ""))]


def _network_waves(row: Mapping[str, str], file: Path) -> tuple[Waves, tuple[str, ...]]:
    """Return the codes of a network file by wave, and the labels of its actors if it has any."""
    periods = [int(period) for period in row["Period"].split() if _is_whole(period)]
    count = row.get("NbrOfActors", "")
    if not periods or not _is_whole(count or "0"):
        raise DataError(
            f"{file.name}: Period {row['Period']!r} and NbrOfActors {count!r} of the session must be whole numbers"
        )
    form = row["Format"].lower()
    if form == "matrix":
        return {periods[0]: read_matrix(file)}, ()
    if form == "pajek net":
        codes, labels = read_pajek(file)
        return {periods[0]: codes}, labels
    if form != "siena net":
        raise DataError(f"{file.name}: Format {row['Format']!r} is unknown; known: matrix, Siena net, pajek net")
    waves = read_edge_list(file, int(count or 0) or None)
    without_ties = np.zeros_like(next(iter(waves.values())))
    return {period: waves.get(period, without_ties) for period in periods}, ()


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _read_folder(path: Path, missing: str, ties: str) -> SienaStudy:
    networks: dict[str, Waves] = {}
    tables: dict[Path, np.ndarray] = {}
    for file in sorted(path.iterdir()):
        if file.suffix not in (".dat", ".txt", ".net") or re.match(r"(?i)source|readme|licen[cs]e", file.name):
            continue
        name, wave = _name_and_wave(file.stem)
        if file.suffix == ".net":
            networks.setdefault(name, {})[wave] = read_pajek(file)[0]
            continue
        table = read_table(file)
        if table.shape[0] == table.shape[1] > 1:
            networks.setdefault(name, {})[wave] = table
        else:
            tables[file] = table
    if not networks:
        networks = {file.stem: read_edge_list(file) for file, table in tables.items() if table.shape[1] == 4}
    values = {}
    constants = {}
    for file, table in tables.items():
        if file.stem in networks:
            continue
        if table.shape[1] == 1:
            constants[file.stem] = table[:, 0]
        else:
            values[file.stem] = table
    codes = dict.fromkeys(networks, (missing, ties))
    return _study(path.name, networks, codes, values, constants, ())


def _name_and_wave(stem: str) -> tuple[str, int]:
    """Split ``friends-2`` into name and wave; a name without a number is wave 1."""
    found = re.match(r"^(.*?)[-_ ]?(\d+)$", stem)
    if found is None:
        return stem, 1
    return found[1], int(found[2])


def _study(
    where: str,
    networks: Mapping[str, Waves],
    codes: Mapping[str, tuple[str, str]],
    values: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray],
    ids: Sequence[str],
) -> SienaStudy:
    """Check that all parts speak of the same actors and waves, and decode the networks.

    ``codes`` holds, by network, the codes of missing cells and of ties, separated by blanks; empty for 9 and 1.
    """
    if not networks:
        raise DataError(f"{where}: holds no network; give one file of codes per wave")
    shapes = {matrix.shape for waves in networks.values() for matrix in waves.values()}
    numbers = {tuple(sorted(waves)) for waves in networks.values()}
    if len(shapes) > 1 or len(numbers) > 1:
        raise DataError(
            f"{where}: networks differ in size {sorted(shapes)} or waves {sorted(numbers)}; make them equal"
        )
    actors = shapes.pop()[0]
    waves = numbers.pop()
    for name, table in (*values.items(), *constants.items()):
        if len(table) != actors:
            raise DataError(f"{where}: {name!r} has {len(table)} rows, but the networks have {actors} actors")
    decoded = {}
    for name, matrices in networks.items():
        missing, ties = codes[name]
        stacked = np.stack([matrices[wave] for wave in waves])
        try:
            decoded[name] = decode(stacked, missing=_numbers(missing, (9,)), ties=_numbers(ties, (1,)))
        except DataError as error:
            raise DataError(f"{where}, network {name!r}: {error}") from error
    if not ids:
        width = len(str(actors))
        ids = [f"{i + 1:0{width}d}" for i in range(actors)]
    wide = {name: _every_wave(name, table, len(waves), where) for name, table in values.items()}
    return SienaStudy(tuple(ids), waves, decoded, wide, constants)


def _every_wave(name: str, table: np.ndarray, waves: int, where: str) -> np.ndarray:
    columns = table.shape[1]
    if columns == waves - 1:  # a changing covariate is not given for the last wave
        return np.column_stack([table, np.full(len(table), np.nan)])
    if columns != waves:
        raise DataError(f"{where}: {name!r} has {columns} columns, but there are {waves} waves")
    return table


def _numbers(text: str, default: Codes) -> Codes:
    """Read codes separated by blanks or commas, words for missing ones left out."""
    words = [word for word in text.replace(",", " ").split() if word.lower() not in MISSING_WORDS]
    try:
        return tuple(float(word) for word in words) or default
    except ValueError as error:
        raise DataError(f"codes {text!r}: {error}; write numbers separated by blanks") from error
