"""The Cornell layout: four text files, agents numbered from 1."""

import datetime as dt

import pytest

from sphunc import DataError
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import assemble
from sphunc.io import read_cornell, write_cornell


def fill(folder, **changes):
    files = {"nverts": "2\n3\n1\n", "simplices": "1\n2\n3\n2\n1\n3\n", "times": "105\n100\n231\n", **changes}
    for kind, text in files.items():
        (folder / f"toy-{kind}.txt").write_text(text)
    return folder


def test_reads_groups_in_time_order(tmp_path):
    data = read_cornell(fill(tmp_path))
    assert (data.node_ids, data.times, data.hyperedge_ids) == ((1, 2, 3), (100, 105, 231), (1, 0, 2))
    assert data.hyperedge_index.tolist() == [[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 2]]


def test_bins_round_times_down(tmp_path):
    assert read_cornell(fill(tmp_path), bin=100).times == (100, 200)
    with pytest.raises(ArgumentError, match="bin is 0; give a width of at least 1"):
        read_cornell(tmp_path, bin=0)


def test_labels_with_and_without_numbers(tmp_path):
    labels = {"node-labels": "1 Ada Lovelace\n2 Bob\n3 Eve\n4 nobody\n"}
    assert read_cornell(fill(tmp_path, **labels)).node_ids == ("Ada Lovelace", "Bob", "Eve", "nobody")
    assert read_cornell(fill(tmp_path, **{"node-labels": "x\ny\nz\n"})).node_ids == ("x", "y", "z")
    assert read_cornell(fill(tmp_path, **{"node-labels": "x\nx\nz\n"})).node_ids == (1, 2, 3)


def test_an_agent_written_twice_is_there_once(tmp_path):
    assert read_cornell(fill(tmp_path, simplices="1\n1\n3\n2\n1\n3\n")).hyperedge_size.tolist() == [3, 1, 1]


def test_there_and_back_gives_the_same(tmp_path):
    data = assemble(
        times=[1, 5],
        node_ids=["Ada L", "b", "isolated"],
        hyperedge_ids=[0, 1, 2],
        hyperedge_time=[0, 1, 1],
        memberships=([0, 0, 2], [0, 1, 1]),
    )
    write_cornell(data, tmp_path / "new", "toy")
    assert read_cornell(tmp_path / "new").same_as(data)


def test_times_that_are_no_integers_are_refused(tmp_path):
    with pytest.raises(ArgumentTypeError, match="times are date; this layout holds integers, so use write_hif"):
        write_cornell(assemble(times=[dt.date(2026, 1, 1)], node_ids=["a"]), tmp_path, "toy")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nverts": "2\n3\n"}, "toy-nverts.txt: the sizes add up to 5, but toy-simplices.txt has 6 lines"),
        ({"nverts": "2\nx\n1\n"}, "toy-nverts.txt row 2: 'x' is not an integer. Write one integer per line"),
        ({"times": "1\n2\n"}, "toy-times.txt: there are 2 times for 3 groups"),
        ({"simplices": "1\n2\n0\n2\n1\n3\n"}, r"toy-simplices.txt row 3: agent 0 is outside 1 \.\.\. 3"),
        ({"node-labels": "x\ny\n"}, r"toy-simplices.txt row 3: agent 3 is outside 1 \.\.\. 2"),
        ({"times": "9" * 40 + "\n1\n1\n"}, "toy-times.txt row 1: '9+' is not an integer"),
    ],
)
def test_faulty_files(tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        read_cornell(fill(tmp_path, **changes))


def test_which_data_set_is_meant(tmp_path):
    with pytest.raises(DataError, match=r"there are 0 files NAME-nverts.txt \(none\)"):
        read_cornell(tmp_path)
    fill(tmp_path)
    (tmp_path / "other-nverts.txt").write_text("")
    with pytest.raises(DataError, match=r"there are 2 files NAME-nverts.txt \(other, toy\)"):
        read_cornell(tmp_path)
    assert read_cornell(tmp_path, "toy").num_nodes == 3
    with pytest.raises(DataError, match=r"none-nverts\.txt: the file cannot be read"):
        read_cornell(tmp_path, "none")
