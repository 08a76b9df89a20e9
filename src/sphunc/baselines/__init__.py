"""Systems that SphUnc is compared with: one interface, one training, one tuning budget."""

from sphunc.baselines.attribution import attribute
from sphunc.baselines.forecaster import (
    BaselineForecast,
    DecomposedForecast,
    Forecaster,
    InfluenceForecaster,
    predictive_entropy,
)
from sphunc.baselines.influence import PROBABILITY, InfluenceScores, influence_scores
from sphunc.baselines.registry import FORECASTERS, WRAPPED, WRAPPERS, forecaster, forecaster_class, load_forecaster
from sphunc.baselines.tuning import Trial, tune

__all__ = [
    "FORECASTERS",
    "PROBABILITY",
    "WRAPPED",
    "WRAPPERS",
    "BaselineForecast",
    "DecomposedForecast",
    "Forecaster",
    "InfluenceForecaster",
    "InfluenceScores",
    "Trial",
    "attribute",
    "forecaster",
    "forecaster_class",
    "influence_scores",
    "load_forecaster",
    "predictive_entropy",
    "tune",
]
