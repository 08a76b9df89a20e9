"""Committees of the United States Congress: rosters per Congress and statistics of the members, as tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.datasets.tables import DatasetTables, large_groups
from sphunc.errors import DataError

ROSTERS = {"H": "house_committees.csv", "S": "senate_committees.csv"}
STATISTICS = "SH.csv"
IDEOLOGY = ("left", "centre", "right")
PARTIES = {100: "Democrat", 200: "Republican"}
SEAT_KEYS = {"id", "committee", "session"}
MEMBER_KEYS = {"congress", "ids", "party"}
COUNTS = ("sponsored", "pl", "pb", "pa", "inu", "inb", "inw", "outu", "outb", "outw")
MEMBER = ("seniority", *COUNTS)
NETWORK = ("betweeness", "closeness", "evcent", "connectedness", "cc")
"""Columns that a table of statistics may lack."""
IN_LOGARITHMS = (*COUNTS, "betweeness")
LARGEST_KEY = 1e15  # floats below it are exact


def is_congress(root: Path) -> bool:
    """Whether a folder holds a roster and the statistics."""
    return (root / STATISTICS).is_file() and any((root / name).is_file() for name in ROSTERS.values())


def read_congress(root: Path, *, chamber: str, outcome: str, smallest: int) -> DatasetTables:
    """Read the Congresses for which both a roster and statistics exist.

    Groups are committees (a member is listed once per committee, even if the roster has it twice). The score and the
    party are no features when they are the outcome.

    Args:
        root: folder of the files.
        chamber: "H" or "S".
        outcome: "ideology", the third of the chamber's first ideology score in that Congress, or "party".
        smallest: fewest members of a committee.
    """
    roster = _roster(root, chamber)
    members = _statistics(root, chamber)
    times = set(roster["time"]) & set(members["time"])
    if not times:
        raise DataError(f"{root}: roster and {STATISTICS} share no Congress; get both of the same release")
    seats = roster.filter(pl.col("time").is_in(times))
    members = members.filter(pl.col("time").is_in(times))
    if outcome == "party":
        outcomes, classes = _parties(members)
    else:
        outcomes = _ideologies(members)
        classes = IDEOLOGY
    return DatasetTables(
        features=_features(members, outcome),
        groups=large_groups(seats, smallest),
        outcomes=outcomes,
        class_names=classes,
        release=f"congress {chamber}",
        counts=_counts(roster, seats, members),
        notes=(f"outcome: {outcome} of the member in that Congress",),
    )


def _read(path: Path, keys: set[str], numbers: set[str]) -> pl.DataFrame:
    """Read a table whose ``keys`` hold whole numbers, and whose ``numbers`` hold numbers, NA or nothing."""
    if not path.is_file():
        raise DataError(f"{path}: is not there")
    try:
        table = pl.read_csv(path, infer_schema_length=None, null_values=["NA", ""], encoding="utf8-lossy")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    absent = sorted((keys | numbers).difference(table.columns))
    if absent:
        raise DataError(f"{path}: lacks the column(s) {', '.join(absent)}; columns: {', '.join(table.columns)}")
    for name in [name for name in table.columns if name in {*keys, *numbers, *NETWORK}]:
        number = table[name].cast(pl.Float64, strict=False)
        if name in keys:
            what = "a whole number"
            valid = (number == number.round()) & (number.abs() < LARGEST_KEY)
            number = number.fill_nan(None).cast(pl.Int64, strict=False)
            valid = valid.fill_null(False)
        else:
            what = "a number or NA"
            valid = number.is_finite().fill_null(False) | table[name].is_null()
        if not valid.all():
            row = (~valid).arg_max() or 0
            raise DataError(f"{path} row {row + 2}, column {name}: {table[name][row]!r} is not {what}; correct it")
        table = table.with_columns(number)
    return table


def _roster(root: Path, chamber: str) -> pl.DataFrame:
    """Return ``time, group, agent``, one row per seat."""
    table = _read(root / ROSTERS[chamber], SEAT_KEYS, set())
    return table.select(
        pl.col("session").alias("time"),
        pl.format("committee {}", "committee").alias("group"),
        pl.col("id").cast(pl.String).alias("agent"),
    )


def _statistics(root: Path, chamber: str) -> pl.DataFrame:
    """Return ``time, agent`` and the statistics, one row per member of the chamber."""
    table = _read(root / STATISTICS, MEMBER_KEYS, {"ideol1", "ideol2", *MEMBER})
    if "chamber" not in table.columns:
        raise DataError(f"{root / STATISTICS}: lacks the column chamber (H or S)")
    members = table.filter(pl.col("chamber") == chamber).rename({"congress": "time"})
    members = members.with_columns(pl.col("ids").cast(pl.String).alias("agent"))
    return members.unique(["time", "agent"], keep="first", maintain_order=True)


def _features(members: pl.DataFrame, outcome: str) -> pl.DataFrame:
    columns = []
    for name in (*MEMBER, *NETWORK):
        if name in IN_LOGARITHMS and name in members.columns:
            columns.append(pl.col(name).log1p().alias(f"log_{name}"))
        elif name in members.columns:
            columns.append(pl.col(name))
    if outcome == "party":
        columns += [pl.col("ideol1"), pl.col("ideol2")]
    else:
        columns += [pl.col("ideol2"), (pl.col("party") == 200).cast(pl.Float64).alias("republican")]
    return members.select("time", "agent", *columns).sort("time", "agent")


def _parties(members: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    party = pl.col("party").replace_strict(PARTIES, default="other", return_dtype=pl.String)
    outcomes = members.select("time", "agent", party.alias("outcome"))
    present = set(outcomes["outcome"])
    return outcomes, tuple(name for name in (*PARTIES.values(), "other") if name in present)


def _ideologies(members: pl.DataFrame) -> pl.DataFrame:
    scored = members.drop_nulls("ideol1")
    rank = pl.col("ideol1").rank("ordinal").over("time") - 1
    third = (rank * len(IDEOLOGY) // pl.len().over("time")).cast(pl.Int64)
    name = third.replace_strict(dict(enumerate(IDEOLOGY)), return_dtype=pl.String)
    return scored.select("time", "agent", name.alias("outcome"))


def _counts(roster: pl.DataFrame, seats: pl.DataFrame, members: pl.DataFrame) -> dict[str, int]:
    seated = seats.select("time", "agent").unique()
    known = seated.join(members, on=["time", "agent"], how="semi")
    return {
        "roster rows": roster.height,
        "roster members": roster["agent"].n_unique(),
        "roster congresses": roster["time"].n_unique(),
        "seats listed twice": roster.height - roster.unique().height,
        "congresses": seats["time"].n_unique(),
        "committees": seats.select("time", "group").unique().height,
        "seated members": seated.height,
        "seated members with statistics": known.height,
    }
