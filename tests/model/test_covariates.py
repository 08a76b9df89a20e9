"""Covariates: nothing after the origin, relative to the population, in any order of agents."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from sphunc.hypergraph.incidence import Incidence
from sphunc.model.base import fit_standardiser
from sphunc.model.covariates import (
    RECENT_DECAY,
    age_columns,
    empty_history,
    feature_columns,
    feature_histories,
    history_columns,
    last_outcome_columns,
    make_covariates,
    neighbour_feature_columns,
    neighbour_outcome_columns,
    outcome_histories,
    population_columns,
)
from sphunc.model.inputs import ModelInputs

T = 6
N = 12
F = 3
KINDS = [3, 0]


def generator(seed):
    return torch.Generator().manual_seed(seed)


def world(classes=3, seed=0, missing=0.3, weighted=True):
    """A panel with gaps everywhere, in overlapping groups with weights."""
    outputs = classes or 2
    x = torch.randn(T, N, F, generator=generator(seed), dtype=torch.float64)
    x_mask = torch.rand(T, N, F, generator=generator(seed + 1)) >= missing
    y_mask = torch.rand(T, N, generator=generator(seed + 2)) >= missing
    if classes:
        labels = torch.randint(classes, (T, N), generator=generator(seed + 3))
        y = torch.nn.functional.one_hot(labels, classes).double()
    else:
        y = torch.randn(T, N, outputs, generator=generator(seed + 3), dtype=torch.float64)
    groups = []
    for t in range(T):
        agent = torch.cat([torch.randperm(N, generator=generator(seed + 10 + t))[:8], torch.arange(4)])
        group = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
        weight = torch.ones(12, dtype=torch.float64)
        if weighted:
            weight = 0.5 + torch.rand(12, generator=generator(seed + 30 + t), dtype=torch.float64)
        groups.append(Incidence(agent, group, weight, N, 4))
    return ModelInputs(torch.where(x_mask, x, 0.0), x_mask, y * y_mask.unsqueeze(-1), y_mask, tuple(groups), classes)


def permuted(inputs, order):
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    groups = tuple(replace(one, agent=place[one.agent]) for one in inputs.groups)
    return replace(
        inputs,
        x=inputs.x[:, order],
        x_mask=inputs.x_mask[:, order],
        y=inputs.y[:, order],
        y_mask=inputs.y_mask[:, order],
        groups=groups,
    )


@pytest.mark.parametrize("classes", KINDS)
@pytest.mark.parametrize("origin", range(T - 1))
def test_nothing_after_the_origin_changes_anything(classes, origin):
    inputs = world(classes)
    other = world(classes, seed=500)
    later = torch.arange(T) > origin
    mixed = replace(
        inputs,
        x=torch.where(later.view(-1, 1, 1), other.x, inputs.x),
        x_mask=torch.where(later.view(-1, 1, 1), other.x_mask, inputs.x_mask),
        y=torch.where(later.view(-1, 1, 1), other.y, inputs.y),
        y_mask=torch.where(later.view(-1, 1), other.y_mask, inputs.y_mask),
        groups=inputs.groups[: origin + 1] + other.groups[origin + 1 :],
    )
    plain = make_covariates(inputs)
    changed = make_covariates(mixed)
    cut = make_covariates(inputs.until(origin))
    for staleness in range(origin + 1):
        expected = plain.at(origin, staleness)
        assert torch.equal(expected.nan_to_num(7.0), changed.at(origin, staleness).nan_to_num(7.0))
        assert torch.equal(expected.nan_to_num(7.0), cut.at(origin, staleness).nan_to_num(7.0))
        assert torch.equal(plain.reference(origin, staleness), cut.reference(origin, staleness))
    assert torch.equal(plain.known_by(origin), cut.known_by(origin))


@pytest.mark.parametrize("classes", KINDS)
def test_order_of_agents_changes_only_the_order_of_rows(classes):
    inputs = world(classes)
    order = torch.randperm(N, generator=generator(4))
    plain = make_covariates(inputs)
    mixed = make_covariates(permuted(inputs, order))
    for origin in range(T):
        # Sums over agents in another order differ in the last bits.
        torch.testing.assert_close(mixed.at(origin), plain.at(origin)[order], equal_nan=True)
        torch.testing.assert_close(mixed.reference(origin), plain.reference(origin)[order])


@pytest.mark.parametrize("classes", KINDS)
def test_every_column_has_a_block_and_only_unknown_things_are_nan(classes):
    covariates = make_covariates(world(classes))
    blocks = covariates.block_names()
    for origin in range(T):
        values = covariates.at(origin)
        assert values.shape == (N, len(blocks))
        assert not values.isinf().any()
        for name in ("age", "population"):
            columns = [k for k, block in enumerate(blocks) if block == name]
            assert not values[:, columns].isnan().any()


@pytest.mark.parametrize("classes", KINDS)
@pytest.mark.parametrize(("shift", "unit"), [(100.0, 1.0), (0.0, 1e-3), (-7.0, 1e5)])
def test_shift_and_unit_of_a_feature_change_nothing_that_is_standardised(classes, shift, unit):
    inputs = world(classes)
    moved = replace(inputs, x=torch.where(inputs.x_mask, inputs.x * unit + shift, 0.0))
    plain = make_covariates(inputs)
    other = make_covariates(moved)
    blocks = plain.block_names()
    rows = torch.cat([plain.at(t) for t in range(T)])
    moved_rows = torch.cat([other.at(t) for t in range(T)])
    expected = fit_standardiser(rows, blocks)(rows)
    found = fit_standardiser(moved_rows, blocks)(moved_rows)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_a_constant_added_to_numbers_changes_nothing():
    inputs = world(0)
    moved = replace(inputs, y=torch.where(inputs.y_mask.unsqueeze(-1), inputs.y + 5.0, 0.0))
    plain = make_covariates(inputs)
    other = make_covariates(moved)
    for origin in range(1, T):
        torch.testing.assert_close(other.at(origin), plain.at(origin), equal_nan=True, rtol=1e-9, atol=1e-9)
        known = plain.outcomes[origin].count > 0
        gap = other.reference(origin) - plain.reference(origin)
        torch.testing.assert_close(gap[known], torch.full_like(gap[known], 5.0))


def test_order_of_classes_changes_only_the_order_of_columns():
    inputs = world(3)
    order = torch.tensor([2, 0, 1])
    plain = outcome_histories(inputs)[-1]
    mixed = outcome_histories(replace(inputs, y=inputs.y[..., order]))[-1]
    torch.testing.assert_close(mixed.population, plain.population[order])
    found = last_outcome_columns(mixed, mixed.population)
    torch.testing.assert_close(found, last_outcome_columns(plain, plain.population)[:, order], equal_nan=True)


@pytest.mark.parametrize("classes", KINDS)
def test_weights_of_memberships_count(classes):
    plain = make_covariates(world(classes, weighted=False))
    weighted = make_covariates(world(classes, weighted=True))
    blocks = plain.block_names()
    changed = (plain.at(T - 1) - weighted.at(T - 1)).nan_to_num().abs().amax(0) > 1e-6
    names = {blocks[k] for k in changed.nonzero().flatten().tolist()}
    assert names == {"neighbour outcomes", "neighbour features"}


def manual_history(inputs, agent):
    """Everything an outcome history says of one agent, counted by hand."""
    seen = [t for t in range(inputs.num_times) if inputs.y_mask[t, agent]]
    outcomes = [inputs.y[t, agent] for t in seen]
    kept = sum(float((a * b).sum()) for a, b in pairwise(outcomes))
    recent = sum(RECENT_DECAY**k * value for k, value in enumerate(reversed(outcomes)))
    return seen, outcomes, kept, recent


@pytest.mark.parametrize("classes", KINDS)
def test_histories_are_those_counted_by_hand(classes):
    inputs = world(classes)
    history = outcome_histories(inputs)[-1]
    for agent in range(N):
        seen, outcomes, kept, recent = manual_history(inputs, agent)
        assert float(history.count[agent]) == len(seen)
        if not seen:
            assert history.last[agent].abs().sum() == 0
            continue
        torch.testing.assert_close(history.last[agent], outcomes[-1])
        torch.testing.assert_close(history.first[agent], outcomes[0])
        torch.testing.assert_close(history.previous[agent], outcomes[max(0, len(outcomes) - 2)])
        torch.testing.assert_close(history.total[agent], torch.stack(outcomes).sum(0))
        torch.testing.assert_close(history.recent[agent], recent)
        assert float(history.age[agent]) == T - 1 - seen[-1]
        if classes:
            assert float(history.kept[agent]) == pytest.approx(kept)


def test_population_of_classes_is_the_smoothed_share_and_level_the_last_time():
    inputs = world(3)
    history = outcome_histories(inputs)[-1]
    count = inputs.y.sum((0, 1))
    expected = (count + 1) / (count.sum() + 3)
    torch.testing.assert_close(history.population, expected)
    last = inputs.y[-1].sum(0)
    torch.testing.assert_close(history.level, (last + expected) / (last.sum() + 1))


def test_a_time_without_outcomes_leaves_the_level():
    inputs = world(3)
    hidden = torch.zeros(T, N, dtype=torch.bool)
    hidden[3] = True
    histories = outcome_histories(inputs.hide_outcomes(hidden))
    assert torch.equal(histories[3].level, histories[2].level)


def test_no_outcome_so_far():
    inputs = world(3).hide_outcomes(torch.ones(T, N, dtype=torch.bool))
    history = outcome_histories(inputs)[-1]
    population = history.population
    assert population.tolist() == pytest.approx([1 / 3] * 3)
    assert last_outcome_columns(history, population).isnan().all()
    assert age_columns(history, population).isfinite().all()
    columns = history_columns(history, population)
    assert (columns.isfinite() | columns.isnan()).all()
    assert population_columns(history).isfinite().all()


@pytest.mark.parametrize("classes", KINDS)
def test_ageing_is_a_time_without_an_outcome_of_these_agents(classes):
    inputs = world(classes)
    history = outcome_histories(inputs)[-1]
    nothing = torch.zeros(N, dtype=torch.bool)
    stepped = history.update(torch.zeros_like(history.last), nothing)
    aged = history.aged(1)
    for name in ("last", "first", "previous", "total", "count", "recent", "recent_count", "kept", "age"):
        assert torch.equal(getattr(aged, name), getattr(stepped, name)), name
    assert aged.elapsed == stepped.elapsed
    assert torch.equal(aged.level, history.level)


def test_staleness_takes_the_agents_own_past_and_leaves_the_others():
    covariates = make_covariates(world(3))
    blocks = covariates.block_names()
    fresh = covariates.at(4)
    stale = covariates.at(4, 2)
    others = [
        k for k, block in enumerate(blocks) if block in {"neighbour outcomes", "neighbour features", "population"}
    ]
    assert torch.equal(fresh[:, others].nan_to_num(7.0), stale[:, others].nan_to_num(7.0))
    own = covariates.outcomes[2]
    expected = last_outcome_columns(own, covariates.outcomes[4].population)
    assert torch.equal(stale[:, :3].nan_to_num(7.0), expected.nan_to_num(7.0))
    missing = [k for k, block in enumerate(blocks) if block == "features"][F:]
    assert (stale[:, missing] == 1).all()


def test_neighbour_means_are_those_of_co_members():
    inputs = world(3, missing=0.0)
    history = outcome_histories(inputs)[-1]
    found = neighbour_outcome_columns(history, inputs.groups[-1], history.population)
    mean, _ = inputs.groups[-1].mean_of_others(history.last, torch.ones_like(history.last))
    met = inputs.groups[-1].group_count() > 0
    torch.testing.assert_close(found[met], mean[met])
    assert found[~met].isnan().all()
    features = feature_histories(inputs)[-1]
    columns = neighbour_feature_columns(features, inputs.groups[-1])
    relative = features.last - features.last.mean(0)
    mean, _ = inputs.groups[-1].mean_of_others(relative, torch.ones_like(relative))
    torch.testing.assert_close(columns[met, :F], mean[met])
    assert torch.equal(columns[:, F], (~met).double())
    torch.testing.assert_close(columns[:, F + 1], torch.log1p(inputs.groups[-1].group_count()))


def test_features_are_last_values_running_means_and_gaps():
    inputs = world(3)
    history = feature_histories(inputs)[-1]
    for agent in range(N):
        for feature in range(F):
            values = [inputs.x[t, agent, feature] for t in range(T) if inputs.x_mask[t, agent, feature]]
            if not values:
                assert math.isnan(history.last[agent, feature])
                assert math.isnan(history.mean[agent, feature])
                continue
            assert float(history.last[agent, feature]) == float(values[-1])
            assert float(history.mean[agent, feature]) == pytest.approx(float(torch.stack(values).mean()))
            assert float(history.missing[agent, feature]) == float(not inputs.x_mask[-1, agent, feature])
    assert feature_columns(history).shape == (N, 3 * F)


def test_an_agent_who_joins_late_is_unknown_before():
    inputs = world(3, missing=0.0)
    x_mask = inputs.x_mask.clone()
    y_mask = inputs.y_mask.clone()
    x_mask[:3, 5] = False
    y_mask[:3, 5] = False
    late = replace(inputs, x=inputs.x * x_mask, x_mask=x_mask, y=inputs.y * y_mask.unsqueeze(-1), y_mask=y_mask)
    covariates = make_covariates(late)
    assert [bool(covariates.known_by(t)[5]) for t in range(T)] == [False] * 3 + [True] * 3
    assert bool(covariates.known_by(0)[4])
    values = covariates.at(2)[5]
    blocks = covariates.block_names()
    last = [k for k, block in enumerate(blocks) if block == "last outcome"]
    assert values[last].isnan().all()
    # Who joined a while ago and was never missed has the age of one seen now.
    assert float(covariates.outcomes[4].age[5]) == 0


def test_panels_without_features_or_groups():
    inputs = world(3)
    bare = replace(inputs, x=inputs.x[..., :0], x_mask=inputs.x_mask[..., :0])
    nothing = torch.zeros(0, dtype=torch.long)
    alone = Incidence(nothing, nothing, torch.zeros(0).double(), N, 0)
    bare = replace(bare, groups=(alone,) * T)
    covariates = make_covariates(bare)
    values = covariates.at(T - 1)
    assert values.shape == (N, len(covariates.block_names()))
    assert not values.isinf().any()
    assert torch.equal(covariates.known_by(T - 1), inputs.y_mask.any(0))


def test_the_empty_history_is_the_start_of_all():
    inputs = world(3)
    start = empty_history(inputs)
    assert start.elapsed == 0
    assert start.ever.abs().sum() == 0
    assert start.level.tolist() == pytest.approx([1 / 3] * 3)
    first = start.update(inputs.y[0], inputs.y_mask[0])
    assert torch.equal(first.level, outcome_histories(inputs)[0].level)
    assert torch.equal(first.earlier_level, first.level)
