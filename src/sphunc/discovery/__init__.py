"""Who influences whom: the structure posterior, influence graphs, and their checks."""

from sphunc.discovery.candidates import candidate_links
from sphunc.discovery.checks.stability import InfluenceStability, influence_stability
from sphunc.discovery.discover import discover
from sphunc.discovery.graph import ASSUMPTIONS, InfluenceGraph, Structures

__all__ = [
    "ASSUMPTIONS",
    "InfluenceGraph",
    "InfluenceStability",
    "Structures",
    "candidate_links",
    "discover",
    "influence_stability",
]
