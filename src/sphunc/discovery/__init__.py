"""Who influences whom: the structure posterior, influence graphs, and their checks."""

from sphunc.discovery.discover import discover
from sphunc.discovery.graph import InfluenceGraph, Structures

__all__ = ["InfluenceGraph", "Structures", "discover"]
