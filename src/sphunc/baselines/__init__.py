"""The peers that sphunc is compared with: one interface, one wrapper over time, one trainer, one tuning budget."""

from sphunc.baselines.attribution import attribute
from sphunc.baselines.forecaster import Forecaster, InfluenceForecaster, PeerForecast
from sphunc.baselines.influence import InfluenceScores, influence_scores
from sphunc.baselines.registry import FORECASTERS, forecaster, load_forecaster
from sphunc.baselines.tuning import Trial, tune

__all__ = [
    "FORECASTERS",
    "Forecaster",
    "InfluenceForecaster",
    "InfluenceScores",
    "PeerForecast",
    "Trial",
    "attribute",
    "forecaster",
    "influence_scores",
    "load_forecaster",
    "tune",
]
