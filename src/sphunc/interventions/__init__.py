"""What if: interventions as values, put on a system, and what they do to outcomes."""

from sphunc.interventions.asking import asker, system_of
from sphunc.interventions.effects import Effect
from sphunc.interventions.reading import from_json
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
from sphunc.interventions.what_if import System, counterfactual, intervene

__all__ = [
    "CutGroup",
    "CutLink",
    "Do",
    "Effect",
    "Intervention",
    "Plan",
    "Policy",
    "ScaleLink",
    "Shift",
    "Stochastic",
    "System",
    "asker",
    "counterfactual",
    "from_json",
    "intervene",
    "system_of",
]
