"""Who influences whom, and what if: the posterior over structures and everything that uses it."""

from sphunc.causal.discovery import discover
from sphunc.causal.effects import Effect
from sphunc.causal.graph import InfluenceGraph
from sphunc.causal.intervention_json import from_json
from sphunc.causal.interventions import (
    CutGroup,
    CutLink,
    Do,
    Intervention,
    Plan,
    Policy,
    ScaleLink,
    Shift,
    Stochastic,
)
from sphunc.causal.sampling import Structures

__all__ = [
    "CutGroup",
    "CutLink",
    "Do",
    "Effect",
    "InfluenceGraph",
    "Intervention",
    "Plan",
    "Policy",
    "ScaleLink",
    "Shift",
    "Stochastic",
    "Structures",
    "discover",
    "from_json",
]
