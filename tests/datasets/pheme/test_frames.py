from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sphunc.datasets.pheme import frames
from sphunc.datasets.pheme.threads import Thread, collect, threads
from sphunc.datasets.pheme.tree import files
from sphunc.datasets.tables import carried


@pytest.fixture
def made(scheme: Path) -> list[Thread]:
    return threads(collect(files(scheme)))


def test_edges_are_equal_steps_of_the_logarithm() -> None:
    edges = frames.edges(10, "thread")
    assert edges[0] == 0
    assert edges[1] == 60
    assert edges[-1] == 2 * 86_400
    steps = np.diff(np.log(edges[1:]))
    assert np.allclose(steps, steps[0], rtol=0.01)


def test_tweets_fall_into_the_bin_of_their_age(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="tweets", bins=10, clock="thread")
    time = dict(tweets.select("tweet", "time").iter_rows())
    assert time["100"] == 0
    assert time["101"] == 0
    assert time["102"] == 440
    assert time["201"] == 2 * 86_400


def test_event_clock_counts_from_the_first_tweet_of_the_event(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="tweets", bins=10, clock="event")
    ages = dict(tweets.select("tweet", "age").iter_rows())
    assert ages["200"] == 100


def test_later_tweets_do_not_change_earlier_features(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="users", bins=10, clock="thread")
    whole = frames.features(tweets, agents="users", buckets=8)
    early = frames.features(tweets.filter(pl.col("time") <= 440), agents="users", buckets=8)
    assert whole.filter(pl.col("time") <= 440).equals(early)


def test_unknown_counts_stay_unknown(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="users", bins=10, clock="thread")
    features = frames.features(tweets, agents="users", buckets=4)
    assert features["log_listed"].null_count() == features.height
    assert not any("retweet" in name or "favorite" in name for name in features.columns)


def test_groups_join_the_answering_with_the_answered(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="users", bins=10, clock="thread")
    active = frames.groups(tweets, members="active", smallest=1)
    talk = frames.groups(tweets, members="conversation", smallest=1)
    of = lambda table, time: set(table.filter((pl.col("group") == "100") & (pl.col("time") == time))["agent"])  # noqa: E731
    assert of(active, 440) == {"3", "4"}
    assert of(talk, 440) == {"1", "2", "3", "4"}  # 3 answers 2; 4 was hung on the source of 1


def test_follow_links_run_from_the_followed_among_authors_only(made: list[Thread]) -> None:
    assert frames.links(made, agents="users", kind="follow").rows() == [("1", "2"), ("1", "3")]
    assert ("2", "1") in frames.links(made, agents="users", kind="reply").rows()
    assert ("7", "7") not in frames.links(made, agents="users", kind="reply").rows()


def test_outcome_is_the_most_frequent_of_the_bin(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="users", bins=10, clock="thread")
    table = frames.outcomes(tweets, {"300": "agreed", "301": "comment"}, "tweet")
    assert table.rows() == [(0, "7", "comment")]  # one each: the later decides


def test_carried_features_repeat_the_last_row(made: list[Thread]) -> None:
    tweets = frames.tweet_frame(made, agents="tweets", bins=10, clock="thread")
    features = frames.features(tweets, agents="tweets", buckets=2)
    table = carried(features, frames.edges(10, "thread"))
    assert table.filter(pl.col("agent") == "100").height == 10
    assert table.filter(pl.col("agent") == "201").height == 1
