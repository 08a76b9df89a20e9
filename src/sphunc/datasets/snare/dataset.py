"""Longitudinal peer studies: SNARE itself (not public), and Glasgow, s50 or any study in SIENA formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sphunc._checks import whole_number
from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.snare.glasgow import is_glasgow, read_glasgow, read_r
from sphunc.datasets.snare.peers import CLASS_NAMES, study_tables
from sphunc.datasets.tables import DatasetTables
from sphunc.errors import DataError
from sphunc.io import SienaStudy, decode, is_session, read_siena


def _glasgow_counts() -> dict[str, int]:
    """Counts of the Glasgow study: ties, pupils who were there, and answers on tobacco, per wave."""
    counts = {"agents": 160, "waves": 3}
    for wave, ties, present, *tobacco in (
        (1, 587, 150, 127, 11, 12),  # one pupil of wave 1 names himself: 586 ties join different pupils
        (2, 516, 146, 112, 9, 25),
        (3, 497, 137, 98, 6, 33),
    ):
        counts[f"tie cells wave {wave}"] = ties
        counts[f"present wave {wave}"] = present
        for answer, count in zip(CLASS_NAMES["tobacco"], tobacco, strict=True):
            counts[f"tobacco {answer} wave {wave}"] = count
    return counts


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
        "glasgow": _glasgow_counts(),
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
        whole_number("smallest_group", self.smallest_group, least=1)


def read(root: Path, options: SnareOptions) -> DatasetTables:
    """Read whichever layout is there.

    Args:
        root: a study, or the folder that holds it.
        options: how the study becomes tables.
    """
    study, release = _study(_study_path(root), options)
    return study_tables(
        study, outcome=options.outcome, network=options.network, smallest=options.smallest_group, release=release
    )


def _study(path: Path, options: SnareOptions) -> tuple[SienaStudy, str]:
    """Return the study and the name of its release."""
    if is_glasgow(path):
        return read_glasgow(path), "glasgow"
    if path.suffix.lower() in {".rda", ".rdata"}:
        return _rsiena(path), "s50"
    try:
        study = read_siena(path, group=options.group, missing=options.missing, ties=options.ties)
    except DataError as error:
        refuse(CARD, path, str(error))
    names = (*study.networks, *study.values)
    if len(study.ids) == 50 and any(name.startswith("s50") for name in names):
        return study, "s50"
    return study, "siena"


def _rsiena(path: Path) -> SienaStudy:
    found = read_r(path)
    waves = ("s501", "s502", "s503")
    absent = [name for name in (*waves, "s50a", "s50s") if name not in found]
    if absent:
        refuse(CARD, path, f"lacks {', '.join(absent)}")
    network = decode(np.stack([found[name] for name in waves]))
    ids = tuple(f"{i + 1:02d}" for i in range(network.tie.shape[1]))
    values = {"alcohol": found["s50a"].astype(float), "smoke": found["s50s"].astype(float)}
    return SienaStudy(ids, (1, 2, 3), {"s50": network}, values)


def _study_path(root: Path) -> Path:
    """Return the folder or file to read: the root, or the one folder in it that holds networks and values."""
    if _holds_study(root):
        return root
    below = [path for path in sorted(root.glob("*")) if _holds_study(path)]
    with_values = [path for path in below if path.is_dir() and (is_glasgow(path) or not _sessions(path))]
    candidates = with_values or below
    if len(candidates) == 1:
        return candidates[0]
    if below:
        names = ", ".join(path.name for path in below)
        refuse(CARD, root, f"holds several studies ({names}); give the path of one")
    return refuse(CARD, root, "holds no peer study")


def _holds_study(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() == ".rda" or (path.suffix == ".csv" and is_session(path))
    return is_glasgow(path) or _sessions(path) or any(path.glob("*.dat")) or any(path.glob("*.net"))


def _sessions(path: Path) -> bool:
    return any(is_session(file) for file in path.glob("*.csv"))


DATASET = Dataset(CARD, SnareOptions, read)
