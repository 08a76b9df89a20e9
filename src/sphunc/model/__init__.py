"""The model: covariates, base regression, states and their dynamics, beliefs, outcome, uncertainty."""

from sphunc.model.config import SphUncConfig
from sphunc.model.fitting import FittedModel
from sphunc.model.summary import (
    ParameterEstimate,
    base_estimates,
    block_estimates,
    link_draws,
    links_by_half,
    sampler_agreement,
    state_estimates,
)

__all__ = [
    "FittedModel",
    "ParameterEstimate",
    "SphUncConfig",
    "base_estimates",
    "block_estimates",
    "link_draws",
    "links_by_half",
    "sampler_agreement",
    "state_estimates",
]
