"""The ACL Anthology Network: papers with authors, title, venue and year, from its metadata file to tables."""

from __future__ import annotations

import gzip
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sphunc.datasets.reading import Reading, dominant, large_groups
from sphunc.datasets.words import hashed_words, word_columns
from sphunc.errors import DataError

METADATA = ("acl-metadata.txt", "acl-metadata.txt.gz")
# The first letter of an Anthology id names the venue, whatever its many spellings in the venue field.
FAMILIES = {
    "acl": "P",
    "coling": "C",
    "emnlp": "D",
    "naacl-hlt-anlp": "NHA",
    "eacl": "E",
    "journal": "JQ",
    "lrec": "L",
    "ijcnlp": "I",
    "programme": "MTX",
    "workshop": "",
}
_FAMILY_OF = {letter: family for family, letters in FAMILIES.items() for letter in letters}
_FIELD = re.compile(r"^(id|author|title|venue|year) = \{(.*)\}\s*$")
_DOUBLED, _JOINT = re.compile(r"(&#?\w+;);"), "\x1f"


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper; authors in their order, each once."""

    id: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int

    @property
    def family(self) -> str:
        """The family of venues that the id tells; all that is no conference or journal is a workshop."""
        return _FAMILY_OF.get(self.id[:1].upper(), "workshop")


def metadata_file(root: Path) -> Path | None:
    """Return the metadata file in a folder (or the file itself), plain or gzipped."""
    if root.is_file():
        return root if root.name in METADATA else None
    return next((root / name for name in METADATA if (root / name).is_file()), None)


def read_metadata(path: Path) -> list[Paper]:
    """Read blank-line separated records ``id = {..}, author = {A; B}, title, venue, year``, in Latin-1."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    papers, faults, record = [], [], {}
    for number, line in enumerate([*content.decode("latin-1").split("\n"), ""], start=1):
        if found := _FIELD.match(line):
            record[found[1]] = found[2].strip()
        elif line.strip():
            faults.append(f"row {number}: {line.strip()[:60]!r} is not 'name = {{value}}'")
        elif record:
            _add(papers, faults, record, number)
            record = {}
    if faults or not papers:
        shown = "; ".join(faults[:20]) or "no record in it"
        raise DataError(f"{path.name}: {len(faults)} fault(s): {shown}; get the file anew")
    return papers


def _add(papers: list[Paper], faults: list[str], record: dict[str, str], number: int) -> None:
    absent = [name for name in ("id", "author", "title", "year") if name not in record]
    if absent or not (record["year"].isascii() and record["year"].isdigit()):
        what = f"no {', '.join(absent)}" if absent else f"year {record['year']!r} is not a number"
        faults.append(f"record before row {number}: {what}")
        return
    title = html.unescape(record["title"])
    authors = split_authors(record["author"])
    papers.append(Paper(record["id"], authors, title, record.get("venue", ""), int(record["year"])))


def split_authors(text: str) -> tuple[str, ...]:
    """Split ``Last, First; Last, First``; entities (``&eacute;``) are decoded first, as they hold semicolons too.

    Names were already split at such semicolons when the file was made: ``Gispert, Adri&agrave;; de`` is one author,
    and so is ``&Oacute;; S&eacute;aghdha, Diarmuid``. A doubled semicolon therefore ends an author only where there is
    a comma, that is a whole name, on either side.
    """
    authors: list[str] = []
    for piece in html.unescape(_DOUBLED.sub(rf"\1{_JOINT}", text)).split(";"):
        whole = ""
        for part in (part.strip() for part in piece.split(_JOINT)):
            if "," in whole and "," in part:
                authors.append(whole)
                whole = part
            else:
                whole = f"{whole} {part}".strip()
        authors.append(whole)
    return tuple(dict.fromkeys(author for author in authors if author))


