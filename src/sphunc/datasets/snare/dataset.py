"""Longitudinal peer studies: SNARE itself (not public), and Glasgow, s50 or any study in SIENA formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.reading import Reading, at_least
from sphunc.datasets.snare.glasgow import is_glasgow, read_glasgow, read_r
from sphunc.datasets.snare.peers import CLASS_NAMES, tables
from sphunc.errors import DataError
from sphunc.io import SienaStudy, decode, is_session, read_siena

_GLASGOW_TOBACCO = {1: (127, 11, 12), 2: (112, 9, 25), 3: (98, 6, 33)}

CARD = DatasetCard(
    name="snare",
    title="Longitudinal peer studies: adolescents, the friends they name, and what they smoke or drink, per wave",
    source=(
        "SNARE: Social Network Analysis of Risk behaviour in Early adolescence; held by its team, no public release",
        "Glasgow: https://www.stats.ox.ac.uk/~snijders/siena/Glasgow_data.htm",
        "s50: https://www.stats.ox.ac.uk/~snijders/siena/s50_data.htm",
    ),
    licence=(
        "SNARE is not public and must not be passed on; Glasgow and s50 are public teaching data "
        "(cite; s50 also comes with RSiena, GPL-2 or GPL-3)"
    ),
    citation=(
        "Glasgow: Michell and Amos 1997; Pearson and Michell 2000; Pearson and West 2003. "
        "s50: Michell and Amos 1997, in RSiena (Snijders et al.)"
    ),
    obtain="ask the SNARE team for SNARE; download Glasgow or s50 from the SIENA data pages (see source) and unpack",
    layout=(
        "SIENA files:  one n x n matrix per wave (*.dat, *.txt, *.net) and n x waves values, or a session CSV",
        "Glasgow:      Glasgow-{friendship,substances,lifestyle,various,demographic}.RData, or glasgow.npz",
        "RSiena:       RSiena.rda (s501, s502, s503, s50a, s50s)",
    ),
    redistributable=False,
    expected={
        "glasgow": {
            "agents": 160,
            "waves": 3,
            # One pupil of wave 1 names himself: 586 ties join different pupils.
            **{f"tie cells wave {wave}": count for wave, count in zip((1, 2, 3), (587, 516, 497), strict=True)},
            **{f"present wave {wave}": count for wave, count in zip((1, 2, 3), (150, 146, 137), strict=True)},
            **{
                f"tobacco {name} wave {wave}": count
                for wave, counts in _GLASGOW_TOBACCO.items()
                for name, count in zip(CLASS_NAMES["tobacco"], counts, strict=True)
            },
        },
        "s50": {"agents": 50, "waves": 3, "tie cells wave 1": 113, "tie cells wave 2": 116, "tie cells wave 3": 122},
    },
    checksums={
        "s50": {"RSiena.rda": "2ffc6dc8d8166560032340f2b648d9c1dbd1496c5d49768a5c02aa87f31f8fdc"},
        "glasgow": {
            "Glasgow-friendship.RData": "6581a0d171576a37303258a81de13bba09339944a44f70c6364b03e1012b34a7",
            "Glasgow-substances.RData": "5e4788dc220730f74dd0ca5bda388c34b25adb22251e26dfb71b461e5712f7e6",
            "Glasgow-lifestyle.RData": "db2ec70804c386cb7eefd37de492da3dad1795cedb33adeeca8243692ebb4de0",
            "Glasgow-various.RData": "f9976f7ca9a09d9bfd7e54ecefe68ee06d3b0f9d6287d0884475c32f3e00265d",
            "Glasgow-demographic.RData": "11e6bf951e7290e1ea078e7d2dfdaf295aa1bd13a2a8f277bc1f32630b942ee9",
        },
    },
)


@dataclass(frozen=True, kw_only=True)
class SnareOptions:
    """How a study of peers becomes agents, times, groups and outcomes.

    Attributes:
        outcome: the value per wave that is forecast, as its name in the files; None = tobacco (smoke) where there is
            one, else the first. The other values become features.
        network: which network, where a study has several.
        group: which group of a session table with several.
        smallest_group: an ego with fewer members, itself included, makes no group.
        ties: codes of a tie in network files without session table, separated by blanks.
        missing: codes of a missing cell in them.
    """

    outcome: str | None = None
    network: str | None = None
    group: str | None = None
    smallest_group: int = 2
    ties: str = "1"
    missing: str = "9"

    def __post_init__(self) -> None:
        at_least("smallest_group", self.smallest_group, 1)


def read(root: Path, options: SnareOptions) -> Reading:
    """Read whichever layout is there."""
    where = _place(root)
    study, release = _study(where, options)
    return tables(
        study, outcome=options.outcome, network=options.network, smallest=options.smallest_group, release=release
    )


def _study(where: Path, options: SnareOptions) -> tuple[SienaStudy, str]:
    if is_glasgow(where):
        return read_glasgow(where), "glasgow"
    if where.suffix.lower() in {".rda", ".rdata"}:
        return _rsiena(where), "s50"
    try:
        study = read_siena(where, group=options.group, missing=options.missing, ties=options.ties)
    except DataError as error:
        refuse(CARD, where, str(error))
    is_s50 = len(study.ids) == 50 and any(name.startswith("s50") for name in (*study.networks, *study.values))
    return study, "s50" if is_s50 else "siena"


def _rsiena(path: Path) -> SienaStudy:
    found = read_r(path)
    names = ("s501", "s502", "s503", "s50a", "s50s")
    if absent := [name for name in names if name not in found]:
        refuse(CARD, path, f"lacks {', '.join(absent)}")
    network = decode(np.stack([found[name] for name in names[:3]]))
    ids = tuple(f"{i + 1:02d}" for i in range(network.tie.shape[1]))
    values = {"alcohol": found["s50a"].astype(float), "smoke": found["s50s"].astype(float)}
    return SienaStudy(ids, (1, 2, 3), {"s50": network}, values)


def _place(root: Path) -> Path:
    """Return the folder or file to read: the root, or the one folder in it that holds networks and values."""
    if _holds_study(root):
        return root
    below = [path for path in sorted(root.iterdir()) if _holds_study(path)] if root.is_dir() else []
    complete = [path for path in below if _has_values(path)] or below
    if len(complete) == 1:
        return complete[0]
    several = f"holds several studies ({', '.join(path.name for path in below)}); give the path of one"
    return refuse(CARD, root, several if below else "holds no peer study")


def _holds_study(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() in {".rda"} or (path.suffix == ".csv" and is_session(path))
    if not path.is_dir():
        return False
    return (
        is_glasgow(path)
        or any(map(is_session, path.glob("*.csv")))
        or any(path.glob("*.dat"))
        or any(path.glob("*.net"))
    )


def _has_values(path: Path) -> bool:
    return path.is_dir() and (is_glasgow(path) or not any(map(is_session, path.glob("*.csv"))))


DATASET = Dataset(CARD, SnareOptions, read)
