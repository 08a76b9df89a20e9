"""Who influences whom, and what if: the posterior over structures and everything that uses it."""

from sphunc.causal.discovery import discover
from sphunc.causal.graph import InfluenceGraph
from sphunc.causal.sampling import Structures

__all__ = ["InfluenceGraph", "Structures", "discover"]
