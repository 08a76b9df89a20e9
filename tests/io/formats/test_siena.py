from pathlib import Path

import numpy as np
import pytest

from sphunc.errors import DataError
from sphunc.io.formats.siena import decode, is_session, read_session, read_siena

HEADER = "Group,Name,Filename,Format,Period,ActorSet,Type,Selected,MissingValues,NonZeroCode,NbrOfActors\n"
WAVES = [
    [[0, 1, 9, 0], [0, 5, 10, 11], [1, 0, 0, 0], [10, 10, 10, 0]],
    [[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 9], [0, 1, 0, 0]],
]


def write_matrix(path: Path, codes: list[list[int]]) -> None:
    path.write_text("\n".join(" " + " ".join(map(str, row)) for row in codes) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for wave, codes in enumerate(WAVES, start=1):
        write_matrix(tmp_path / f"friends-{wave}.dat", codes)
    (tmp_path / "smoke.dat").write_text("1 2\n3 NA\n2 2\n1 1\n")
    (tmp_path / "sex.dat").write_text("1\n2\n2\n1\n")
    (tmp_path / "README.txt").write_text("words, not numbers")
    return tmp_path


def test_codes_mean_what_siena_says() -> None:
    network = decode(np.array(WAVES))
    tie, fixed = network.tie[0], network.fixed[0]
    assert tie[0, 1] == 1
    assert np.isnan(tie[0, 2])
    assert (tie[1, 2], fixed[1, 2]) == (0, True)
    assert (tie[1, 3], fixed[1, 3]) == (1, True)
    assert tie[1, 1] == 0  # the diagonal means nothing
    assert network.ties == [3, 4]
    assert network.answered.tolist() == [[True, True, True, False], [True, True, True, True]]


def test_ties_to_oneself_are_counted_and_left_out() -> None:
    network = decode(np.array([[[1, 1], [0, 0]]]))
    assert (network.ties, network.self_ties) == ([1], (1,))


def test_other_codes_are_named_or_refused() -> None:
    codes = np.array([[[0, 2], [6, 0]]])
    assert decode(codes, ties=(1, 2), missing=(6,)).ties == [1]
    with pytest.raises(DataError, match=r"wave 1, row 1, column 2: code 2 is neither .* name it in ties= or missing="):
        decode(codes)


def test_folder_is_told_by_shapes(folder: Path) -> None:
    study = read_siena(folder)
    assert study.ids == ("1", "2", "3", "4")
    assert study.waves == (1, 2)
    assert list(study.networks) == ["friends"]
    assert np.isnan(study.values["smoke"][1, 1])
    assert study.constants["sex"].tolist() == [1, 2, 2, 1]


def test_all_formats_give_the_same_network(folder: Path) -> None:
    rows = [
        f"{i + 1} {j + 1} {code} {wave + 1}"
        for wave, codes in enumerate(WAVES)
        for i, row in enumerate(codes)
        for j, code in enumerate(row)
        if code
    ]
    (folder / "edges.txt").write_text("\n".join(rows))
    for wave, codes in enumerate(WAVES, start=1):
        arcs = [f"{i + 1} {j + 1} {code}" for i, row in enumerate(codes) for j, code in enumerate(row) if code]
        names = [f'{i} "pupil {i}"' for i in range(1, 5)]
        (folder / f"friends-{wave}.net").write_text("\n".join(["*Vertices 4", *names, "*Arcs", *arcs]))
    sessions = {
        "matrix.csv": [f"G,friends,friends-{w}.dat,matrix,{w},A,network,Yes,9,1, " for w in (1, 2)],
        "edges.csv": ["G,friends,edges.txt,Siena net,1 2,A,network,Yes,9,1,4"],
        "pajek.csv": [f"G,friends,friends-{w}.net,pajek net,{w},A,network,Yes,9,1," for w in (1, 2)],
    }
    expected = decode(np.array(WAVES))
    for name, lines in sessions.items():
        (folder / name).write_text(HEADER + "\n".join(lines))
        network = read_session(folder / name).networks["friends"]
        assert np.array_equal(network.tie, expected.tie, equal_nan=True), name
        assert np.array_equal(network.fixed, expected.fixed), name
    assert read_session(folder / "pajek.csv").ids == ("pupil 1", "pupil 2", "pupil 3", "pupil 4")
    with pytest.raises(DataError, match="holds 3 session tables"):
        read_siena(folder)


def test_session_with_behaviour_and_codes(folder: Path) -> None:
    lines = [f"G,f,friends-{w}.dat,matrix,{w},A,network,Yes,9,1," for w in (1, 2)]
    lines += ["G,smoke,smoke.dat,matrix,1 2,A,behavior,Yes,3,,", "G,sex,sex.dat,matrix,,A,constant covariate,Yes,,,"]
    lines += ["G,distance,nowhere.dat,matrix,1,A,constant dyadic covariate,No,,,"]
    (folder / "session.csv").write_text(HEADER + "\n".join(lines))
    assert is_session(folder / "session.csv")
    study = read_siena(folder)
    assert np.isnan(study.values["smoke"]).sum() == 2
    assert study.constants["sex"].tolist() == [1, 2, 2, 1]


def test_session_with_groups_asks_for_one(folder: Path) -> None:
    lines = [f"{g},f,friends-{w}.dat,matrix,{w},A,network,Yes,9,1," for g in ("G1", "G2") for w in (1, 2)]
    path = folder / "session.csv"
    path.write_text(HEADER + "\n".join(lines))
    with pytest.raises(DataError, match=r"holds 2 groups \(G1, G2\); choose one with group="):
        read_session(path)
    assert read_session(path, "G2").waves == (1, 2)


def test_parts_of_different_size_are_refused(folder: Path) -> None:
    (folder / "smoke.dat").write_text("1 2 3\n3 3 3\n")
    with pytest.raises(DataError, match="'smoke' has 2 rows, but the networks have 4 actors"):
        read_siena(folder)
    (folder / "smoke.dat").write_text("1 2 3 3 3\n" * 4)
    with pytest.raises(DataError, match="'smoke' has 5 columns, but there are 2 waves"):
        read_siena(folder)
