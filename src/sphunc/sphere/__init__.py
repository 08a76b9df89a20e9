"""Mathematics on the unit sphere: von Mises-Fisher laws, their entropy and divergence, sampling, geometry."""

from sphunc.sphere.checks import check_generator
from sphunc.sphere.concentration import concentration_from_gap, concentration_from_resultant
from sphunc.sphere.distribution import VonMisesFisher, unit_vector
from sphunc.sphere.geometry import angle, exp_map, log_map, normalize, to_tangent, weighted_mean_direction
from sphunc.sphere.radial import log_surface_area
from sphunc.sphere.sampling import draw
from sphunc.sphere.vmf import (
    kl_to_uniform,
    log_density,
    log_normalizer,
    mean_resultant_gap,
    mean_resultant_length,
    mean_resultant_slope,
    peak_log_density,
    vmf_entropy,
    vmf_entropy_slope,
    vmf_kl,
)

__all__ = [
    "VonMisesFisher",
    "angle",
    "check_generator",
    "concentration_from_gap",
    "concentration_from_resultant",
    "draw",
    "exp_map",
    "kl_to_uniform",
    "log_density",
    "log_map",
    "log_normalizer",
    "log_surface_area",
    "mean_resultant_gap",
    "mean_resultant_length",
    "mean_resultant_slope",
    "normalize",
    "peak_log_density",
    "to_tangent",
    "unit_vector",
    "vmf_entropy",
    "vmf_entropy_slope",
    "vmf_kl",
    "weighted_mean_direction",
]
