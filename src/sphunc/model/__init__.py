"""The model: covariates, base regression, states and their dynamics, beliefs, outcome, uncertainty."""

from sphunc.model.config import SphUncConfig
from sphunc.model.stages import fingerprint_of

__all__ = ["SphUncConfig", "fingerprint_of"]
