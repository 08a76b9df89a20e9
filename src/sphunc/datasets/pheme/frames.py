"""PHEME threads as the four tables: who was active in which thread at which age of the thread, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sphunc.datasets.pheme.threads import SECONDS_PER_DAY, USER_COUNTS, Thread, Tweet
from sphunc.datasets.tables import distinct_links, dominant, large_groups
from sphunc.datasets.words import hashed_words, word_columns

# First and last inner edge of the bins, in seconds: threads live for hours, events for days. They are fixed, not
# fitted to the data, so that the bin of a tweet does not depend on tweets that come after it.
SPAN = {"thread": (60.0, 2.0 * SECONDS_PER_DAY), "event": (3_600.0, 14.0 * SECONDS_PER_DAY)}


def edges(bins: int, clock: str) -> list[int]:
    """Return the lower edge of each bin in seconds: 0, then equal steps of the logarithm of time.

    Args:
        bins: their number.
        clock: "thread" or "event".
    """
    first, last = SPAN[clock]
    return [0, *np.geomspace(first, last, bins - 1).round().astype(int).tolist()]


def _agent(one: Tweet, agents: str) -> str:
    """Return the agent of a tweet: its user, or with ``agents`` = "tweets" the tweet itself."""
    if agents == "users":
        return one.user
    return one.id


def tweet_frame(threads: Sequence[Thread], *, agents: str, bins: int, clock: str) -> pl.DataFrame:
    """Return one row per tweet: thread, event, tweet, agent, time (lower edge of its bin), parent, user data.

    Args:
        threads: the threads.
        agents: "users" or "tweets".
        bins: number of times.
        clock: age since the first tweet of the "thread" or of the "event".
    """
    rows = []
    for thread in threads:
        parents = {child: parent for parent, child in thread.links} | dict(thread.attached)
        for one in sorted(thread.tweets.values(), key=lambda one: (one.seconds, one.id)):
            row = {
                "thread": thread.id,
                "event": thread.event,
                "tweet": one.id,
                "agent": _agent(one, agents),
                "seconds": one.seconds,
                "parent": parents.get(one.id),
                "text": one.text,
                "source": float(one.is_source),
                "verified": one.verified,
                "account_days": one.account_days,
            }
            rows.append(row | dict(zip(USER_COUNTS, one.counts, strict=True)))
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"parent": pl.String, "verified": pl.Float64})
    age = frame.select((pl.col("seconds") - pl.col("seconds").min().over(clock)).alias("age")).to_series()
    lower = np.array(edges(bins, clock))
    time = lower[np.searchsorted(lower, age.to_numpy(), side="right") - 1]
    return frame.with_columns(age, pl.Series("time", time, dtype=pl.Int64))


def features(tweets: pl.DataFrame, *, agents: str, buckets: int) -> pl.DataFrame:
    """Return hashed words (mean over the agent's tweets of the bin) and the counts of its profile (logarithms).

    Retweet and favourite counts are left out: they were collected later and would show the future.

    Args:
        tweets: as :func:`tweet_frame` returns them.
        agents: "users" or "tweets".
        buckets: columns of the hashed words.
    """
    words = word_columns(buckets)
    hashed = pl.DataFrame(hashed_words(tweets["text"].to_list(), buckets), schema=words, orient="row")
    profile = {f"log_{name.removesuffix('_count')}": pl.col(name).cast(pl.Float64).log1p() for name in USER_COUNTS}
    profile["verified"] = pl.col("verified")
    profile["log_account_days"] = pl.col("account_days").cast(pl.Float64).log1p()
    columns = tweets.select("time", "agent", "seconds", source_share="source", **profile)
    table = (
        pl.concat([columns, hashed], how="horizontal")
        .sort("seconds")
        .group_by("time", "agent")
        .agg(
            pl.col(words).mean(),
            pl.col(list(profile)).last(),
            pl.col("source_share").mean(),
            pl.len().cast(pl.Float64).log1p().alias("log_tweets"),
        )
        .sort("time", "agent")
    )
    if agents == "tweets":
        return table.drop("log_tweets")
    return table


def groups(tweets: pl.DataFrame, *, members: str, smallest: int) -> pl.DataFrame:
    """Return one group per thread and bin.

    Args:
        tweets: as :func:`tweet_frame` returns them.
        members: "active" takes the agents active in the thread in the bin; "conversation" also those whom they answer.
        smallest: fewest members of a group.
    """
    active = tweets.select("time", pl.col("thread").alias("group"), "agent")
    if members == "active":
        return large_groups(active, smallest)
    written = tweets.select(parent="tweet", answered="agent", written="time")
    answered = tweets.join(written, on="parent").filter(pl.col("written") <= pl.col("time"))
    answered = answered.select("time", group="thread", agent="answered")
    return large_groups(pl.concat([active, answered]), smallest)


def outcomes(tweets: pl.DataFrame, labels: Mapping[str, str], by: str) -> pl.DataFrame:
    """Return the agent's most frequent label per bin.

    Args:
        tweets: as :func:`tweet_frame` returns them.
        labels: of tweets or of threads.
        by: which of the two, "tweet" or "thread".
    """
    known = pl.DataFrame(list(labels.items()), schema={by: pl.String, "label": pl.String}, orient="row")
    return dominant(tweets.join(known, on=by), "label", "seconds")


def links(threads: Sequence[Thread], *, agents: str, kind: str) -> pl.DataFrame:
    """Return observed links: the answered influences the answering, the followed the follower.

    Args:
        threads: the threads.
        agents: "users" or "tweets".
        kind: "reply", "follow" or "both".
    """
    pairs: list[tuple[str, str]] = []
    known: set[str] = set()
    for thread in threads:
        agent = {one.id: _agent(one, agents) for one in thread.tweets.values()}
        known.update(agent.values())
        if kind != "follow":
            pairs += [(agent[parent], agent[child]) for parent, child in thread.links]
        if kind != "reply":
            pairs += [(followed, follower) for follower, followed in thread.follows]
    return distinct_links(pairs, list(known))
