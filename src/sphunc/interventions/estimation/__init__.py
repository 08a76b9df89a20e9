"""Effects and entropies from simulated outcome distributions, with their errors."""

from sphunc.interventions.estimation.entropy import class_entropies, number_entropies
from sphunc.interventions.estimation.moments import (
    FEWEST_FOR_ERROR,
    StructureMoments,
    effect_interval,
    estimate_effect,
    simulation_size,
)

__all__ = [
    "FEWEST_FOR_ERROR",
    "StructureMoments",
    "class_entropies",
    "effect_interval",
    "estimate_effect",
    "number_entropies",
    "simulation_size",
]
