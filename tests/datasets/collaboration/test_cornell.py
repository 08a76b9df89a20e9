import math
from pathlib import Path

import polars as pl
import pytest

import sphunc
from sphunc.datasets.collaboration.cornell import is_cornell, read_meetings


@pytest.fixture
def cornell(tmp_path: Path) -> Path:
    files = {"nverts": [2, 3, 1], "simplices": [1, 2, 1, 2, 3, 3], "times": [10, 25, 31]}
    for name, numbers in files.items():
        (tmp_path / f"bills-{name}.txt").write_text("\n".join(map(str, numbers)) + "\n")
    return tmp_path


def test_groups_and_counts_so_far(cornell: Path) -> None:
    assert is_cornell(cornell)
    tables = read_meetings(cornell, width=10, smallest=1)
    assert tables.times == (10, 20, 30)
    assert tables.counts == {"agents": 3, "groups": 3, "times": 3, "memberships": 6}
    row = tables.features.row(by_predicate=(pl.col("agent") == "1") & (pl.col("time") == 20), named=True)
    assert row["log_groups_now"] == pytest.approx(math.log1p(1))
    assert row["log_groups_so_far"] == pytest.approx(math.log1p(2))
    assert row["log_partners_so_far"] == pytest.approx(math.log1p(2))


def test_hypergraph_without_outcome(cornell: Path) -> None:
    data = sphunc.load_dataset("collaboration", cornell, step=10, smallest_group=2)
    assert data.y is None
    assert data.num_hyperedges == 2
    assert data.num_features == 3


def test_faults_come_with_the_papers(cornell: Path) -> None:
    (cornell / "bills-nverts.txt").write_text("2\n9\n1\n")
    with pytest.raises(sphunc.DataError, match=r"the sizes add up to 12(.|\n)*To obtain it"):
        sphunc.load_dataset("collaboration", cornell)
