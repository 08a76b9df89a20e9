"""What if: interventions as values, put on a system, and what they do to outcomes."""

from sphunc.interventions import dowhy
from sphunc.interventions.dowhy import Contrast
from sphunc.interventions.effects import Effect
from sphunc.interventions.reading import from_json
from sphunc.interventions.resolve import EntityIndex
from sphunc.interventions.simulation.state_changes import state_length
from sphunc.interventions.system import System, system_of
from sphunc.interventions.values import (
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
from sphunc.interventions.what_if import Simulation, counterfactual, intervene

__all__ = [
    "Contrast",
    "CutGroup",
    "CutLink",
    "Do",
    "Effect",
    "EntityIndex",
    "Intervention",
    "Plan",
    "Policy",
    "ScaleLink",
    "Shift",
    "Simulation",
    "Stochastic",
    "System",
    "counterfactual",
    "dowhy",
    "from_json",
    "intervene",
    "state_length",
    "system_of",
]
