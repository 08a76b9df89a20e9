"""Committees of the United States Congress: rosters per Congress and statistics of the members, as tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.datasets.reading import Reading, large_groups
from sphunc.errors import DataError

ROSTERS = {"H": "house_committees.csv", "S": "senate_committees.csv"}
STATISTICS = "SH.csv"
IDEOLOGY = ("left", "centre", "right")
PARTIES = {100: "Democrat", 200: "Republican"}
_MEMBER = ("seniority", "sponsored", "pl", "pb", "pa", "inu", "inb", "inw", "outu", "outb", "outw")
_NETWORK = ("betweeness", "closeness", "evcent", "connectedness", "cc")
_SEAT, _WHO = {"id", "committee", "session"}, {"congress", "ids", "party"}
_COUNTED = ("sponsored", "pl", "pb", "pa", "inu", "inb", "inw", "outu", "outb", "outw", "betweeness")


def is_congress(root: Path) -> bool:
    """Whether a folder holds a roster and the statistics."""
    return (root / STATISTICS).is_file() and any((root / name).is_file() for name in ROSTERS.values())


def read_congress(root: Path, *, chamber: str, outcome: str, smallest: int) -> Reading:
    """Read the Congresses for which both a roster and statistics exist.

    Groups are committees (a member is listed once per committee, even if the roster has it twice). The outcome is the
    third of the chamber's first ideology score in that Congress, or the party; the score and the party are no features
    when they are the outcome.
    """
    roster, members = _roster(root, chamber), _statistics(root, chamber)
    times = sorted(set(roster["time"]) & set(members["time"]))
    if not times:
        raise DataError(f"{root}: roster and {STATISTICS} share no Congress; get both of the same release")
    rows = roster.filter(pl.col("time").is_in(times))
    members = members.filter(pl.col("time").is_in(times))
    outcomes, classes = _outcomes(members, outcome)
    return Reading(
        features=_features(members, outcome),
        groups=large_groups(rows, smallest),
        outcomes=outcomes,
        class_names=classes,
        release=f"congress {chamber}",
        counts=_counts(roster, rows, members),
        notes=(f"outcome: {outcome} of the member in that Congress",),
    )


def _read(path: Path, needed: set[str], keys: set[str]) -> pl.DataFrame:
    """Read a table whose ``needed`` columns hold numbers, NA or nothing, and whose ``keys`` hold whole numbers."""
    if not path.is_file():
        raise DataError(f"{path}: is not there")
    try:
        table = pl.read_csv(path, infer_schema_length=None, null_values=["NA", ""], encoding="utf8-lossy")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    if absent := sorted(needed - set(table.columns)):
        raise DataError(f"{path}: lacks the column(s) {', '.join(absent)}; columns: {', '.join(table.columns)}")
    numeric = [name for name in table.columns if name in needed | set(_NETWORK)]
    numbers = table.with_columns(pl.col(numeric).cast(pl.Float64, strict=False))
    for name in numeric:
        number = numbers[name]
        sound = number.is_finite() & ((number == number.round()) & (number.abs() < 1e15) | (name not in keys))
        wrong = ~sound.fill_null(name not in keys) | (number.is_null() & table[name].is_not_null())
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            what = "a whole number" if name in keys else "a number or NA"
            raise DataError(f"{path} row {row + 2}, column {name}: {table[name][row]!r} is not {what}; correct it")
    return numbers.with_columns(pl.col(sorted(keys)).cast(pl.Int64))


def _roster(root: Path, chamber: str) -> pl.DataFrame:
    table = _read(root / ROSTERS[chamber], _SEAT, _SEAT)
    return table.select(
        pl.col("session").alias("time"),
        pl.format("committee {}", pl.col("committee")).alias("group"),
        pl.col("id").cast(pl.String).alias("agent"),
    ).drop_nulls()


def _statistics(root: Path, chamber: str) -> pl.DataFrame:
    table = _read(root / STATISTICS, {*_WHO, "ideol1", "ideol2", *_MEMBER}, _WHO)
    if "chamber" not in table.columns:
        raise DataError(f"{root / STATISTICS}: lacks the column chamber (H or S)")
    found = table.filter(pl.col("chamber") == chamber).rename({"congress": "time"})
    key = pl.col("ids").cast(pl.String).alias("agent")
    return found.with_columns(key).unique(["time", "agent"], keep="first", maintain_order=True)


def _features(members: pl.DataFrame, outcome: str) -> pl.DataFrame:
    present = [name for name in (*_MEMBER, *_NETWORK) if name in members.columns]
    numbers = [
        pl.col(name).cast(pl.Float64).log1p().alias(f"log_{name}")
        if name in _COUNTED
        else pl.col(name).cast(pl.Float64)
        for name in present
    ]
    republican = (pl.col("party") == 200).cast(pl.Float64).alias("republican")
    rest = [pl.col("ideol1"), pl.col("ideol2")] if outcome == "party" else [pl.col("ideol2"), republican]
    return members.select("time", "agent", *numbers, *rest).sort("time", "agent")


def _outcomes(members: pl.DataFrame, outcome: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if outcome == "party":
        named = pl.col("party").replace_strict(PARTIES, default="other", return_dtype=pl.String).alias("outcome")
        found = members.select("time", "agent", named)
        present = set(found["outcome"])
        return found, tuple(name for name in (*PARTIES.values(), "other") if name in present)
    scored = members.drop_nulls("ideol1")
    rank = (pl.col("ideol1").rank("ordinal").over("time") - 1) * len(IDEOLOGY) // pl.len().over("time")
    third = rank.cast(pl.Int64).replace_strict(dict(enumerate(IDEOLOGY)), return_dtype=pl.String).alias("outcome")
    return scored.select("time", "agent", third), IDEOLOGY


def _counts(roster: pl.DataFrame, rows: pl.DataFrame, members: pl.DataFrame) -> dict[str, int]:
    seats = rows.unique()
    known = seats.select("time", "agent").unique().join(members.select("time", "agent"), on=["time", "agent"])
    return {
        "roster rows": roster.height,
        "roster members": roster["agent"].n_unique(),
        "roster congresses": roster["time"].n_unique(),
        "seats listed twice": roster.height - roster.unique().height,
        "congresses": rows["time"].n_unique(),
        "committees": rows.select("time", "group").unique().height,
        "seated members": seats.select("time", "agent").unique().height,
        "seated members with statistics": known.height,
    }
