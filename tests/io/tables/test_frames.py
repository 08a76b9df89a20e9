"""Any dataframe is taken: polars, pandas, pyarrow, mappings."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sphunc import DataError, from_frames
from sphunc.errors import ArgumentError

FEATURES = {"time": [1, 1, 2], "agent": ["a", "b", "a"], "mood": [0.5, None, 1.5]}
GROUPS = {"time": [1, 1, 2], "group": [10, 10, 10], "agent": ["a", "b", "a"]}
OUTCOMES = {"time": [1, 2], "agent": ["a", "a"], "outcome": ["x", "x"]}

LIBRARIES = {
    "mapping": dict,
    "polars": pl.DataFrame,
    "polars lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "polars categorical": lambda columns: pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "pandas": pd.DataFrame,
    "pandas, other index": lambda columns: pd.DataFrame(columns, index=range(5, 5 + len(columns["time"]))),
    "pandas, index of columns": lambda columns: pd.DataFrame(columns).set_index(["time", "agent"]),
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same(library):
    make = LIBRARIES[library]
    data = from_frames(features=make(FEATURES), groups=make(GROUPS), outcomes=make(OUTCOMES))
    assert data.same_as(from_frames(features=FEATURES, groups=GROUPS, outcomes=OUTCOMES))
    assert (data.node_ids, data.hyperedge_ids, data.times) == (("a", "b"), (10, 10), (1, 2))
    assert data.x_mask.tolist() == [[[True], [False]], [[True], [False]]]


def test_given_agents_times_and_classes_come_first():
    data = from_frames(features=FEATURES, outcomes=OUTCOMES, agents=["z", "b"], times=[0], classes=["y"])
    assert (data.node_ids, data.times, data.class_names) == (("z", "b", "a"), (0, 1, 2), ("y", "x"))


def test_given_agents_of_another_kind_are_refused():
    with pytest.raises(DataError, match="agents are integers, but the agent ids of the tables are text"):
        from_frames(features=FEATURES, agents=[1])


def test_rows_of_frames_count_from_zero():
    with pytest.raises(DataError, match="groups row 2, column agent: agent 'q' has no row in features"):
        from_frames(features=FEATURES, groups={**GROUPS, "agent": ["a", "b", "q"]})


def test_nan_of_pandas_is_an_empty_cell():
    columns = {"time": [1, 1], "agent": ["a", "b"], "f": [1.0, float("nan")]}
    assert from_frames(features=pd.DataFrame(columns)).x_mask.flatten().tolist() == [True, False]
    with pytest.raises(DataError, match="nan is not a finite number"):
        from_frames(features=pl.DataFrame(columns))


def test_datetimes_of_pandas_stay_datetimes():
    when = pd.to_datetime(["2026-01-01T10:00", "2026-01-01T10:00", "2026-01-02T11:30"])
    data = from_frames(features=pd.DataFrame({**FEATURES, "time": when}))
    assert data.times == (dt.datetime(2026, 1, 1, 10), dt.datetime(2026, 1, 2, 11, 30))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (7, "features: this int cannot be read as a table"),
        ({"time": [1], "agent": [0.5], "f": [1]}, "agent ids have type Float64"),
        ({"time": [0.5], "agent": [1], "f": [1]}, "times have type Float64. Write integers, dates or ISO datetimes"),
        ({"time": [1], "agent": ["a"], "f": [[1, 2]]}, "column f: a feature has type List"),
        ({"time": [1], "agent": ["a"], "f": [float("nan")]}, "nan is not a finite number"),
        ({"time": [], "agent": [], "f": []}, "there is a header but no row"),
        (pd.DataFrame({"time": [1, "x"], "agent": ["a", 2]}), "cannot be read as a table"),
    ],
)
def test_frames_that_cannot_be_used(frame, message):
    with pytest.raises(DataError, match=message):
        from_frames(features=frame)


def test_unknown_kind_of_outcome():
    with pytest.raises(ArgumentError, match="outcome_kind is 'label'; choose one of auto, class, number"):
        from_frames(features=FEATURES, outcome_kind="label")
