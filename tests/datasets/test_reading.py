import polars as pl
import pytest

from sphunc.datasets.reading import at_least, carried, choose, distinct_links, dominant, large_groups
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
    assert distinct_links(links, pl.Series(["a", "b"])).rows() == [("a", "b")]
    assert distinct_links([], pl.Series(["a"])).is_empty()


def test_values_of_options_are_refused_with_the_choice() -> None:
    with pytest.raises(ArgumentError, match="mood=3 is not known; choose one of 1, 2"):
        choose("mood", 3, (1, 2))
    for wrong in (1, 2.5, True, "many"):
        with pytest.raises(ArgumentError, match="give a whole number of at least 2"):
            at_least("bins", wrong, 2)
