from pathlib import Path

import polars as pl
import pytest

from sphunc.datasets.collaboration.congress import is_congress, read_congress
from sphunc.errors import DataError

COLUMNS = (
    "congress,chamber,labels,ids,seniority,ideol1,ideol2,party,sponsored,pl,pb,pa,inu,inb,inw,outu,outb,outw,closeness"
)


@pytest.fixture
def congress(tmp_path: Path) -> Path:
    roster = ["party,id,committee,session,last,first,other,new_id"]
    roster += [f"1,{member},102,{c},Name,First,,{member}" for c in (103, 104, 110) for member in (1, 2, 3)]
    roster += ["2,4,106,103,Name,First,,4", "2,4,106,103,Name,First,,4"]  # a seat listed twice
    (tmp_path / "house_committees.csv").write_text("\n".join(roster))
    rows = [COLUMNS]
    for c in (102, 103, 104):
        for member, ideology in ((1, "-0.5"), (2, "0.1"), (3, "0.6" if c < 104 else "NA")):
            party = {1: 100, 2: 328, 3: 200}[member]
            rows.append(f"{c},H,NAME,{member},5,{ideology},0.2,{party},3,0,0,0,1,1,1,1,1,1.5,NA")
    rows.append("103,S,NAME,1,5,0.9,0.2,200,3,0,0,0,1,1,1,1,1,1.5,0.5")
    (tmp_path / "SH.csv").write_text("\n".join(rows))
    return tmp_path


def test_congresses_with_roster_and_statistics(congress: Path) -> None:
    assert is_congress(congress)
    tables = read_congress(congress, chamber="H", outcome="ideology", smallest=1)
    assert sorted(set(tables.features["time"])) == [103, 104]
    assert tables.counts["roster rows"] == 11
    assert tables.counts["seats listed twice"] == 1
    assert tables.groups.filter(pl.col("group") == "committee 106").height == 1
    assert tables.counts["seated members with statistics"] == 6


def test_ideology_is_cut_within_a_congress_and_is_no_feature(congress: Path) -> None:
    tables = read_congress(congress, chamber="H", outcome="ideology", smallest=1)
    assert tables.outcomes.filter(pl.col("time") == 103).sort("agent")["outcome"].to_list() == [
        "left",
        "centre",
        "right",
    ]
    assert tables.outcomes.filter(pl.col("time") == 104).height == 2  # NA is no outcome
    assert "ideol1" not in tables.features.columns
    assert "republican" in tables.features.columns


def test_party_is_no_feature_of_itself(congress: Path) -> None:
    tables = read_congress(congress, chamber="H", outcome="party", smallest=1)
    assert tables.class_names == ("Democrat", "Republican", "other")
    assert "republican" not in tables.features.columns
    assert tables.features["closeness"].null_count() == tables.features.height


def test_faults_are_named(congress: Path) -> None:
    with pytest.raises(DataError, match=r"senate_committees\.csv: is not there"):
        read_congress(congress, chamber="S", outcome="party", smallest=1)
    (congress / "house_committees.csv").write_text("id,session\n1,103\n")
    with pytest.raises(DataError, match=r"lacks the column\(s\) committee"):
        read_congress(congress, chamber="H", outcome="party", smallest=1)
    (congress / "house_committees.csv").write_text("id,session,committee\n1,150,102\n")
    with pytest.raises(DataError, match="share no Congress"):
        read_congress(congress, chamber="H", outcome="party", smallest=1)
