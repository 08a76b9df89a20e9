"""Files of SIENA: tables of numbers, matrices of codes, edge lists and Pajek networks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from sphunc.errors import DataError

MISSING_WORDS = {"na", "nan", "."}
MOST_ACTORS = 30_000  # a dense matrix of them takes 7 GB


def read_lines(path: Path) -> list[str]:
    """Read the lines of a UTF-8 file."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path.name}: cannot be read ({error.strerror}); check that it is in {path.parent}") from error


def read_table(path: Path) -> np.ndarray:
    """Read rows of numbers separated by blanks, tabs or commas; NA, NaN and ``.`` are missing."""
    rows: list[list[float]] = []
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path.name} row {number}"
        cells = line.replace(",", " ").split()
        if not cells:
            continue
        try:
            row = [float("nan" if cell.lower() in MISSING_WORDS else cell) for cell in cells]
        except ValueError as error:
            raise DataError(f"{where}: {error}; write numbers separated by blanks, or NA") from error
        if np.isinf(row).any():
            raise DataError(f"{where}: a number is infinite; write NA")
        rows.append(row)
        if len(row) != len(rows[0]):
            width = len(rows[0])
            raise DataError(
                f"{where}: {len(row)} numbers, but the first row has {width}; give every row the same length"
            )
    if not rows:
        raise DataError(f"{path.name}: holds no numbers; give one row per actor")
    return np.array(rows)


def read_matrix(path: Path) -> np.ndarray:
    """Read the codes of one wave, ``[n, n]``."""
    table = read_table(path)
    rows, columns = table.shape
    if rows != columns:
        raise DataError(f"{path.name}: {rows} rows of {columns} codes; a network has n rows of n codes")
    return table


def read_edge_list(path: Path, actors: int | None = None) -> dict[int, np.ndarray]:
    """Read "Siena net" lines ``sender receiver value wave`` into the codes ``[n, n]`` of each wave.

    Args:
        path: the file.
        actors: their number n; the largest that occurs unless given.
    """
    table = read_table(path)
    if table.shape[1] != 4:
        raise DataError(f"{path.name}: {table.shape[1]} columns; an edge list has sender, receiver, value, wave")
    if actors is None:
        actors = int(min(np.nanmax(table[:, :2], initial=1), MOST_ACTORS))
    _check_actors(path, table[:, :2], actors)
    wave = table[:, 3]
    if np.isnan(table).any() or (wave != np.round(wave)).any():
        raise DataError(f"{path.name}: a value or wave is missing or not whole; write sender, receiver, value, wave")
    codes = {}
    for number in np.unique(wave):
        codes[int(number)] = np.zeros((actors, actors))
        sender, receiver, value, _ = table[wave == number].T
        codes[int(number)][sender.astype(int) - 1, receiver.astype(int) - 1] = value
    return codes


def _check_actors(path: Path, index: np.ndarray, actors: int) -> None:
    valid = (index >= 1) & (index <= actors) & (index == np.round(index))
    if not valid.all():
        first = index[~valid].flat[0]
        raise DataError(
            f"{path.name}: actor {first:g} is not one of 1 ... {actors}; correct it or the number of actors"
        )


def read_pajek(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a Pajek network (``*Vertices``, then ``*Arcs``, ``*Edges`` or ``*Matrix``): codes ``[n, n]`` and labels."""
    try:
        return _pajek(path)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path.name}: {error}; write '*Vertices n', then '*Arcs' and lines 'i j value'") from error


def _pajek(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    sections = _pajek_sections(path)
    if not sections or sections[0][0][0] != "vertices":
        raise DataError(f"{path.name}: does not begin with '*Vertices n'")
    heading, vertices = sections[0]
    count = int("".join(heading[1:2]))
    if not 1 <= count <= MOST_ACTORS:
        raise DataError(f"{path.name}: {count} vertices; give from 1 to {MOST_ACTORS}")
    labels = [str(i + 1) for i in range(count)]
    for line in vertices:
        found = re.match(r'\s*(\d+)\s+(?:"([^"]+)"|([^\s"]\S*))', line)
        if found and 1 <= int(found[1]) <= count:
            labels[int(found[1]) - 1] = found[2] or found[3]
    codes = np.zeros((count, count))
    for heading, lines in sections[1:]:
        if heading[0] == "matrix":
            codes = np.array([[float(cell) for cell in line.split()] for line in lines])
            continue
        for line in lines:
            cells = [float(cell) for cell in line.split()[:3]]
            i, j, value = (*cells, 1.0)[:3]
            _check_actors(path, np.array([i, j]), count)
            codes[int(i) - 1, int(j) - 1] = value
            if heading[0] == "edges":
                codes[int(j) - 1, int(i) - 1] = value
    return codes, tuple(labels)


def _pajek_sections(path: Path) -> list[tuple[list[str], list[str]]]:
    """Return each section as the words of its heading, without the star, and its lines; ``%`` are comments."""
    sections: list[tuple[list[str], list[str]]] = []
    for line in read_lines(path):
        words = line.split()
        if not words or words[0].startswith("%"):
            continue
        if words[0].startswith("*"):
            sections.append((line.strip("* \t").lower().split(), []))
        elif sections:
            sections[-1][1].append(line)
    return sections
