"""Covariates of a simulation are those of the model, column by column."""

from dataclasses import replace

import pytest
import torch

from sphunc.interventions.simulation.covariates import (
    OutcomeRegression,
    simulated_history,
)
from sphunc.interventions.simulation.population import copies, sparse_incidence
from sphunc.model.base import Standardiser
from sphunc.model.covariates import make_covariates
from sphunc.model.regression import with_intercept


@pytest.fixture(params=[3, 0], ids=["classes", "numbers"])
def inputs(request, build):
    generator = torch.Generator().manual_seed(0)
    times, agents = 5, 9
    features = torch.randn(times, agents, 2, generator=generator)
    features[torch.rand(features.shape, generator=generator) < 0.2] = torch.nan
    if request.param:
        outcomes = torch.randint(-1, 3, (times, agents), generator=generator)
    else:
        outcomes = torch.randn(times, agents, 1, generator=generator)
        outcomes[torch.rand(times, agents, generator=generator) < 0.2] = torch.nan
    groups = [[[0, 1, 2], [2, 3]], [[4, 5]], [[0, 8], [1, 2, 3, 4]], [[5, 6, 7]], [[0, 1], [1, 6, 7]]]
    return build.panel(features, outcomes, groups, request.param)


def test_simulated_outputs_are_those_of_the_regression_on_all_covariates(inputs, build):
    """Two structures, three draws, three steps: columns of the model's own histories, one sample after the other."""
    generator = torch.Generator().manual_seed(2)
    covariates = make_covariates(inputs)
    base = build.regression(inputs)
    columns, outputs = base.coefficients.shape
    spread = 0.5 + torch.rand(columns - 1, generator=generator, dtype=torch.float64)
    centre = 0.3 * torch.randn(columns - 1, generator=generator, dtype=torch.float64)
    is_constant = torch.zeros(columns - 1, dtype=torch.bool)
    is_constant[1] = True
    log_variance = 0.1 * torch.randn(base.log_variance.shape, generator=generator, dtype=torch.float64)
    base = replace(base, standardiser=Standardiser(centre, spread, is_constant), log_variance=log_variance)
    drawn = torch.randn(2, columns, outputs, generator=generator, dtype=torch.float64)
    regression = OutcomeRegression(base, covariates, drawn, torch.float64)
    groups = inputs.groups[-1]
    sparse = sparse_incidence(copies(groups, 2), torch.float64)
    structures = torch.arange(2)
    history, common = simulated_history(covariates.outcomes[-1], 2, 3, torch.float64)
    by_features = regression.by_features(regression.feature_design(covariates.at(-1)), structures)
    plain = [[covariates.outcomes[-1]] * 3 for _ in range(2)]
    for _ in range(3):
        outcome = torch.randn(2, outputs, inputs.num_agents, 3, generator=generator, dtype=torch.float64)
        if inputs.num_classes:
            outcome = (outcome == outcome.amax(1, keepdim=True)).double()
        history = history.update(outcome)
        common = history.common(common)
        found = regression(history, common, sparse, by_features, structures)
        all_agents = torch.ones(inputs.num_agents, dtype=torch.bool)
        for q in range(2):
            for r in range(3):
                plain[q][r] = plain[q][r].update(outcome[q, :, :, r].mT, all_agents)
                rows = replace(covariates, outcomes=[plain[q][r]]).at(-1)
                z = with_intercept(base.standardiser(rows))
                weights = torch.cat([drawn[q], log_variance], 1)
                torch.testing.assert_close(found[q, :, :, r].mT, z @ weights)


def test_at_the_origin_outputs_are_those_of_its_covariates(inputs, build):
    covariates = make_covariates(inputs)
    base = build.regression(inputs)
    drawn = torch.randn(2, *base.coefficients.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    regression = OutcomeRegression(base, covariates, drawn, torch.float64)
    found = regression.at_origin(regression.design(covariates.at(2)), torch.tensor([1]))
    expected = with_intercept(base.standardiser(covariates.at(2))) @ drawn[1]
    torch.testing.assert_close(found[0, : inputs.num_outputs, :, 0].mT, expected)


def test_a_history_of_some_agents_is_that_of_the_whole(inputs):
    history, _ = simulated_history(make_covariates(inputs).outcomes[-1], 1, 2, torch.float32)
    some = torch.tensor([4, 1])
    outcome = torch.ones(1, inputs.num_outputs, inputs.num_agents, 2)
    alone = history.select(some).update(outcome[:, :, some])
    together = history.update(outcome).select(some)
    for name in ("last", "previous", "total", "kept", "count", "recent_count"):
        assert torch.equal(getattr(alone, name), getattr(together, name)), name
