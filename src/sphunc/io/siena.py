"""Longitudinal networks in the formats of SIENA: matrices, edge lists, Pajek files, and the session table.

Codes in a network file: 0 no tie, 1 tie (or the codes that the session calls non-zero), 9 missing (or the session's
codes), 10 structural zero (no tie is possible), 11 structural one (a tie that cannot change). The diagonal means
nothing; ties of an actor to itself are counted and then left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sphunc.errors import DataError

STRUCTURAL_ZERO, STRUCTURAL_ONE = 10, 11
_MISSING_WORDS = {"na", "nan", "."}
_MOST_ACTORS = 30_000  # a dense matrix of them takes 7 GB
_TYPES = {
    "network": {"network"},
    "values": {"behavior", "behaviour", "changing covariate"},
    "constant": {"constant covariate"},
}
_SESSION_COLUMNS = {"Name", "Filename", "Format", "Period", "Type"}


@dataclass(frozen=True, eq=False)
class SienaNetwork:
    """One network at W waves: ``tie`` [W, n, n] is 1, 0, or NaN where missing; ``fixed`` marks the structural cells."""

    tie: np.ndarray
    fixed: np.ndarray
    self_ties: tuple[int, ...] = ()

    @property
    def ties(self) -> list[int]:
        """Number of ties per wave between different actors, structural ones included."""
        return [int((wave == 1).sum()) for wave in self.tie]

    @property
    def answered(self) -> np.ndarray:
        """True where an actor's row has at least one cell that was free and observed, ``[W, n]``."""
        free = ~np.isnan(self.tie) & ~self.fixed
        free[:, np.arange(free.shape[1]), np.arange(free.shape[1])] = False
        return np.any(free, axis=-1)


@dataclass(frozen=True, eq=False)
class SienaStudy:
    """Actors observed at waves: networks, values that change (``[n, W]``) and values that do not (``[n]``)."""

    ids: tuple[str, ...]
    waves: tuple[int, ...]
    networks: Mapping[str, SienaNetwork]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)


def decode(
    codes: np.ndarray, *, missing: Collection[int | float] = (9,), ties: Collection[int | float] = (1,)
) -> SienaNetwork:
    """Turn codes ``[W, n, n]`` into ties, missing cells and structural cells; the diagonal becomes 0."""
    codes = np.array(codes, dtype=float)
    diagonal = np.arange(codes.shape[-1])
    self_ties = np.isin(codes[:, diagonal, diagonal], list(ties)).sum(1)
    codes[:, diagonal, diagonal] = 0
    structural_one, structural_zero = codes == STRUCTURAL_ONE, codes == STRUCTURAL_ZERO
    unknown = np.isnan(codes) | np.isin(codes, list(missing))
    tie = np.isin(codes, list(ties)) | structural_one
    strange = ~(unknown | tie | structural_zero | (codes == 0))
    if strange.any():
        wave, sender, receiver = np.argwhere(strange)[0]
        raise DataError(
            f"wave {wave + 1}, row {sender + 1}, column {receiver + 1}: code {codes[wave, sender, receiver]:g} is "
            f"neither 0, a tie {sorted(ties)}, missing {sorted(missing)}, 10 nor 11; name it in ties= or missing="
        )
    known = np.where(unknown, np.nan, tie.astype(float))
    return SienaNetwork(known, structural_one | structural_zero, tuple(self_ties.tolist()))


def read_table(path: Path) -> np.ndarray:
    """Read rows of numbers separated by blanks, tabs or commas; NA, NaN and ``.`` are missing."""
    rows: list[list[float]] = []
    for number, line in enumerate(_lines(path), start=1):
        cells = line.replace(",", " ").split()
        try:
            rows += [[np.nan if cell.lower() in _MISSING_WORDS else float(cell) for cell in cells]] if cells else []
        except ValueError as error:
            raise DataError(f"{path.name} row {number}: {error}; write numbers separated by blanks, or NA") from error
        if cells and len(rows[-1]) != len(rows[0]):
            raise DataError(
                f"{path.name} row {number}: {len(rows[-1])} numbers, but the first row has {len(rows[0])}; "
                "give every row the same length"
            )
    if not rows:
        raise DataError(f"{path.name}: holds no numbers; give one row per actor")
    table = np.array(rows)
    if np.isinf(table).any():
        raise DataError(f"{path.name} row {np.argwhere(np.isinf(table))[0, 0] + 1}: a number is infinite; write NA")
    return table


