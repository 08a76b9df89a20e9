"""One long table is the same as three."""

import pytest

import sphunc
from sphunc.errors import DataError
from sphunc.io.tables.long_table import first_distinct

LONG = """pupil,wave,class,smokes,mood
ann,1,a,no,0.5
ann,1,choir,no,0.5
bob,1,a,yes,
ann,2,a,yes,1
bob,2,,yes,2
"""
ROLES = {"agent": "pupil", "time": "wave", "group": "class", "outcome": "smokes"}


def three():
    return sphunc.from_frames(
        features={"time": [1, 1, 2, 2], "agent": ["ann", "bob", "ann", "bob"], "mood": [0.5, None, 1, 2]},
        groups={"time": [1, 1, 1, 2], "group": ["a", "choir", "a", "a"], "agent": ["ann", "ann", "bob", "ann"]},
        outcomes={"time": [1, 1, 2, 2], "agent": ["ann", "bob"] * 2, "outcome": ["no", "yes", "yes", "yes"]},
        allow_rare_classes=True,
    )


def test_a_file_and_a_file_in_a_folder(tmp_path):
    (tmp_path / "all.csv").write_text(LONG)
    for place, options in ((tmp_path / "all.csv", {}), (tmp_path, {"table": "all.csv"})):
        data = sphunc.read_tables(place, **ROLES, **options, allow_rare_classes=True)
        assert data.same_as(three())


def test_rows_that_contradict_each_other_are_named(tmp_path):
    (tmp_path / "all.csv").write_text(LONG.replace("choir,no,0.5", "choir,no,0.7"))
    with pytest.raises(DataError, match=r"all.csv row 3, column pupil: there is already a row for this time and agent"):
        sphunc.read_tables(tmp_path / "all.csv", **ROLES, allow_rare_classes=True)


def test_outcomes_among_the_features(tmp_path):
    (tmp_path / "features.csv").write_text("time,agent,mood,smokes\n1,a,0.5,yes\n1,b,,yes\n2,a,1,\n")
    (tmp_path / "groups.csv").write_text("time,group,agent\n1,g,a\n1,g,b\n")
    data = sphunc.read_tables(tmp_path, outcome="smokes")
    assert (data.feature_names, data.class_names, int(data.y_mask.sum())) == (("mood",), ("yes",), 2)


def test_first_distinct():
    import polars as pl

    assert first_distinct(pl.DataFrame({"a": [1, 1, 2, 1], "b": [None, None, 1, 2]})).to_list() == [1, 0, 1, 1]
