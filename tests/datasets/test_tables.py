import polars as pl
import pytest
import torch

from sphunc.datasets.tables import (
    DatasetTables,
    carried,
    choose,
    distinct_links,
    dominant,
    large_groups,
)
from sphunc.errors import ArgumentError


def test_dominant_value_with_ties_to_the_latest() -> None:
    frame = pl.DataFrame(
        {
            "time": [0, 0, 0, 0, 1],
            "agent": ["a", "a", "b", "b", "a"],
            "label": ["x", "y", "y", "x", None],
            "clock": [1, 2, 5, 5, 9],
        }
    )
    assert dominant(frame, "label", "clock").rows() == [(0, "a", "y"), (0, "b", "x")]


def test_carried_rows_never_come_from_later() -> None:
    frame = pl.DataFrame({"time": [1, 3], "agent": ["a", "a"], "v": [10.0, 30.0]})
    assert carried(frame, [0, 1, 2, 3]).rows() == [(1, "a", 10.0), (2, "a", 10.0), (3, "a", 30.0)]


def test_large_groups_count_different_members() -> None:
    frame = pl.DataFrame({"time": [0, 0, 0], "group": ["g", "g", "h"], "agent": ["a", "a", "b"]})
    assert large_groups(frame, 1).height == 2
    assert large_groups(frame, 2).is_empty()


def test_distinct_links_between_known_and_different_agents() -> None:
    links = [("a", "b"), ("a", "b"), ("a", "a"), ("a", "z")]
    assert distinct_links(links, ["a", "b"]).rows() == [("a", "b")]
    assert distinct_links([], ["a"]).is_empty()


def test_values_of_options_are_refused_with_the_choice() -> None:
    with pytest.raises(ArgumentError, match="mood=3 is not known; choose one of 1, 2"):
        choose("mood", 3, (1, 2))


def mini(**changes: object) -> DatasetTables:
    tables = {
        "features": pl.DataFrame({"time": [2, 1], "agent": ["b", "a"], "x": [0.5, None], "z": [1.0, 2.0]}),
        "groups": pl.DataFrame({"time": [1, 1, 2], "group": ["g", "g", "g"], "agent": ["b", "a", "b"]}),
        "outcomes": pl.DataFrame({"time": [2], "agent": ["a"], "outcome": ["high"]}),
        "class_names": ("low", "high"),
    }
    return DatasetTables(**(tables | changes))  # type: ignore[arg-type]


def test_tables_become_tensors_with_masks() -> None:
    data = mini().to_hypergraph({"dataset": "mini"})
    assert data.times == (1, 2)
    assert data.node_ids == ("a", "b")
    assert data.x_mask.tolist() == [[[False, True], [False, False]], [[False, False], [True, True]]]
    assert data.hyperedge_index.tolist() == [[0, 1, 1], [0, 0, 1]]
    assert data.y is not None
    assert (int(data.y[1, 0]), int(data.y_mask.sum())) == (1, 1)
    assert data.attributes == {"dataset": "mini"}


def test_stated_times_and_agents_are_kept() -> None:
    data = mini(times=(0, 1, 2), agents=("z", "b", "a")).to_hypergraph({})
    assert data.times == (0, 1, 2)
    assert data.node_ids == ("z", "b", "a")
    assert not data.present[:, 0].any()


def test_links_and_no_outcome() -> None:
    links = pl.DataFrame({"source": ["a"], "target": ["b"]})
    empty = pl.DataFrame(schema={"time": pl.Int64, "agent": pl.String, "outcome": pl.String})
    data = mini(influence=links, influence_kind="observed", outcomes=empty, class_names=()).to_hypergraph({})
    assert data.y is None
    assert data.influence is not None
    assert torch.equal(data.influence, torch.tensor([[0], [1]]))
