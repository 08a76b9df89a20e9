"""Files of SIENA: numbers, codes and ties as they are written, faults named by their row."""

from pathlib import Path

import pytest

from sphunc.errors import DataError
from sphunc.io.formats.siena_files import read_edge_list, read_matrix, read_pajek, read_table


def test_edge_lists_give_the_codes_of_every_wave(tmp_path: Path) -> None:
    path = tmp_path / "edges.dat"
    path.write_text("1 2 1 1\n3 1 9 1\n2 3 10 4\n")
    waves = read_edge_list(path)
    assert {wave: codes.tolist() for wave, codes in waves.items()} == {
        1: [[0, 1, 0], [0, 0, 0], [9, 0, 0]],
        4: [[0, 0, 0], [0, 0, 10], [0, 0, 0]],
    }


def test_labels_of_pajek_with_quotes_without_and_none(tmp_path: Path) -> None:
    path = tmp_path / "a.net"
    path.write_text('% a comment\n*Vertices 4\n1 "Ada L" 0.5\n2 bob\n3 ""\n*Arcs\n1 2 2\n')
    codes, labels = read_pajek(path)
    assert labels == ("Ada L", "bob", "3", "4")
    assert codes[0, 1] == 2


def test_undirected_pajek_edges_and_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.net"
    path.write_text("*Vertices 2\n*Edges\n1 2\n")
    assert read_pajek(path)[0].tolist() == [[0, 1], [1, 0]]
    path.write_text("*Vertices 2\n*Matrix\n0 1\n0 0\n")
    assert read_pajek(path)[0].tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n0\n", "row 2: 1 numbers, but the first row has 2"),
        ("0 1\n0 x\n", "row 2: could not convert"),
        ("", "holds no numbers"),
        ("0 1 1\n0 0 1\n", "2 rows of 3 codes"),
    ],
)
def test_faulty_matrix_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wave1.dat"
    path.write_text(text)
    with pytest.raises(DataError, match=f"wave1.dat.*{message}"):
        read_matrix(path)


def test_faulty_bytes_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "wave1.dat"
    path.write_bytes(b"0 1\xff")
    with pytest.raises(DataError, match="byte 3 is not UTF-8"):
        read_table(path)
    with pytest.raises(DataError, match=r"nowhere\.dat: cannot be read"):
        read_table(tmp_path / "nowhere.dat")


def test_actor_outside_the_study_is_named(tmp_path: Path) -> None:
    path = tmp_path / "edges.dat"
    path.write_text("1 7 1 1\n")
    with pytest.raises(DataError, match=r"actor 7 is not one of 1 \.\.\. 4"):
        read_edge_list(path, 4)
