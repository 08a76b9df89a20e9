"""Covariates of the base regression in a simulation: simulated outcomes, features as last observed.

The columns are those of :class:`~sphunc.model.covariates.Covariates`, made by the same functions. They fall into two
parts: what simulated outcomes change, made anew at every step of every sample; and what features say, which is the
same for all samples and enters a regression once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from sphunc._typing import Bool, Float, Tensor
from sphunc.hypergraph import Incidence
from sphunc.model.base import LARGEST_SCORE, Standardiser
from sphunc.model.covariates import (
    Covariates,
    FeatureHistory,
    OutcomeHistory,
    age_columns,
    feature_columns,
    history_columns,
    last_outcome_columns,
    neighbour_feature_columns,
    neighbour_outcome_columns,
    population_columns,
)

FEATURE_BLOCKS = ("features", "feature means", "neighbour features")
"""Blocks of columns that simulated outcomes do not change."""


def outcome_covariates(
    history: OutcomeHistory, groups: Incidence, population: Float[Tensor, "*batch output"]
) -> Float[Tensor, "*batch agent column"]:
    """Columns that outcomes decide, in the order of the covariates.

    Args:
        history: simulated outcomes of N agents, batched over samples.
        groups: who meets whom.
        population: class frequencies or mean that histories are taken relative to.
    """
    return torch.cat(
        [
            last_outcome_columns(history, population),
            age_columns(history, population),
            history_columns(history, population),
            neighbour_outcome_columns(history, groups, population),
            population_columns(history),
        ],
        -1,
    )


def feature_covariates(features: FeatureHistory, groups: Incidence) -> Float[Tensor, "agent column"]:
    """Columns that features decide, in the order of the covariates.

    Args:
        features: as last observed.
        groups: who meets whom.
    """
    return torch.cat([feature_columns(features), neighbour_feature_columns(features, groups)], -1)


def is_feature_column(covariates: Covariates) -> Bool[Tensor, " column"]:
    """True for the columns of :func:`feature_covariates` among all ``[D]``."""
    return torch.tensor([name in FEATURE_BLOCKS for name in covariates.block_names()])


def simulated_covariates(
    history: OutcomeHistory,
    features: FeatureHistory,
    groups: Incidence,
    is_feature: Bool[Tensor, " column"],
) -> Float[Tensor, "*batch agent column"]:
    """All covariates of a batch of histories; without simulation those of the origin.

    Args:
        history: outcomes so far, batched over samples.
        features: as last observed.
        groups: who meets whom.
        is_feature: of :func:`is_feature_column`.
    """
    by_outcomes = outcome_covariates(history, groups, history.population)
    by_features = feature_covariates(features, groups)
    columns = by_outcomes.new_empty(*by_outcomes.shape[:-1], len(is_feature))
    columns[..., ~is_feature] = by_outcomes
    columns[..., is_feature] = by_features.to(by_outcomes)
    return columns


@dataclass(frozen=True, eq=False)
class InPlaceStandardiser:
    """The standardiser of some columns, without temporary copies of a large batch.

    Attributes:
        mean: of each column ``[D]``.
        inverse_scale: of each column, 0 where it is constant ``[D]``.
    """

    mean: Float[Tensor, " column"]
    inverse_scale: Float[Tensor, " column"]

    def __call__(self, covariates: Float[Tensor, "*batch column"]) -> Float[Tensor, "*batch column"]:
        """Standardise, clip and impute in place; return the same tensor."""
        covariates.sub_(self.mean).mul_(self.inverse_scale)
        return covariates.clamp_(-LARGEST_SCORE, LARGEST_SCORE).nan_to_num_(nan=0.0)


def select_columns(
    standardiser: Standardiser, kept: Bool[Tensor, " column"], dtype: torch.dtype
) -> InPlaceStandardiser:
    """Return the standardiser of some columns.

    Args:
        standardiser: of all columns.
        kept: True for the columns to keep.
        dtype: of the numbers that it will get.
    """
    inverse = torch.where(standardiser.is_constant, 0.0, 1.0 / standardiser.scale)
    return InPlaceStandardiser(standardiser.mean[kept].to(dtype), inverse[kept].to(dtype))


def converted_history(history: OutcomeHistory, dtype: torch.dtype) -> OutcomeHistory:
    """Return the same history in another precision.

    Args:
        history: of any batch.
        dtype: of the result.
    """
    names = ("last", "first", "previous", "total", "count", "recent", "recent_count", "kept", "age")
    names = (*names, "level", "earlier_level")
    return replace(history, **{name: getattr(history, name).to(dtype) for name in names})
