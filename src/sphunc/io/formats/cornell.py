"""Timed hypergraphs in the Cornell layout: NAME-nverts.txt, -simplices.txt, -times.txt and -node-labels.txt."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.faults import Fault, single_fault
from sphunc.io.files import write_text
from sphunc.io.times import INTEGER


def read_cornell(folder: str | Path, name: str | None = None, *, bin: int = 1) -> TemporalHypergraph:
    """Read a timed hypergraph; agents are the labels if there are any, else the numbers of the file (from 1).

    Args:
        folder: where the four files are (times and labels may be missing: then all groups meet at time 0).
        name: common beginning of the files; not needed if there is only one.
        bin: width of a time step; times are rounded down to a multiple of it.
    """
    if bin < 1:
        raise ArgumentError(f"bin is {bin}; give a width of at least 1")
    folder = Path(folder)
    name = name or _only_name(folder)
    sizes = _integers(folder / f"{name}-nverts.txt")
    members = _integers(folder / f"{name}-simplices.txt")
    if (sizes < 0).any() or sizes.sum() != len(members):
        problem = f"the sizes add up to {sizes.sum()}, but {name}-simplices.txt has {len(members)} lines"
        raise single_fault(Fault(f"{name}-nverts.txt", problem, "Copy both files again"))
    stamps = _stamps(folder / f"{name}-times.txt", len(sizes))
    labels = _labels(folder / f"{name}-node-labels.txt", int(members.max(initial=0)))
    outside = np.flatnonzero((members < 1) | (members > len(labels)))
    if len(outside):
        row = int(outside[0])
        value = int(members[row])
        problem = f"agent {value} is outside 1 ... {len(labels)}"
        fault = Fault(f"{name}-simplices.txt", problem, "Number agents from 1", row=row + 1, value=value)
        raise single_fault(fault)
    times, hyperedge_time = np.unique(stamps // bin * bin, return_inverse=True)
    group = np.repeat(np.arange(len(sizes)), sizes)
    # A simplex is a set: an agent that is written twice in it is there once.
    memberships = np.unique(np.stack([group, members - 1]), axis=1)
    return assemble(
        times=times.tolist() or [0],
        node_ids=labels,
        hyperedge_ids=range(len(sizes)),
        hyperedge_time=hyperedge_time,
        memberships=tuple(memberships),
    )


def write_cornell(data: TemporalHypergraph, folder: str | Path, name: str) -> None:
    """Write groups, times and agents in the Cornell layout; features, outcomes and group names have no place there.

    Args:
        data: what to write; times must be integers.
        folder: made if it does not exist.
        name: common beginning of the files.
    """
    if not isinstance(data.times[0], int):
        kind = type(data.times[0]).__name__
        raise ArgumentTypeError(f"times are {kind}; this layout holds integers, so use write_hif")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    columns = {
        "nverts": data.hyperedge_size.tolist(),
        "simplices": (data.hyperedge_index[0] + 1).tolist(),
        "times": [data.times[t] for t in data.hyperedge_time.tolist()],
        "node-labels": [f"{i + 1} {_first_line(str(agent))}" for i, agent in enumerate(data.node_ids)],
    }
    for kind, lines in columns.items():
        write_text(folder / f"{name}-{kind}.txt", "".join(f"{line}\n" for line in lines))


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")


def _only_name(folder: Path) -> str:
    found = sorted(path.name.removesuffix("-nverts.txt") for path in folder.glob("*-nverts.txt"))
    if len(found) != 1:
        problem = f"there are {len(found)} files NAME-nverts.txt ({', '.join(found) or 'none'})"
        raise single_fault(Fault(str(folder), problem, "Give the folder of one data set, or name="))
    return found[0]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the file cannot be read ({error})"
        raise single_fault(Fault(path.name, problem, "Copy it again")) from error


def _integers(path: Path) -> np.ndarray:
    lines = _lines(path)
    try:
        return np.array([int(line) for line in lines], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        row = next(i for i, line in enumerate(lines) if not INTEGER.fullmatch(line.strip()))
        problem = f"{lines[row]!r} is not an integer"
        fault = Fault(path.name, problem, "Write one integer per line", row=row + 1, value=lines[row])
        raise single_fault(fault) from error


def _stamps(path: Path, count: int) -> np.ndarray:
    if not path.is_file():
        return np.zeros(count, dtype=np.int64)
    stamps = _integers(path)
    if len(stamps) != count:
        problem = f"there are {len(stamps)} times for {count} groups"
        raise single_fault(Fault(path.name, problem, "Write one time per group"))
    return stamps


def _labels(path: Path, largest: int) -> list[int] | list[str]:
    if not path.is_file():
        return list(range(1, largest + 1))
    labels = _lines(path)
    numbered = [label.partition(" ") for label in labels]
    if all(number == str(i + 1) for i, (number, _, _) in enumerate(numbered)):
        labels = [label for _, _, label in numbered]
    if len(set(labels)) == len(labels):
        return labels
    # Labels that are shared (two people of one name) cannot be ids: the numbers can.
    return list(range(1, len(labels) + 1))
