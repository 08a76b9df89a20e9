"""Temporal hypergraphs: the data object, its windows and its time-ordered splits."""

from sphunc.hypergraph.assembly import assemble
from sphunc.hypergraph.candidates import comembers
from sphunc.hypergraph.leakage import check_agents, check_split, check_view, scramble_future
from sphunc.hypergraph.quality import robust_limits, suspicions, winsorise
from sphunc.hypergraph.splits import AgentSplit, Split, agent_split, group_split, time_split
from sphunc.hypergraph.summary import Summary, summarise
from sphunc.hypergraph.temporal import TemporalHypergraph

__all__ = [
    "AgentSplit",
    "Split",
    "Summary",
    "TemporalHypergraph",
    "agent_split",
    "assemble",
    "check_agents",
    "check_split",
    "check_view",
    "comembers",
    "group_split",
    "robust_limits",
    "scramble_future",
    "summarise",
    "suspicions",
    "time_split",
    "winsorise",
]
