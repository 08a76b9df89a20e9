from pathlib import Path

import pytest

import sphunc
from sphunc.datasets.collaboration import CollaborationOptions

RECORD = "id = {{{}}}\nauthor = {{{}}}\ntitle = {{{}}}\nvenue = {{V}}\nyear = {{{}}}\n\n"


@pytest.fixture
def aan(tmp_path: Path) -> Path:
    records = [("P99-1", "Hill, Ada; Moor, Ben", "On moss", 1999), ("D00-1", "Hill, Ada; Fen, Cy", "On peat", 2000)]
    (tmp_path / "acl-metadata.txt").write_text("".join(RECORD.format(*record) for record in records))
    return tmp_path


def test_papers_become_a_hypergraph(aan: Path) -> None:
    data = sphunc.load_dataset("collaboration", aan)
    assert data.times == (1999, 2000)
    assert data.hyperedge_ids == ("P99-1", "D00-1")
    assert data.node_ids == ("Fen, Cy", "Hill, Ada", "Moor, Ben")
    assert data.num_classes == 10
    assert data.num_features == 36
    assert data.present.tolist() == [[False, True, True], [True, True, False]]


def test_years_are_chosen(aan: Path) -> None:
    data = sphunc.load_dataset("collaboration", aan, years=(2000, 2005))
    assert data.attributes["dataset"]["release"] == "aan 2000-2005"
    assert data.attributes["dataset"]["differences"] == []
    with pytest.raises(sphunc.ArgumentError, match="has no paper in these years"):
        sphunc.load_dataset("collaboration", aan, years=(1900, 1901))


def test_faults_come_with_the_papers(tmp_path: Path) -> None:
    (tmp_path / "acl-metadata.txt").write_text("id = {P1}\n")
    with pytest.raises(sphunc.DataError, match=r"no author, title, year(.|\n)*To obtain it"):
        sphunc.load_dataset("collaboration", tmp_path)


def test_options_are_checked() -> None:
    with pytest.raises(sphunc.ArgumentError, match=r"years=\(2, 1\); give \(first, last\)"):
        CollaborationOptions(years=(2, 1))
    with pytest.raises(sphunc.ArgumentError, match="chamber='X' is not known"):
        CollaborationOptions(chamber="X")