def tables(papers: Sequence[Paper], *, buckets: int, min_papers: int, smallest: int, release: str) -> Reading:
    """Return the tables: authors in the years in which they publish.

    Features of a year use the author's papers up to and including it: mean of their hashed titles, and logarithms of
    the numbers of papers, co-authors and years so far. Nothing later enters.
    """
    rows = authorships(papers)
    often = rows.group_by("agent").len().filter(pl.col("len") >= min_papers)["agent"].implode()
    kept = rows.filter(pl.col("agent").is_in(often))
    return Reading(
        features=_features(kept, papers, buckets),
        groups=large_groups(kept.rename({"paper": "group"}), smallest),
        outcomes=dominant(kept, "family", "so_far"),
        class_names=tuple(FAMILIES),
        release=release,
        counts={
            "papers": len(papers),
            "authors": rows["agent"].n_unique(),
            "authors with 3 papers": int((rows.group_by("agent").len()["len"] >= 3).sum()),
            "authorships": rows.height,
            "years": len({paper.year for paper in papers}),
        },
        notes=("outcome: the venue family of most of the author's papers of the year, by Anthology id",),
    )


def authorships(papers: Sequence[Paper]) -> pl.DataFrame:
    """Return one row per paper and author; ``so_far`` counts the author's papers of that family up to this one."""
    rows = [
        (paper.year, author, paper.id, paper.family, number)
        for number, paper in enumerate(papers)
        for author in paper.authors
    ]
    schema = ["time", "agent", "paper", "family", "row"]
    frame = pl.DataFrame(rows, schema=schema, orient="row").sort("time", "paper", "agent")
    return frame.with_columns(pl.int_range(1, pl.len() + 1).over("agent", "family").alias("so_far"))


def _features(rows: pl.DataFrame, papers: Sequence[Paper], buckets: int) -> pl.DataFrame:
    names = word_columns(buckets)
    hashed = pl.DataFrame(hashed_words((paper.title for paper in papers), buckets), schema=names, orient="row")
    words = rows.select("time", "agent", "row").join(hashed.with_row_index("row").cast({"row": pl.Int64}), on="row")
    yearly = words.group_by("time", "agent").agg(pl.col(names).sum(), pl.len().alias("n")).sort("agent", "time")
    so_far = yearly.with_columns(pl.col([*names, "n"]).cum_sum().over("agent"), pl.col("n").alias("now"))
    met = coauthors_so_far(rows)
    first = pl.col("time").min().over("agent")
    return so_far.join(met, on=["time", "agent"], how="left").select(
        "time",
        "agent",
        *[(pl.col(name) / pl.col("n")).cast(pl.Float32).alias(name) for name in names],
        pl.col("now").cast(pl.Float64).log1p().alias("log_papers_this_year"),
        pl.col("n").cast(pl.Float64).log1p().alias("log_papers_so_far"),
        pl.col("met").fill_null(0).cast(pl.Float64).log1p().alias("log_coauthors_so_far"),
        (pl.col("time") - first).cast(pl.Float64).log1p().alias("log_years_since_first"),
    )


def coauthors_so_far(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ``agent, time, met``: with how many others an agent has shared a paper up to each of its times."""
    pairs = rows.select("time", "agent", "paper").join(rows.select("paper", other="agent"), on="paper")
    new = pairs.filter(pl.col("agent") != pl.col("other")).group_by("agent", "other").agg(pl.col("time").min())
    fresh = new.group_by("agent", "time").len()
    years = rows.select("agent", "time").unique()
    counted = years.join(fresh, on=["agent", "time"], how="left").sort("agent", "time")
    return counted.with_columns(pl.col("len").fill_null(0).cum_sum().over("agent").alias("met")).drop("len")


def in_years(papers: Sequence[Paper], years: tuple[int, int] | None) -> list[Paper]:
    """Return the papers of ``first <= year <= last``, or all."""
    return [paper for paper in papers if years is None or years[0] <= paper.year <= years[1]]
