"""The ACL Anthology Network: papers with authors, title, venue and year, from its metadata file to tables."""

from __future__ import annotations

import gzip
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sphunc.datasets.tables import DatasetTables, dominant, large_groups
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
FAMILY_OF_LETTER = {letter: family for family, letters in FAMILIES.items() for letter in letters}
FIELD = re.compile(r"^(id|author|title|venue|year) = \{(.*)\}\s*$")
ENTITY_AND_SEMICOLON = re.compile(r"(&#?\w+;);")
JOINT = "\x1f"  # stands for a semicolon that may be inside a name
MOST_FAULTS = 20


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
        """The family of venues by the id; all that is no conference or journal is a workshop."""
        return FAMILY_OF_LETTER.get(self.id[:1].upper(), "workshop")


def metadata_file(root: Path) -> Path | None:
    """Return the metadata file in a folder (or the file itself), plain or gzipped."""
    for path in (root, *(root / name for name in METADATA)):
        if path.name in METADATA and path.is_file():
            return path
    return None


def read_metadata(path: Path) -> list[Paper]:
    """Read blank-line separated records ``id = {..}, author = {A; B}, title, venue, year``, in Latin-1."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    papers = []
    faults = []
    record: dict[str, str] = {}
    for number, line in enumerate([*content.decode("latin-1").split("\n"), ""], start=1):
        found = FIELD.match(line)
        if found:
            record[found[1]] = found[2].strip()
        elif line.strip():
            faults.append(f"row {number}: {line.strip()[:60]!r} is not 'name = {{value}}'")
        elif record:
            try:
                papers.append(_paper(record))
            except ValueError as error:
                faults.append(f"record before row {number}: {error}")
            record = {}
    if faults or not papers:
        shown = "; ".join(faults[:MOST_FAULTS]) or "no record in it"
        raise DataError(f"{path.name}: {len(faults)} fault(s): {shown}; get the file anew")
    return papers


def _paper(record: dict[str, str]) -> Paper:
    absent = [name for name in ("id", "author", "title", "year") if name not in record]
    if absent:
        raise ValueError(f"no {', '.join(absent)}")
    year = record["year"]
    if not (year.isascii() and year.isdigit()):
        raise ValueError(f"year {year!r} is not a number")
    authors = split_authors(record["author"])
    return Paper(record["id"], authors, html.unescape(record["title"]), record.get("venue", ""), int(year))


def split_authors(text: str) -> tuple[str, ...]:
    """Split ``Last, First; Last, First``; entities (``&eacute;``) are decoded first, as they hold semicolons too.

    Names were already split at such semicolons when the file was made: ``Gispert, Adri&agrave;; de`` is one author,
    and so is ``&Oacute;; S&eacute;aghdha, Diarmuid``. A doubled semicolon therefore ends an author only where there is
    a comma, that is a whole name, on either side.
    """
    authors: list[str] = []
    for piece in html.unescape(ENTITY_AND_SEMICOLON.sub(rf"\1{JOINT}", text)).split(";"):
        name = ""
        for part in piece.split(JOINT):
            if "," in name and "," in part:
                authors.append(name)
                name = ""
            name = f"{name} {part.strip()}".strip()
        authors.append(name)
    return tuple(dict.fromkeys(author for author in authors if author))


def in_years(papers: Sequence[Paper], years: tuple[int, int] | None) -> list[Paper]:
    """Return the papers of some years.

    Args:
        papers: all of them.
        years: first and last; None takes all.
    """
    if years is None:
        return list(papers)
    first, last = years
    return [paper for paper in papers if first <= paper.year <= last]


def paper_tables(
    papers: Sequence[Paper], *, buckets: int, min_papers: int, smallest: int, release: str
) -> DatasetTables:
    """Return the tables: authors in the years in which they publish.

    Features of a year use the author's papers up to and including it: mean of their hashed titles, and logarithms of
    the numbers of papers, co-authors and years so far. Nothing later enters.

    Args:
        papers: the papers.
        buckets: columns of the hashed titles.
        min_papers: authors with fewer papers are left out.
        smallest: fewest authors of a paper that makes a group.
        release: name of the release.
    """
    rows = authorships(papers)
    papers_of_author = rows.group_by("agent").len()
    often = papers_of_author.filter(pl.col("len") >= min_papers)
    kept = rows.join(often, on="agent", how="semi", maintain_order="left")
    return DatasetTables(
        features=_features(kept, papers, buckets),
        groups=large_groups(kept.rename({"paper": "group"}), smallest),
        outcomes=dominant(kept, "family", "so_far"),
        class_names=tuple(FAMILIES),
        release=release,
        counts={
            "papers": len(papers),
            "authors": papers_of_author.height,
            "authors with 3 papers": int((papers_of_author["len"] >= 3).sum()),
            "authorships": rows.height,
            "years": len({paper.year for paper in papers}),
        },
        notes=("outcome: the venue family of most of the author's papers of the year, by Anthology id",),
    )


def authorships(papers: Sequence[Paper]) -> pl.DataFrame:
    """Return one row per paper and author; ``so_far`` counts the author's papers of that family up to this one."""
    rows = []
    for number, paper in enumerate(papers):
        rows += [(paper.year, author, paper.id, paper.family, number) for author in paper.authors]
    frame = pl.DataFrame(rows, schema=["time", "agent", "paper", "family", "row"], orient="row")
    so_far = pl.int_range(1, pl.len() + 1).over("agent", "family").alias("so_far")
    return frame.sort("time", "paper", "agent").with_columns(so_far)


def _features(rows: pl.DataFrame, papers: Sequence[Paper], buckets: int) -> pl.DataFrame:
    names = word_columns(buckets)
    titles = pl.DataFrame(hashed_words([paper.title for paper in papers], buckets), schema=names, orient="row")
    titles = titles.with_columns(pl.int_range(pl.len()).alias("row"))
    words = rows.select("time", "agent", "row").join(titles, on="row")
    yearly = words.group_by("time", "agent").agg(pl.col(names).sum(), pl.len().alias("n")).sort("agent", "time")
    so_far = yearly.with_columns(pl.col([*names, "n"]).cum_sum().over("agent"), pl.col("n").alias("now"))
    first = pl.col("time").min().over("agent")
    return so_far.join(partners_so_far(rows), on=["time", "agent"], how="left").select(
        "time",
        "agent",
        (pl.col(names) / pl.col("n")).cast(pl.Float32),
        log_count("now", "log_papers_this_year"),
        log_count("n", "log_papers_so_far"),
        log_count("met", "log_coauthors_so_far"),
        (pl.col("time") - first).cast(pl.Float64).log1p().alias("log_years_since_first"),
    )


def log_count(name: str, alias: str) -> pl.Expr:
    """Return log(1 + count).

    Args:
        name: column of the counts; null counts as 0.
        alias: name of the result.
    """
    return pl.col(name).fill_null(0).cast(pl.Float64).log1p().alias(alias)


def partners_so_far(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ``agent, time, met``: with how many others an agent has shared a paper up to each of its times."""
    pairs = rows.select("time", "agent", "paper").join(rows.select("paper", other="agent"), on="paper")
    new = pairs.filter(pl.col("agent") != pl.col("other")).group_by("agent", "other").agg(pl.col("time").min())
    counts = new.group_by("agent", "time").len("met")
    times = rows.select("agent", "time").unique()
    table = times.join(counts, on=["agent", "time"], how="left").sort("agent", "time")
    return table.with_columns(pl.col("met").fill_null(0).cum_sum().over("agent"))
