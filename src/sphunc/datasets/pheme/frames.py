"""PHEME threads as the four tables: who was active in which thread at which age of the thread, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sphunc.datasets.pheme.threads import USER_COUNTS, Thread
from sphunc.datasets.reading import carried, distinct_links, dominant, large_groups
from sphunc.datasets.words import hashed_words, word_columns

# First and last inner edge of the bins, in seconds: threads live for hours, events for days. They are fixed, not
# fitted to the data, so that the bin of a tweet does not depend on tweets that come after it.
SPAN = {"thread": (60.0, 2 * 86_400.0), "event": (3_600.0, 14 * 86_400.0)}


def edges(bins: int, clock: str) -> list[int]:
    """Return the lower edge of each bin in seconds: 0, then equal steps of the logarithm of time."""
    first, last = SPAN[clock]
    return [0, *np.geomspace(first, last, bins - 1).round().astype(int).tolist()]


def tweet_frame(threads: Sequence[Thread], *, agents: str, bins: int, clock: str) -> pl.DataFrame:
    """Return one row per tweet: thread, event, tweet, agent, time (lower edge of its bin), parent, user data."""
    starts = _starts(threads, clock)
    rows = []
    for thread in threads:
        parents = {child: parent for parent, child in thread.links} | dict(thread.attached)
        rows += [
            {
                "thread": thread.id,
                "event": thread.event,
                "tweet": t.id,
                "agent": t.user if agents == "users" else t.id,
                "age": max(t.seconds - starts[thread.id if clock == "thread" else thread.event], 0),
                "seconds": t.seconds,
                "parent": parents.get(t.id),
                "text": t.text,
                "source": float(t.is_source),
                "verified": t.verified,
                "account_days": t.account_days,
                **dict(zip(USER_COUNTS, t.counts, strict=True)),
            }
            for t in sorted(thread.tweets.values(), key=lambda t: (t.seconds, t.id))
        ]
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"parent": pl.String, "verified": pl.Float64})
    lower = np.array(edges(bins, clock))
    time = lower[np.searchsorted(lower, frame["age"].to_numpy(), side="right") - 1]
    return frame.with_columns(pl.Series("time", time, dtype=pl.Int64))


def _starts(threads: Sequence[Thread], clock: str) -> dict[str, int]:
    starts: dict[str, int] = {}
    for thread in threads:
        key = thread.id if clock == "thread" else thread.event
        first = min(t.seconds for t in thread.tweets.values())
        starts[key] = min(first, starts.get(key, first))
    return starts


def features(tweets: pl.DataFrame, *, agents: str, buckets: int) -> pl.DataFrame:
    """Return hashed words (mean over the agent's tweets of the bin) and the counts of its profile (logarithms).

    Retweet and favourite counts are left out: they were collected later and would tell the future.
    """
    hashed = pl.DataFrame(hashed_words(tweets["text"], buckets), schema=word_columns(buckets), orient="row")
    profile = [
        pl.col(name).cast(pl.Float64).log1p().alias(f"log_{name.removesuffix('_count')}") for name in USER_COUNTS
    ]
    columns = tweets.select(
        "time",
        "agent",
        "seconds",
        *profile,
        pl.col("verified"),
        pl.col("account_days").cast(pl.Float64).log1p().alias("log_account_days"),
        pl.col("source").alias("source_share"),
    )
    names = [name for name in columns.columns if name not in {"time", "agent", "seconds", "source_share"}]
    table = (
        pl.concat([columns, hashed], how="horizontal")
        .sort("seconds")
        .group_by("time", "agent")
        .agg(
            pl.col(word_columns(buckets)).mean(),
            pl.col(names).last(),
            pl.col("source_share").mean(),
            pl.len().cast(pl.Float64).log1p().alias("log_tweets"),
        )
        .sort("time", "agent")
    )
    return table.drop("log_tweets") if agents == "tweets" else table


def groups(tweets: pl.DataFrame, *, members: str, smallest: int) -> pl.DataFrame:
    """Return one group per thread and bin: its active agents, and with ``conversation`` those whom they answer."""
    active = tweets.select("time", pl.col("thread").alias("group"), "agent")
    if members == "active":
        return large_groups(active, smallest)
    written = tweets.select(
        pl.col("tweet").alias("parent"), pl.col("agent").alias("answered"), pl.col("time").alias("_t")
    )
    answered = (
        tweets.join(written, on="parent", how="inner")
        .filter(pl.col("_t") <= pl.col("time"))
        .select("time", pl.col("thread").alias("group"), pl.col("answered").alias("agent"))
    )
    return large_groups(pl.concat([active, answered]), smallest)


def outcomes(tweets: pl.DataFrame, labels: Mapping[str, str], by: str) -> pl.DataFrame:
    """Return the agent's most frequent label per bin, ``labels`` being keyed by the column ``by`` (tweet or thread)."""
    known = pl.DataFrame(list(labels.items()), schema={by: pl.String, "label": pl.String}, orient="row")
    return dominant(tweets.join(known, on=by, how="inner"), "label", "seconds")


def links(threads: Sequence[Thread], *, agents: str, kind: str) -> pl.DataFrame:
    """Return observed links: the answered influences the answering, the followed the follower."""
    pairs: list[tuple[str, str]] = []
    known: set[str] = set()
    for thread in threads:
        name = {t.id: t.user if agents == "users" else t.id for t in thread.tweets.values()}
        known.update(name.values())
        if kind != "follow":
            pairs += [(name[parent], name[child]) for parent, child in thread.links]
        if kind != "reply":
            pairs += [(followed, follower) for follower, followed in thread.follows]
    return distinct_links(pairs, pl.Series(sorted(known), dtype=pl.String))


def carry(table: pl.DataFrame, bins: int, clock: str) -> pl.DataFrame:
    """Repeat the last known row of an agent in the later bins."""
    return carried(table, edges(bins, clock))
