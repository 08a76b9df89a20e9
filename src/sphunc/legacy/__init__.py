"""The model: configuration, training, checkpoints and the estimator that users call."""

from sphunc.legacy.config import ABLATIONS, SphUncConfig

__all__ = ["ABLATIONS", "SphUncConfig"]