def read_matrix(path: Path) -> np.ndarray:
    """Read the codes of one wave, ``[n, n]``."""
    table = read_table(path)
    if table.shape[0] != table.shape[1]:
        raise DataError(
            f"{path.name}: {table.shape[0]} rows of {table.shape[1]} codes; a network has n rows of n codes"
        )
    return table


def read_edge_list(path: Path, actors: int | None = None) -> dict[int, np.ndarray]:
    """Read "Siena net" lines ``sender receiver value wave`` into the codes of each wave."""
    table = read_table(path)
    if table.shape[1] != 4:
        raise DataError(f"{path.name}: {table.shape[1]} columns; an edge list has sender, receiver, value, wave")
    n = actors or int(min(np.nanmax(table[:, :2], initial=1), _MOST_ACTORS))
    _check_actors(path, table[:, :2], n)
    if np.isnan(table).any() or (table[:, 3] != np.round(table[:, 3])).any():
        raise DataError(f"{path.name}: a value or wave is missing or not whole; write sender, receiver, value, wave")
    waves = {int(wave): np.zeros((n, n)) for wave in sorted(set(table[:, 3]))}
    for sender, receiver, value, wave in table:
        waves[int(wave)][int(sender) - 1, int(receiver) - 1] = value
    return waves


def read_pajek(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a Pajek network (``*Vertices``, then ``*Arcs``, ``*Edges`` or ``*Matrix``): codes ``[n, n]`` and labels."""
    try:
        return _pajek(path)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path.name}: {error}; write '*Vertices n', then '*Arcs' and lines 'i j value'") from error


def _pajek(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    sections = _pajek_sections(path)
    if not sections or sections[0][0] != "vertices":
        raise DataError(f"{path.name}: does not begin with '*Vertices n'")
    n = int(sections[0][1])
    if not 1 <= n <= _MOST_ACTORS:
        raise DataError(f"{path.name}: {n} vertices; give from 1 to {_MOST_ACTORS}")
    labels = [str(i + 1) for i in range(n)]
    for line in sections[0][2]:
        found = re.match(r'\s*(\d+)\s+(?:"([^"]*)"|(\S+))', line)
        if found and 1 <= int(found[1]) <= n and (found[2] or found[3]):
            labels[int(found[1]) - 1] = found[2] or found[3]
    codes = np.zeros((n, n))
    for kind, _, lines in sections[1:]:
        if kind == "matrix":
            codes = np.array([[float(cell) for cell in line.split()] for line in lines])
            continue
        for line in lines:
            i, j, value = ([*map(float, line.split()[:3]), 1.0])[:3]
            _check_actors(path, np.array([i, j]), n)
            codes[int(i) - 1, int(j) - 1] = value
            if kind == "edges":
                codes[int(j) - 1, int(i) - 1] = value
    return codes, tuple(labels)


def _pajek_sections(path: Path) -> list[tuple[str, str, list[str]]]:
    sections: list[tuple[str, str, list[str]]] = []
    for line in _lines(path):
        words = line.split()
        if words and words[0].startswith("*"):
            sections.append((words[0][1:].lower(), words[1] if len(words) > 1 else "", []))
        elif words and sections and not words[0].startswith("%"):
            sections[-1][2].append(line)
    return sections


def _check_actors(path: Path, index: np.ndarray, n: int) -> None:
    bad = index[~((index >= 1) & (index <= n) & (index == np.round(index)))]
    if bad.size:
        raise DataError(
            f"{path.name}: actor {bad.flat[0]:g} is not one of 1 ... {n}; correct it or the number of actors"
        )


def _lines(path: Path) -> Iterator[str]:
    try:
        yield from path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read ({error.strerror}); check that it is in {path.parent}") from error


def read_session(path: Path, group: str | None = None) -> SienaStudy:
    """Read a study from its session table (CSV: Group, Name, Filename, Format, Period, Type, MissingValues, ...)."""
    rows = _chosen_rows(path, group)
    of_kind = {kind: [row for row in rows if row["Type"].lower() in types] for kind, types in _TYPES.items()}
    networks: dict[str, dict[int, np.ndarray]] = {}
    ids: tuple[str, ...] = ()
    for row in of_kind["network"]:
        waves, labels = _network_waves(row, path.parent / row["Filename"])
        networks.setdefault(row["Name"], {}).update(waves)
        ids = labels or ids
    values = {row["Name"]: _session_values(row, path.parent) for row in of_kind["values"]}
    constants = {row["Name"]: _session_values(row, path.parent)[:, 0] for row in of_kind["constant"]}
    settings = {row["Name"]: row for row in of_kind["network"]}
    return study(networks, values, constants, ids=ids, settings=settings, where=path.name)


def _chosen_rows(path: Path, group: str | None) -> list[dict[str, str]]:
    rows = [row for row in _session_rows(path) if row.get("Selected", "Yes").lower() in {"yes", "y", ""}]
    groups = sorted({row.get("Group", "") for row in rows})
    if group not in groups and (group is not None or len(groups) > 1):
        raise DataError(f"{path.name}: holds {len(groups)} groups ({', '.join(groups)}); choose one with group=")
    known = set().union(*_TYPES.values())
    for row in rows:
        if row["Type"].lower() not in known:
            raise DataError(
                f"{path.name}: {row['Name']!r} has Type {row['Type']!r}; known are {', '.join(sorted(known))}. "
                "Set Selected to No for what is not needed"
            )
    return [row for row in rows if group in (None, row.get("Group", ""))]


def _session_values(row: Mapping[str, str], folder: Path) -> np.ndarray:
    table = read_table(folder / row["Filename"])
    return np.where(np.isin(table, list(_codes(row.get("MissingValues", ""), ()))), np.nan, table)


def _network_waves(row: Mapping[str, str], file: Path) -> tuple[dict[int, np.ndarray], tuple[str, ...]]:
    periods = [int(period) for period in row["Period"].split() if _is_whole(period)]
    count = row.get("NbrOfActors", "").strip()
    if not periods or not (_is_whole(count) or not count):
        raise DataError(
            f"{file.name}: Period {row['Period']!r} and NbrOfActors {count!r} of the session must be whole numbers"
        )
    form = row["Format"].lower()
    if form == "matrix":
        return {periods[0]: read_matrix(file)}, ()
    if form == "pajek net":
        codes, labels = read_pajek(file)
        return {periods[0]: codes}, labels
    if form == "siena net":
        waves = read_edge_list(file, int(count) if count else None)
        n = next(iter(waves.values())).shape[0]
        return {period: waves.get(period, np.zeros((n, n))) for period in periods}, ()
    raise DataError(f"{file.name}: Format {row['Format']!r} is unknown; known: matrix, Siena net, pajek net")


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _session_rows(path: Path) -> list[dict[str, str]]:
    rows = list(csv.DictReader(_lines(path)))
    absent = sorted(_SESSION_COLUMNS - set(rows[0] if rows else ()))
    if absent:
        raise DataError(f"{path.name}: a session table needs the column(s) {', '.join(absent)}")
    return [{key: (value or "").strip() for key, value in row.items() if key} for row in rows]


def is_session(path: Path) -> bool:
    """Whether a CSV file is a session table."""
    try:
        with path.open(encoding="utf-8-sig") as handle:
            first = handle.readline()
    except (OSError, UnicodeDecodeError):
        return False
    return {cell.strip().strip('"') for cell in first.split(",")} >= _SESSION_COLUMNS


def study(
    networks: Mapping[str, Mapping[int, np.ndarray]],
    values: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray],
    *,
    ids: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, str]] | None = None,
    where: str = "study",
) -> SienaStudy:
    """Put waves of codes together, check that all parts speak of the same actors and waves, and decode them."""
    if not networks:
        raise DataError(f"{where}: holds no network; give one file of codes per wave")
    shapes = {codes.shape for waves in networks.values() for codes in waves.values()}
    numbers = {tuple(sorted(waves)) for waves in networks.values()}
    if len(shapes) > 1 or len(numbers) > 1:
        raise DataError(
            f"{where}: networks differ in size {sorted(shapes)} or waves {sorted(numbers)}; make them equal"
        )
    n, waves = shapes.pop()[0], numbers.pop()
    for name, table in {**values, **constants}.items():
        if table.shape[0] != n:
            raise DataError(f"{where}: {name!r} has {table.shape[0]} rows, but the networks have {n} actors")
    made = {}
    for name, codes in networks.items():
        row = (settings or {}).get(name, {})
        missing, ties = _codes(row.get("MissingValues", ""), (9,)), _codes(row.get("NonZeroCode", ""), (1,))
        try:
            made[name] = decode(np.stack([codes[wave] for wave in waves]), missing=missing, ties=ties)
        except DataError as error:
            raise DataError(f"{where}, network {name!r}: {error}") from error
    names = tuple(ids) or tuple(f"{i + 1:0{len(str(n))}d}" for i in range(n))
    wide = {name: _waves_wide(name, table, len(waves), where) for name, table in values.items()}
    return SienaStudy(names, waves, made, wide, dict(constants))


def _waves_wide(name: str, table: np.ndarray, waves: int, where: str) -> np.ndarray:
    if table.shape[1] == waves:
        return table
    if table.shape[1] == waves - 1:  # a changing covariate is not given for the last wave
        return np.column_stack([table, np.full(len(table), np.nan)])
    raise DataError(f"{where}: {name!r} has {table.shape[1]} columns, but there are {waves} waves")


def _codes(text: str, default: tuple[int | float, ...]) -> tuple[int | float, ...]:
    words = [word for word in text.replace(",", " ").split() if word.lower() not in _MISSING_WORDS]
    try:
        return tuple(float(word) for word in words) or default
    except ValueError as error:
        raise DataError(f"codes {text!r}: {error}; write numbers separated by blanks") from error


def read_siena(path: Path, *, group: str | None = None, missing: str = "9", ties: str = "1") -> SienaStudy:
    """Read a study from a session table, or from a folder of files that are told apart by their shape.

    In a folder without session table a square file is a wave of a network (the number at the end of its name is the
    wave), a file with one column per wave holds values, a file with one column constants, and four columns of another
    length an edge list. ``missing`` and ``ties`` are the codes of the networks, separated by blanks.
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


def _read_folder(path: Path, missing: str, ties: str) -> SienaStudy:
    networks: dict[str, dict[int, np.ndarray]] = {}
    tables: dict[str, np.ndarray] = {}
    for file in _number_files(path):
        name, wave = _name_and_wave(file.stem)
        if file.suffix == ".net":
            networks.setdefault(name, {})[wave] = read_pajek(file)[0]
        elif (table := read_table(file)).shape[0] == table.shape[1] > 1:
            networks.setdefault(name, {})[wave] = table
        else:
            tables[file.stem] = table
    if not networks:
        for file in _number_files(path):
            if tables[file.stem].shape[1] == 4:
                networks[file.stem] = read_edge_list(file)
                del tables[file.stem]
    settings = {name: {"MissingValues": missing, "NonZeroCode": ties} for name in networks}
    constants = {name: table[:, 0] for name, table in tables.items() if table.shape[1] == 1}
    values = {name: table for name, table in tables.items() if table.shape[1] > 1}
    return study(networks, values, constants, settings=settings, where=path.name)


def _number_files(path: Path) -> list[Path]:
    files = sorted(file for suffix in ("dat", "txt", "net") for file in path.glob(f"*.{suffix}"))
    return [file for file in files if not re.match(r"(?i)source|readme|licen[cs]e", file.name)]


def _name_and_wave(stem: str) -> tuple[str, int]:
    found = re.match(r"^(.*?)[-_ ]?(\d+)$", stem)
    return (found[1], int(found[2])) if found else (stem, 1)
