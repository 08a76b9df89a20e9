"""What if: interventions as values, put on a system, and what they do to outcomes."""

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
    "from_json",
]
