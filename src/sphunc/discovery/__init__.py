"""Who influences whom: the structure posterior, influence graphs, and their checks."""

from sphunc.discovery.candidates import candidate_links
from sphunc.discovery.checks.bootstrap import SimulatedCalibration, calibration_of
from sphunc.discovery.checks.clustered import clustered_least_squares
from sphunc.discovery.checks.shocks import ShockResponse, response_of, shock_response
from sphunc.discovery.checks.stability import InfluenceStability, influence_stability, stability_of
from sphunc.discovery.confidence import binary_entropy, identification_confidence
from sphunc.discovery.discover import discover
from sphunc.discovery.graph import ASSUMPTIONS, InfluenceGraph, Structures
from sphunc.discovery.verdict import Check

__all__ = [
    "ASSUMPTIONS",
    "Check",
    "InfluenceGraph",
    "InfluenceStability",
    "ShockResponse",
    "SimulatedCalibration",
    "Structures",
    "binary_entropy",
    "calibration_of",
    "candidate_links",
    "clustered_least_squares",
    "discover",
    "identification_confidence",
    "influence_stability",
    "response_of",
    "shock_response",
    "stability_of",
]
