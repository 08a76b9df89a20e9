"""The collaboration data set: its card, its options, and the choice between its layouts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sphunc._checks import whole_number
from sphunc.datasets.card import Dataset, DatasetCard, refuse
from sphunc.datasets.collaboration.congress import ROSTERS, is_congress, read_congress
from sphunc.datasets.collaboration.cornell import is_cornell, read_meetings
from sphunc.datasets.collaboration.papers import in_years, metadata_file, paper_tables, read_metadata
from sphunc.datasets.tables import DatasetTables, choose
from sphunc.errors import ArgumentError, DataError

CARD = DatasetCard(
    name="collaboration",
    title="Collaboration over time: papers and their authors (AAN), committees and their members (US Congress)",
    source=(
        "AAN: http://tangra.cs.yale.edu/newaan/ ; its acl-metadata.txt also at https://github.com/comrank/ComRank",
        "Congress: https://github.com/PhilChodrow/HypergraphModularity, data/congress-committees and data/cosponsor",
    ),
    licence=(
        "AAN: research release of the University of Michigan, none stated; committees (Stewart and Woon) public, cite; "
        "member statistics copyright James Fowler, all rights reserved, please cite"
    ),
    citation=(
        "Radev et al. 2013, Language Resources and Evaluation 47 (AAN); Stewart and Woon, Congressional Committee "
        "Assignments; Fowler 2006, Social Networks 28 and Political Analysis 14 (SH.csv)"
    ),
    obtain="take acl-metadata.txt, or house_committees.csv with SH.csv, from the addresses in source",
    layout=(
        "AAN:      acl-metadata.txt or acl-metadata.txt.gz (records id, author, title, venue, year; Latin-1)",
        "Congress: house_committees.csv or senate_committees.csv, with SH.csv",
        "Cornell:  X-nverts.txt, X-simplices.txt, X-times.txt, X-node-labels.txt (groups only)",
    ),
    redistributable=False,
    expected={
        "aan": {"papers": 18041, "years": 39},
        "congress H": {"roster rows": 11863, "roster members": 1260, "roster congresses": 13, "congresses": 6},
    },
    checksums={
        "aan": {"acl-metadata.txt": "18270ee8ff9a63c6c4aac54828d3b3500a0b70913ff8a886e65a178bbcb20c33"},
        "congress H": {
            "house_committees.csv": "46cc7e56c3ee05c27ee123e0341a292f59de564772277f2bb4c7c890a90b99d0",
            "SH.csv": "5d782b9c5807e149dd73ea9626f6f6e6d42cf046d24fb6c5f851a3c86d5fb9a7",
        },
    },
)


@dataclass(frozen=True, kw_only=True)
class CollaborationOptions:
    """How papers or committees become times, groups and outcomes.

    Attributes:
        years: AAN: first and last year; None = all.
        min_papers: AAN: authors with fewer papers in those years are left out. More than 1 selects agents by what they
            do later as well: fair for description, not for a test of forecasts.
        buckets: AAN: columns of the hashed titles.
        chamber: Congress: "H" or "S".
        outcome: Congress: "ideology" (thirds per Congress) or "party". AAN has one outcome, the venue family.
        step: Cornell: length of a time step in the units of the file.
        smallest_group: papers or committees with fewer members make no group.
    """

    years: tuple[int, int] | None = None
    min_papers: int = 1
    buckets: int = 32
    chamber: str = "H"
    outcome: str = "ideology"
    step: int = 1
    smallest_group: int = 1

    def __post_init__(self) -> None:
        choose("chamber", self.chamber, tuple(ROSTERS))
        choose("outcome", self.outcome, ("ideology", "party"))
        for name in ("min_papers", "buckets", "step", "smallest_group"):
            whole_number(name, getattr(self, name), least=1)
        if self.years is not None and (len(self.years) != 2 or self.years[0] > self.years[1]):
            raise ArgumentError(f"years={self.years!r}; give (first, last)")


def read(root: Path, options: CollaborationOptions) -> DatasetTables:
    """Read whichever layout is there.

    Args:
        root: folder of the data set, or its metadata file.
        options: how papers or committees become tables.
    """
    smallest = options.smallest_group
    metadata = metadata_file(root)
    try:
        if metadata is not None:
            return _read_aan(metadata, options)
        if is_cornell(root):
            return read_meetings(root, width=options.step, smallest=smallest)
        if is_congress(root):
            return read_congress(root, chamber=options.chamber, outcome=options.outcome, smallest=smallest)
    except DataError as error:
        refuse(CARD, root, str(error))
    return refuse(CARD, root, "holds neither papers nor committees")


def _read_aan(path: Path, options: CollaborationOptions) -> DatasetTables:
    papers = in_years(read_metadata(path), options.years)
    if not papers:
        raise ArgumentError(f"years={options.years!r}: {path.name} has no paper in these years")
    release = "aan"
    if options.years is not None:
        first, last = options.years
        release = f"aan {first}-{last}"
    return paper_tables(
        papers,
        buckets=options.buckets,
        min_papers=options.min_papers,
        smallest=options.smallest_group,
        release=release,
    )


DATASET = Dataset(CARD, CollaborationOptions, read)
