"""Layers of the model: pure functions on tensors, and thin modules that own their parameters."""

from sphunc.nn.aleatoric import AleatoricHead, flattening, gaussian_log_density, squashed_variance
from sphunc.nn.attention import angular_attention, angular_attention_with_self
from sphunc.nn.concentration import (
    HIGHEST_CONCENTRATION,
    LOWEST_CONCENTRATION,
    ConcentrationHead,
    scaled_entropy,
)
from sphunc.nn.conv import AngularHypergraphConv
from sphunc.nn.fusion import AdHocFusion, MonotoneFusion
from sphunc.nn.imputation import impute, learn_factors
from sphunc.nn.projection import normalise
from sphunc.nn.standardisation import feature_statistics, standardise
from sphunc.nn.temperature import Temperature

__all__ = [
    "HIGHEST_CONCENTRATION",
    "LOWEST_CONCENTRATION",
    "AdHocFusion",
    "AleatoricHead",
    "AngularHypergraphConv",
    "ConcentrationHead",
    "MonotoneFusion",
    "Temperature",
    "angular_attention",
    "angular_attention_with_self",
    "feature_statistics",
    "flattening",
    "gaussian_log_density",
    "impute",
    "learn_factors",
    "normalise",
    "scaled_entropy",
    "squashed_variance",
    "standardise",
]
