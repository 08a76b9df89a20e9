"""Timed hypergraphs in the Cornell layout (nverts, simplices, times): who met whom and when, and nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sphunc.datasets.collaboration.papers import coauthors_so_far
from sphunc.datasets.reading import Reading, large_groups
from sphunc.io import read_cornell


def is_cornell(root: Path) -> bool:
    """Whether a folder holds files in the Cornell layout."""
    return any(root.glob("*-nverts.txt"))


def read_triples(root: Path, *, width: int, smallest: int) -> Reading:
    """Read the groups; features are counts of the agent's meetings up to each time, and there is no outcome.

    ``width`` is the length of a time step in the units of the file.
    """
    data = read_cornell(root, bin=width)
    agent, group = data.hyperedge_index.tolist()
    time = data.hyperedge_time.tolist()
    rows = pl.DataFrame(
        {
            "time": [data.times[time[g]] for g in group],
            "agent": [str(data.node_ids[a]) for a in agent],
            "paper": [str(data.hyperedge_ids[g]) for g in group],
        }
    )
    return Reading(
        features=_features(rows),
        groups=large_groups(rows.rename({"paper": "group"}), smallest),
        outcomes=pl.DataFrame(schema={"time": pl.Int64, "agent": pl.String, "outcome": pl.String}),
        release="cornell",
        counts={
            "agents": data.num_nodes,
            "groups": data.num_hyperedges,
            "times": data.num_times,
            "memberships": rows.height,
        },
        times=data.times,
        agents=tuple(map(str, data.node_ids)),
        notes=("the layout has neither features nor outcomes; the features are counts of meetings so far",),
    )


def _features(rows: pl.DataFrame) -> pl.DataFrame:
    now = rows.group_by("time", "agent").agg(pl.len().alias("now")).sort("agent", "time")
    so_far = now.with_columns(pl.col("now").cum_sum().over("agent").alias("so_far"))
    return so_far.join(coauthors_so_far(rows), on=["time", "agent"], how="left").select(
        "time",
        "agent",
        pl.col("now").cast(pl.Float64).log1p().alias("log_groups_now"),
        pl.col("so_far").cast(pl.Float64).log1p().alias("log_groups_so_far"),
        pl.col("met").fill_null(0).cast(pl.Float64).log1p().alias("log_partners_so_far"),
    )
