"""Timed hypergraphs in the Cornell layout (nverts, simplices, times): who met whom and when, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from sphunc.datasets.collaboration.papers import log_count, partners_so_far
from sphunc.datasets.tables import OUTCOME_SCHEMA, DatasetTables, large_groups
from sphunc.io import read_cornell


def is_cornell(root: Path) -> bool:
    """Whether a folder holds files in the Cornell layout."""
    return any(root.glob("*-nverts.txt"))


def read_meetings(root: Path, *, width: int, smallest: int) -> DatasetTables:
    """Read the groups; features are counts of the agent's meetings up to each time, and there is no outcome.

    Args:
        root: folder of the files.
        width: length of a time step in the units of the file.
        smallest: fewest members of a group.
    """
    data = read_cornell(root, bin=width)
    agents = np.array([str(agent) for agent in data.node_ids])
    groups = np.array([str(group) for group in data.hyperedge_ids])
    agent, group = data.hyperedge_index.numpy()
    time = np.array(data.times)[data.hyperedge_time.numpy()]
    rows = pl.DataFrame({"time": time[group], "agent": agents[agent], "paper": groups[group]})
    return DatasetTables(
        features=_features(rows),
        groups=large_groups(rows.rename({"paper": "group"}), smallest),
        outcomes=pl.DataFrame(schema=OUTCOME_SCHEMA),
        release="cornell",
        counts={
            "agents": data.num_nodes,
            "groups": data.num_hyperedges,
            "times": data.num_times,
            "memberships": rows.height,
        },
        times=data.times,
        agents=tuple(agents.tolist()),
        notes=("the layout has neither features nor outcomes; the features are counts of meetings so far",),
    )


def _features(rows: pl.DataFrame) -> pl.DataFrame:
    now = rows.group_by("time", "agent").agg(pl.len().alias("now")).sort("agent", "time")
    so_far = now.with_columns(pl.col("now").cum_sum().over("agent").alias("so_far"))
    return so_far.join(partners_so_far(rows), on=["time", "agent"], how="left").select(
        "time",
        "agent",
        log_count("now", "log_groups_now"),
        log_count("so_far", "log_groups_so_far"),
        log_count("met", "log_partners_so_far"),
    )
