"""What is written is read back the same; what tables cannot hold is refused."""

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
import torch

from sphunc import from_frames, read_tables, write_tables
from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.hypergraph import assemble

TIMES = {
    "integers": (1, 2, 30),
    "dates": (dt.date(2026, 1, 31), dt.date(2026, 2, 1), dt.date(2027, 1, 1)),
    "datetimes": tuple(dt.datetime(2026, 1, 31, hour, 5, 6, 789) for hour in (1, 2, 3)),
    "zoned": tuple(dt.datetime(2026, 7, 31, hour, tzinfo=ZoneInfo("Europe/Amsterdam")) for hour in (1, 2, 3)),
    "offset": tuple(dt.datetime(2026, 7, 31, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)),
}


def rich(times, ids=("z", "007", "7"), outcome="class"):
    values = {"outcomes": ([0, 2], [0, 1], [0, 1]), "class_names": ["upset", "calm"]}
    if outcome == "number":
        values = {"outcomes": ([0, 2], [0, 1], [[0.1, 2.0], [0.3, 4.0]])}
    return assemble(
        times=times,
        node_ids=ids,
        features=([0, 2, 2], [1, 0, 1], [[0.1, float("nan")], [1e-30, 3e38], [1 / 3, -2.0]]),
        feature_names=["mood", "t"],
        hyperedge_ids=["g, 'x'", "g, 'x'", 'em"pty'],
        hyperedge_time=[0, 2, 1],
        memberships=([0, 0, 1], [0, 1, 1], [0.5, 1.5, 0.1]),
        influence=[[0, 1], [1, 0]],
        influence_kind="reply",
        attributes={"source": {"licence": "CC0"}},
        **values,
    )


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("kind", TIMES)
def test_writing_and_reading_gives_the_same(tmp_path, kind, format):
    data = rich(TIMES[kind])
    write_tables(data, tmp_path / "new" / "folder", format=format)
    again = read_tables(tmp_path / "new" / "folder")
    assert again.same_as(data)
    assert [type(time) for time in again.times] == [type(time) for time in data.times]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_numbers_integer_ids_and_bare_data_come_back_the_same(tmp_path, format):
    for i, data in enumerate(
        [
            rich((1, 2, 3), ids=(3, 1, 2), outcome="number"),
            rich((1, 2, 3), ids=("3", "1", "2")),
            replace(rich((1, 2, 3)), incidence_weight=None, influence=None, influence_kind="", attributes={}),
            assemble(times=[4], node_ids=["a"]),
            assemble(times=[4], node_ids=["a"], outcomes=([0], [0], [0.5]), outcome_names=["joy"]),
            assemble(times=[4], node_ids=["a"], outcomes=([0], [0], [[0.5, 1]]), outcome_names=["joy", "fear"]),
            assemble(times=[4], node_ids=[1], outcomes=([], [], torch.zeros(0, 1))),
        ]
    ):
        write_tables(data, tmp_path / str(i), format=format)
        assert read_tables(tmp_path / str(i)).same_as(data), i


def test_writing_replaces_tables_of_another_format_and_leaves_no_scraps(tmp_path):
    write_tables(rich((1, 2, 3)), tmp_path, format="csv")
    write_tables(replace(rich((1, 2, 3)), influence=None, influence_kind=""), tmp_path, format="parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "features.parquet",
        "groups.parquet",
        "outcomes.parquet",
        "sphunc.json",
    ]


def test_tables_may_grow_beyond_the_manifest(tmp_path):
    write_tables(from_frames(features={"time": [1], "agent": ["b"], "f": [1.0]}), tmp_path)
    with (tmp_path / "features.csv").open("a") as stream:
        stream.write("2,a,3\n")
    data = read_tables(tmp_path)
    assert (data.node_ids, data.times) == (("b", "a"), (1, 2))


@pytest.mark.parametrize(
    ("changes", "error", "expected"),
    [
        ({"node_ids": (1, "b", "c")}, ArgumentTypeError, "node_ids are int, str; tables hold all integers or all text"),
        ({"node_ids": ("", "b", "c")}, ArgumentError, "node_ids has an empty id"),
        ({"times": (0.5, 1.5, 2.5)}, ArgumentTypeError, "times are float; tables hold integers, dates or datetimes"),
        ({"feature_names": ("Time", "t")}, ArgumentError, "a feature is called 'Time'"),
        ({"class_names": ("NA", "calm")}, ArgumentError, "a class is called '' or 'NA'"),
    ],
)
def test_what_tables_cannot_hold_is_refused(tmp_path, changes, error, expected):
    with pytest.raises(error, match=expected):
        write_tables(replace(rich((1, 2, 3)), **changes), tmp_path)


def test_unknown_format(tmp_path):
    with pytest.raises(ArgumentError, match="format is 'xlsx'; choose csv or parquet"):
        write_tables(rich((1, 2, 3)), tmp_path, format="xlsx")


def test_outcomes_keep_their_names(tmp_path):
    rows = {"time": [1, 1], "agent": ["a", "b"]}
    data = from_frames(features=rows, outcomes={**rows, "valence": [0.5, 1.5], "arousal": [3, 4]})
    assert data.outcome_names == ("valence", "arousal")
    write_tables(data, tmp_path / "again")
    assert (tmp_path / "again" / "outcomes.csv").read_text().startswith("time,agent,valence,arousal\n")
    with pytest.raises(ArgumentError, match="an outcome is called 'agent', like the column beside it; rename the outc"):
        write_tables(replace(data, outcome_names=("agent", "arousal")), tmp_path / "again")
