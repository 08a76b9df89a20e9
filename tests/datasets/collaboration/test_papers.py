import gzip
from pathlib import Path

import polars as pl
import pytest

from sphunc.datasets.collaboration.papers import (
    FAMILIES,
    Paper,
    in_years,
    metadata_file,
    paper_tables,
    read_metadata,
    split_authors,
)
from sphunc.errors import DataError

PAPERS = [
    Paper("P99-1", ("Hill, Ada", "Moor, Ben"), "On moss", "ACL", 1999),
    Paper("W99-2", ("Hill, Ada",), "On lichen", "", 1999),
    Paper("W00-1", ("Hill, Ada", "Fen, Cy"), "On peat", "", 2000),
    Paper("P01-1", ("Hill, Ada", "Moor, Ben", "Fen, Cy"), "On bogs", "", 2001),
]


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        ("Hill, Ada; Moor, Ben", ("Hill, Ada", "Moor, Ben")),
        ("Vale, Andr&eacute;; de; Moor, Ben", ("Vale, André de", "Moor, Ben")),
        ("&Oacute;; Vall&eacute;e, Dara; Moor, Ben", ("Ó Vallée, Dara", "Moor, Ben")),
        ("Dal&eacute;; III, Hal", ("Dalé III, Hal",)),
        ("Vale, Jos&eacute;; A. R.; Moor, Ben", ("Vale, José A. R.", "Moor, Ben")),
        ("Vale, Milo&scaron; ; Moor, Ben", ("Vale, Miloš", "Moor, Ben")),
        ("Vale, Jos&eacute;; Moor, Ben", ("Vale, José", "Moor, Ben")),
        ("Caf&eacute;, Ann", ("Café, Ann",)),
        ("Solo; Hill, Ada; Hill, Ada", ("Solo", "Hill, Ada")),
        ("", ()),
    ],
)
def test_names_are_decoded_before_they_are_split(text: str, authors: tuple[str, ...]) -> None:
    assert split_authors(text) == authors


def test_records_in_latin_1_plain_or_packed(tmp_path: Path) -> None:
    record = "id = {{{}}}\nauthor = {{Gru\u00df, Ada}}\ntitle = {{A &amp; B}}\nvenue = {{X}}\nyear = {{2001}}\n"
    text = "\n".join(record.format(name) for name in ("P01-1001", "J01-2")).encode("latin-1")
    (tmp_path / "acl-metadata.txt.gz").write_bytes(gzip.compress(text))
    packed = read_metadata(tmp_path / "acl-metadata.txt.gz")
    (tmp_path / "acl-metadata.txt").write_bytes(text)
    path = metadata_file(tmp_path)
    assert path is not None
    assert path.suffix == ".txt"
    assert read_metadata(path) == packed
    assert packed[0] == Paper("P01-1001", ("Gruß, Ada",), "A & B", "X", 2001)


def test_faults_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "acl-metadata.txt"
    path.write_text("id = {P1}\nnonsense\nyear = {soon}\nauthor = {A, B}\ntitle = {T}\n\nid = {P2}\n")
    with pytest.raises(DataError, match=r"3 fault\(s\): row 2: 'nonsense'.*year 'soon'.*no author, title, year"):
        read_metadata(path)
    path.write_text("")
    with pytest.raises(DataError, match="no record in it"):
        read_metadata(path)


def test_family_is_told_by_the_id() -> None:
    assert [paper.family for paper in PAPERS] == ["acl", "workshop", "workshop", "acl"]
    assert Paper("H05-1", (), "", "", 2005).family == "naacl-hlt-anlp"
    assert len(FAMILIES) == 10


def test_groups_are_papers_and_outcome_the_family_of_the_year() -> None:
    tables = paper_tables(PAPERS, buckets=4, min_papers=1, smallest=1, release="aan")
    assert tables.groups.select("time", "group").unique().height == 4
    outcome = {(t, a): o for t, a, o in tables.outcomes.iter_rows()}
    assert outcome[2000, "Fen, Cy"] == "workshop"
    assert outcome[1999, "Hill, Ada"] == "acl"  # one paper each so far: the alphabet decides
    assert tables.counts["authors"] == 3
    assert tables.counts["authorships"] == 8


def test_features_use_nothing_later() -> None:
    whole = paper_tables(PAPERS, buckets=4, min_papers=1, smallest=1, release="aan").features
    early = paper_tables(PAPERS[:3], buckets=4, min_papers=1, smallest=1, release="aan").features
    assert whole.filter(pl.col("time") < 2001).sort("time", "agent").equals(early.sort("time", "agent"))


def test_counts_so_far() -> None:
    features = paper_tables(PAPERS, buckets=4, min_papers=1, smallest=1, release="aan").features
    row = features.row(by_predicate=(pl.col("agent") == "Hill, Ada") & (pl.col("time") == 2000), named=True)
    import math

    assert row["log_papers_so_far"] == pytest.approx(math.log1p(3))
    assert row["log_papers_this_year"] == pytest.approx(math.log1p(1))
    assert row["log_coauthors_so_far"] == pytest.approx(math.log1p(2))
    assert row["log_years_since_first"] == pytest.approx(math.log1p(1))


def test_rare_authors_and_years_can_be_left_out() -> None:
    tables = paper_tables(PAPERS, buckets=4, min_papers=3, smallest=1, release="aan")
    assert set(tables.features["agent"]) == {"Hill, Ada"}
    assert [paper.year for paper in in_years(PAPERS, (2000, 2001))] == [2000, 2001]
