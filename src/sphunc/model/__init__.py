"""The model: covariates, base regression, states and their dynamics, beliefs, outcome, uncertainty."""

from sphunc.model.base import LARGEST_SCORE, BaseRegression
from sphunc.model.config import SphUncConfig, check_setting
from sphunc.model.covariates import PRIOR_COUNT, RECENT_DECAY, Covariates, OutcomeHistory
from sphunc.model.dynamics import PADDING, next_state_mean
from sphunc.model.fitting import FittedModel, fit_model
from sphunc.model.influence import influence_graph
from sphunc.model.inputs import ModelInputs
from sphunc.model.kalman import Filtered
from sphunc.model.persistence import deserialise, serialise
from sphunc.model.preparation import Preparation, PreparedData, learn_preparation, places, prepare
from sphunc.model.readout import normal_points
from sphunc.model.regression import with_intercept
from sphunc.model.stages import StageStore, fingerprint_of
from sphunc.model.states import StateBelief, StateModel
from sphunc.model.summary import (
    ParameterEstimate,
    base_estimates,
    block_estimates,
    link_draws,
    links_by_half,
    sampler_agreement,
    state_estimates,
)
from sphunc.model.verdict import comparison_frame, comparison_table, describe_fit

__all__ = [
    "LARGEST_SCORE",
    "PADDING",
    "PRIOR_COUNT",
    "RECENT_DECAY",
    "BaseRegression",
    "Covariates",
    "Filtered",
    "FittedModel",
    "ModelInputs",
    "OutcomeHistory",
    "ParameterEstimate",
    "Preparation",
    "PreparedData",
    "SphUncConfig",
    "StageStore",
    "StateBelief",
    "StateModel",
    "base_estimates",
    "block_estimates",
    "check_setting",
    "comparison_frame",
    "comparison_table",
    "describe_fit",
    "deserialise",
    "fingerprint_of",
    "fit_model",
    "influence_graph",
    "learn_preparation",
    "link_draws",
    "links_by_half",
    "next_state_mean",
    "normal_points",
    "places",
    "prepare",
    "sampler_agreement",
    "serialise",
    "state_estimates",
    "with_intercept",
]
