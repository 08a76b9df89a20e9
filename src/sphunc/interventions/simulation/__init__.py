"""States and outcomes drawn forward from what is known at an origin, with and without interventions."""

from sphunc.interventions.simulation.abduction import COUPLING
from sphunc.interventions.simulation.calibration import calibrate
from sphunc.interventions.simulation.origin import Origin
from sphunc.interventions.simulation.parameters import draw_parameters
from sphunc.interventions.simulation.rollout import Simulator

__all__ = ["COUPLING", "Origin", "Simulator", "calibrate", "draw_parameters"]
