from pathlib import Path

import pytest

import sphunc
from sphunc.datasets.snare import SnareOptions


@pytest.fixture
def siena(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "net1.dat").write_text("0 1 0\n0 0 1\n0 0 0\n")
    (folder / "net2.dat").write_text("0 1 1\n1 0 0\n0 9 0\n")
    (folder / "smoke.dat").write_text("1 2\n1 1\n3 3\n")
    (folder / "age.dat").write_text("13\n14\n13\n")
    return folder


def test_siena_folder_becomes_a_hypergraph(siena: Path) -> None:
    data = sphunc.load_dataset("snare", siena)
    assert data.attributes["dataset"]["release"] == "siena"
    assert data.times == (1, 2)
    assert data.num_hyperedges == 4
    assert data.hyperedge_ids == ("1", "2", "1", "2")
    assert data.influence_kind == "observed nomination"
    assert data.feature_names == ("age", "ties sent", "ties received", "ties mutual")
    assert data.y is not None
    assert data.y[1].tolist() == [1, 0, 2]


def test_study_may_lie_one_folder_down(siena: Path) -> None:
    assert sphunc.load_dataset("snare", siena.parent).num_nodes == 3


def test_several_studies_are_named(siena: Path) -> None:
    (siena.parent / "other").mkdir()
    for path in siena.iterdir():
        (siena.parent / "other" / path.name).write_text(path.read_text())
    with pytest.raises(sphunc.DataError, match=r"holds several studies \(other, study\)"):
        sphunc.load_dataset("snare", siena.parent)


def test_faults_come_with_the_papers(siena: Path) -> None:
    (siena / "net2.dat").write_text("0 7 0\n0 0 1\n0 0 0\n")
    with pytest.raises(sphunc.DataError, match=r"code 7 is neither(.|\n)*Licence: SNARE is not public"):
        sphunc.load_dataset("snare", siena)
    data = sphunc.load_dataset("snare", siena, ties="1 7")
    assert data.attributes["dataset"]["counts"]["ties wave 2"] == 2


def test_folder_without_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sphunc.DataError, match="holds no peer study"):
        sphunc.load_dataset("snare", tmp_path)


def test_own_tables_are_read(tmp_path: Path) -> None:
    (tmp_path / "features.csv").write_text("time,agent,x\n1,a,0.5\n1,b,1.5\n2,a,0.1\n2,b,0.2\n")
    (tmp_path / "groups.csv").write_text("time,group,agent\n1,g,a\n1,g,b\n")
    data = sphunc.load_dataset("snare", tmp_path)
    assert (data.num_nodes, data.num_hyperedges) == (2, 1)
    with pytest.raises(sphunc.ArgumentError, match="tables, which take no options of snare; got outcome"):
        sphunc.load_dataset("snare", tmp_path, outcome="smoke")


def test_options_are_checked() -> None:
    with pytest.raises(sphunc.ArgumentError, match="smallest_group=0 must be at least 1"):
        SnareOptions(smallest_group=0)
