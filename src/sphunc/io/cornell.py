"""Timed hypergraphs in the Cornell layout: NAME-nverts.txt, -simplices.txt, -times.txt and -node-labels.txt."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import TemporalHypergraph, assemble
from sphunc.io.faults import single_fault
from sphunc.io.files import write_text


def read_cornell(folder: str | Path, name: str | None = None, *, bin: int = 1) -> TemporalHypergraph:
    """Read a timed hypergraph; agents are the labels if there are any, else the numbers of the file (from 1).

    Args:
        folder: where the four files are (times and labels may be missing: then all groups meet at time 0).
        name: common beginning of the files; found by looking if there is only one.
        bin: width of a time step; times are rounded down to a multiple of it.
    """
    if bin < 1:
        raise ArgumentError(f"bin is {bin}; give a width of at least 1")
    folder = Path(folder)
    name = name or _find(folder)
    sizes = _integers(folder / f"{name}-nverts.txt")
    members = _integers(folder / f"{name}-simplices.txt")
    if (sizes < 0).any() or sizes.sum() != len(members):
        problem = f"the sizes add up to {sizes.sum()}, but {name}-simplices.txt has {len(members)} lines"
        raise single_fault(f"{name}-nverts.txt", problem, "Copy both files again")
    stamps = _stamps(folder / f"{name}-times.txt", len(sizes)) // bin * bin
    labels = _labels(folder / f"{name}-node-labels.txt", int(members.max(initial=0)))
    if len(members) and not 1 <= members.min() <= members.max() <= len(labels):
        row = int(np.flatnonzero((members < 1) | (members > len(labels)))[0])
        problem = f"agent {members[row]} is outside 1 ... {len(labels)}"
        raise single_fault(
            f"{name}-simplices.txt", problem, "Number agents from 1", row=row + 1, value=int(members[row])
        )
    times, when = np.unique(stamps, return_inverse=True)
    pairs = np.stack([np.repeat(np.arange(len(sizes)), sizes), members - 1])
    pairs = np.unique(pairs, axis=1)  # a simplex is a set: an agent written twice in it is there once
    return assemble(
        times=times.tolist() or [0],
        node_ids=labels,
        hyperedge_ids=range(len(sizes)),
        hyperedge_time=when,
        memberships=(pairs[0], pairs[1]),
    )


def write_cornell(data: TemporalHypergraph, folder: str | Path, name: str) -> None:
    """Write groups, times and agents in the Cornell layout; features, outcomes and group names have no place there."""
    if not isinstance(data.times[0], int):
        raise ArgumentTypeError(
            f"times are {type(data.times[0]).__name__}; this layout holds integers, so use write_hif"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    node = data.hyperedge_index[0].cpu() + 1
    times = [data.times[t] for t in data.hyperedge_time.tolist()]
    labels = [f"{i + 1} {str(one).splitlines()[0] if str(one) else ''}" for i, one in enumerate(data.node_ids)]
    columns = {
        "nverts": data.hyperedge_size.tolist(),
        "simplices": node.tolist(),
        "times": times,
        "node-labels": labels,
    }
    for kind, lines in columns.items():
        write_text(folder / f"{name}-{kind}.txt", "".join(f"{line}\n" for line in lines))


def _find(folder: Path) -> str:
    found = sorted(path.name.removesuffix("-nverts.txt") for path in folder.glob("*-nverts.txt"))
    if len(found) != 1:
        problem = f"there are {len(found)} files NAME-nverts.txt ({', '.join(found) or 'none'})"
        raise single_fault(str(folder), problem, "Give the folder of one data set, or name=")
    return found[0]


def _text(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise single_fault(path.name, f"the file cannot be read ({error})", "Copy it again") from error


def _integers(path: Path) -> np.ndarray:
    lines = _text(path)
    try:
        return np.array([int(line) for line in lines], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        row = next(i for i, line in enumerate(lines) if not line.strip().lstrip("-").isdigit() or len(line) > 18)
        raise single_fault(
            path.name, f"{lines[row]!r} is not an integer", "Write one integer per line", row=row + 1, value=lines[row]
        ) from error


def _stamps(path: Path, count: int) -> np.ndarray:
    if not path.is_file():
        return np.zeros(count, dtype=np.int64)
    stamps = _integers(path)
    if len(stamps) != count:
        raise single_fault(path.name, f"there are {len(stamps)} times for {count} groups", "Write one time per group")
    return stamps


def _labels(path: Path, largest: int) -> list[int] | list[str]:
    if not path.is_file():
        return list(range(1, largest + 1))
    lines = _text(path)
    numbered = [line.partition(" ") for line in lines]
    if all(number == str(i + 1) for i, (number, _, _) in enumerate(numbered)):
        lines = [label for _, _, label in numbered]
    if len(set(lines)) == len(lines):
        return lines
    # Labels that are shared (two people of one name) cannot be ids: the numbers can.
    return list(range(1, len(lines) + 1))
