"""Temporal hypergraphs: the data object, its windows and splits, averages over groups, groups by size."""

from sphunc.hypergraph.assembly import assemble
from sphunc.hypergraph.buckets import Buckets, group_by_size, group_over_time, weighted_share
from sphunc.hypergraph.candidates import comembers
from sphunc.hypergraph.incidence import Incidence, incidence_at
from sphunc.hypergraph.leakage import check_agents, check_split, check_view, scramble_future
from sphunc.hypergraph.quality import robust_limits, suspicions, winsorise
from sphunc.hypergraph.splits import (
    PARTS,
    AgentSplit,
    Split,
    agent_split,
    group_split,
    least_times,
    time_split,
)
from sphunc.hypergraph.summary import Summary, summarise
from sphunc.hypergraph.temporal import TemporalHypergraph, tensors

__all__ = [
    "PARTS",
    "AgentSplit",
    "Buckets",
    "Incidence",
    "Split",
    "Summary",
    "TemporalHypergraph",
    "agent_split",
    "assemble",
    "check_agents",
    "check_split",
    "check_view",
    "comembers",
    "group_by_size",
    "group_over_time",
    "group_split",
    "incidence_at",
    "least_times",
    "robust_limits",
    "scramble_future",
    "summarise",
    "suspicions",
    "tensors",
    "time_split",
    "weighted_share",
    "winsorise",
]
