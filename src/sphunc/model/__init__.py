"""The model: covariates, base regression, states and their dynamics, beliefs, outcome, uncertainty."""

from sphunc.model.config import SphUncConfig

__all__ = ["SphUncConfig"]
