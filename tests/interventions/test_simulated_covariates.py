"""Covariates of a simulation are those of the model, column by column."""

import pytest
import torch

from sphunc.interventions.simulated_covariates import (
    converted_history,
    feature_covariates,
    is_feature_column,
    outcome_covariates,
    select_columns,
    simulated_covariates,
)
from sphunc.model.base import Standardiser
from sphunc.model.covariates import make_covariates


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


def test_without_simulation_they_are_the_covariates_of_the_origin(inputs):
    covariates = make_covariates(inputs)
    is_feature = is_feature_column(covariates)
    for origin in range(inputs.num_times):
        history = covariates.outcomes[origin]
        found = simulated_covariates(history, covariates.features[origin], inputs.groups[origin], is_feature)
        torch.testing.assert_close(found, covariates.at(origin), rtol=0, atol=0, equal_nan=True)


def test_every_sample_of_a_batch_has_its_own(inputs):
    covariates = make_covariates(inputs)
    groups = inputs.groups[-1]
    history = covariates.outcomes[-1].expand(2, 3)
    drawn = torch.randint(inputs.num_outputs, (2, 3, inputs.num_agents), generator=torch.Generator().manual_seed(1))
    outcome = torch.nn.functional.one_hot(drawn, inputs.num_outputs).double()
    updated = history.update(outcome, torch.ones(2, 3, inputs.num_agents, dtype=torch.bool))
    batched = outcome_covariates(updated, groups, updated.population)
    for i in range(2):
        for j in range(3):
            own = covariates.outcomes[-1].update(outcome[i, j], torch.ones(inputs.num_agents, dtype=torch.bool))
            alone = outcome_covariates(own, groups, own.population)
            torch.testing.assert_close(batched[i, j], alone, equal_nan=True)


def test_columns_of_both_parts_are_all_columns(inputs):
    covariates = make_covariates(inputs)
    is_feature = is_feature_column(covariates)
    features = feature_covariates(covariates.features[-1], inputs.groups[-1])
    outcomes = outcome_covariates(covariates.outcomes[-1], inputs.groups[-1], covariates.outcomes[-1].population)
    assert features.shape[1] == int(is_feature.sum())
    assert outcomes.shape[1] == int((~is_feature).sum())


def test_columns_of_a_standardiser_are_selected():
    generator = torch.Generator().manual_seed(0)
    is_constant = torch.tensor([False, True, False, False])
    whole = Standardiser(torch.randn(4, generator=generator), torch.rand(4, generator=generator) + 0.1, is_constant)
    rows = 5.0 * torch.randn(50, 4, generator=generator)
    rows[3, 0] = torch.nan
    rows[4, 1] = torch.nan
    kept = torch.tensor([True, True, False, True])
    part = select_columns(whole, kept, torch.float32)
    torch.testing.assert_close(part(rows[:, kept].clone()), whole(rows)[:, kept])


def test_a_history_changes_its_precision_and_nothing_else(inputs):
    history = make_covariates(inputs).outcomes[-1]
    single = converted_history(history, torch.float32)
    assert single.total.dtype == torch.float32
    assert single.elapsed == history.elapsed
    torch.testing.assert_close(single.recent.double(), history.recent, rtol=1e-6, atol=1e-6)
