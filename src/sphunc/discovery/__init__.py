"""Who influences whom: the structure posterior, influence graphs, and their checks."""

from sphunc.discovery.checks.stability import InfluenceStability, influence_stability
from sphunc.discovery.discover import discover
from sphunc.discovery.graph import InfluenceGraph, Structures

__all__ = ["InfluenceGraph", "InfluenceStability", "Structures", "discover", "influence_stability"]
