"""The base: standardisation, rows without leakage, penalties by evidence, folds, and what it forecasts."""

import math
from dataclasses import replace

import pytest
import torch

from sphunc.forecasting.distribution import Categorical, Gaussian
from sphunc.hypergraph.incidence import Incidence
from sphunc.model.base import (
    LARGEST_SCORE,
    SMALLEST_SPREAD,
    Rows,
    evidence_penalties,
    fit_base,
    fit_standardiser,
    is_clearly_better,
    make_folds,
    recency_weights,
    training_rows,
)
from sphunc.model.covariates import make_covariates
from sphunc.model.inputs import ModelInputs
from sphunc.model.regression import INTERCEPT_PENALTY, with_intercept

NAN = math.nan


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def world(agents=60, times=8, classes=3, seed=0, signal=2.0):
    """Outcomes that follow a persistent feature."""
    state = draw(agents, 2, seed=seed)
    xs = []
    for t in range(times):
        state = 0.9 * state + 0.4 * draw(agents, 2, seed=seed + 1 + t)
        xs.append(state + 0.3 * draw(agents, 2, seed=seed + 50 + t))
    x = torch.stack(xs)
    if classes:
        logits = signal * torch.cat([x, torch.zeros(times, agents, classes - 2).double()], -1)
        gumbel = torch.distributions.Gumbel(0.0, 1.0).icdf(torch.special.ndtr(draw(*logits.shape, seed=seed + 90)))
        y = torch.nn.functional.one_hot((logits + gumbel).argmax(-1), classes).double()
    else:
        y = signal * x[..., :1] + 0.5 * draw(times, agents, 1, seed=seed + 91)
    group = torch.arange(agents) // 4
    meeting = Incidence(torch.arange(agents), group, torch.ones(agents).double(), agents, int(group[-1]) + 1)
    mask = torch.ones(times, agents, dtype=torch.bool)
    return ModelInputs(x, mask.unsqueeze(-1).expand_as(x), y, mask, (meeting,) * times, classes)


def test_standardised_columns_have_mean_0_and_deviation_1():
    rows = 5 + 3 * draw(200, 2)
    z = fit_standardiser(rows, ["features"] * 2)(rows)
    assert z.mean(0).abs().max() < 1e-12
    torch.testing.assert_close(z.std(0, correction=0), torch.ones(2).double(), rtol=1e-2, atol=0)


def test_what_is_not_known_counts_as_the_mean():
    rows = torch.tensor([[1.0], [3.0], [NAN]]).double()
    standardiser = fit_standardiser(rows, ["features"])
    assert float(standardiser.mean) == 2.0
    assert standardiser(torch.tensor([[NAN]]).double()).tolist() == [[0.0]]
    never = fit_standardiser(torch.full((3, 1), NAN).double(), ["features"])
    assert never(torch.tensor([[5.0], [NAN]]).double()).tolist() == [[0.0], [0.0]]


def test_constants_say_nothing_and_wild_values_are_clipped():
    constant = fit_standardiser(torch.full((10, 1), 1e9).double(), ["features"])
    assert constant(torch.tensor([[1e9 + 1.0], [0.0]]).double()).tolist() == [[0.0], [0.0]]
    standardiser = fit_standardiser(draw(100, 1), ["features"])
    ends = standardiser(torch.tensor([[1e12], [-1e12], [math.inf]]).double())
    assert ends.flatten().tolist() == [LARGEST_SCORE, -LARGEST_SCORE, LARGEST_SCORE]


def test_columns_that_hardly_vary_are_not_blown_up():
    rows = torch.zeros(1000, 1).double()
    rows[0] = 1.0
    rare = fit_standardiser(rows, ["last outcome"])
    assert float(rare.scale) == pytest.approx(SMALLEST_SPREAD["last outcome"])
    assert float(fit_standardiser(rows, ["features"]).scale) < 0.1


def test_rows_are_agents_known_at_an_origin_whose_outcome_followed():
    inputs = world(agents=10, times=5)
    y_mask = inputs.y_mask.clone()
    y_mask[3, 4] = False
    x_mask = inputs.x_mask.clone()
    x_mask[:3, 7] = False
    y_mask[:3, 7] = False
    inputs = replace(inputs, x=inputs.x * x_mask, x_mask=x_mask, y=inputs.y * y_mask.unsqueeze(-1), y_mask=y_mask)
    covariates = make_covariates(inputs)
    rows = training_rows(covariates, [2], 1, seed=0)
    fresh = ~rows.is_copy
    assert sorted(rows.agent[fresh].tolist()) == [0, 1, 2, 3, 5, 6, 8, 9]
    for agent, target, values in zip(rows.agent[fresh], rows.target[fresh], rows.covariates[fresh], strict=True):
        assert torch.equal(target, inputs.y[3, agent])
        assert torch.equal(values.nan_to_num(9.0), covariates.at(2)[agent].nan_to_num(9.0))
    some = training_rows(covariates, [2], 1, seed=0, agents=torch.arange(10) < 3)
    assert set(some.agent.tolist()) == {0, 1, 2}


def test_copies_are_stale_rows_of_the_same_outcome():
    inputs = world(agents=100, times=8)
    covariates = make_covariates(inputs)
    rows = training_rows(covariates, [5], 1, seed=0)
    copies = rows.select(rows.is_copy)
    assert 10 < len(copies) < 50
    stale = [covariates.at(5, staleness) for staleness in (1, 2, 4)]
    for agent, target, values in zip(copies.agent, copies.target, copies.covariates, strict=True):
        assert torch.equal(target, inputs.y[6, agent])
        assert any(torch.equal(values.nan_to_num(9.0), one[agent].nan_to_num(9.0)) for one in stale)


def test_numbers_are_changes_since_the_last_one():
    inputs = world(classes=0, agents=10, times=5)
    covariates = make_covariates(inputs)
    rows = training_rows(covariates, [2], 2, seed=0)
    fresh = ~rows.is_copy
    expected = inputs.y[4] - inputs.y[2]
    torch.testing.assert_close(rows.target[fresh], expected[rows.agent[fresh]])


def test_rows_count_half_after_each_half_life():
    origin = torch.tensor([0, 2, 4])
    assert recency_weights(origin, 2.0).tolist() == pytest.approx([0.25, 0.5, 1.0])
    assert recency_weights(origin, math.inf).tolist() == [1.0, 1.0, 1.0]
    assert len(recency_weights(origin[:0], 2.0)) == 0


def rows_of(origins, agents):
    origin = torch.arange(origins).repeat_interleave(agents)
    agent = torch.arange(agents).repeat(origins)
    copy = (torch.arange(len(origin)) % 7) == 0
    return Rows(draw(len(origin), 2), draw(len(origin), 2), agent, origin, copy)


@pytest.mark.parametrize("horizon", [1, 3])
def test_a_fold_learns_only_from_outcomes_known_at_the_origin_it_is_judged_at(horizon):
    rows = rows_of(12, 20)
    folds, kind = make_folds(rows, horizon, 0, 20)
    assert kind == "origins"
    assert len(folds) >= 2
    for train, test in folds:
        held_out = rows.origin[test].unique()
        assert len(held_out) == 1
        assert int(rows.origin[train].max()) + horizon <= int(held_out)
        assert not rows.is_copy[test].any()


@pytest.mark.parametrize("origins", [1, 2, 3])
def test_few_origins_hold_out_agents(origins):
    rows = rows_of(origins, 20)
    folds, kind = make_folds(rows, 1, 0, 20)
    assert kind == "agents"
    held_out = []
    for train, test in folds:
        assert not set(rows.agent[train].tolist()) & set(rows.agent[test].tolist())
        assert not rows.is_copy[test].any()
        held_out += rows.agent[test].tolist()
    assert len(held_out) == int((~rows.is_copy).sum())


def test_no_rows_have_no_folds():
    nothing = rows_of(3, 5).select(torch.zeros(15, dtype=torch.bool))
    assert make_folds(nothing, 1, 0, 5)[0] == []


def test_clearly_better_is_one_paired_error():
    losses = draw(100)
    assert is_clearly_better(losses - 0.1, losses)
    assert not is_clearly_better(losses, losses)
    assert not is_clearly_better(losses + 0.1, losses)
    noise = draw(100, seed=1)
    assert not is_clearly_better(losses - 0.01 + noise - noise.mean(), losses)
    assert not is_clearly_better(losses[:1] - 1, losses[:1])


def log_evidence(z, target, penalty, block):
    """Log marginal likelihood of one number per row, noise variance profiled out."""
    prior = 1 / torch.tensor([penalty[b] for b in block]).double()
    covariance = torch.eye(len(z)).double() + (z * prior) @ z.T
    covariance = covariance + torch.ones(len(z), len(z)).double() / INTERCEPT_PENALTY
    quadratic = target @ torch.linalg.solve(covariance, target)
    return float(-0.5 * torch.logdet(covariance) - 0.5 * len(z) * quadratic.log())


def test_penalties_of_numbers_maximise_the_evidence():
    rows = 300
    z = draw(rows, 10)
    slopes = torch.cat([draw(5, seed=1), 0.05 * draw(5, seed=2)])
    target = z @ slopes + draw(rows, seed=3)
    blocks = ["features"] * 5 + ["age"] * 5
    found = evidence_penalties(z, target.unsqueeze(1), 0, blocks)
    assert len(set(found[:5].tolist())) == 1
    block = [0] * 5 + [1] * 5
    chosen = log_evidence(z, target, [float(found[0]), float(found[5])], block)
    grid = [10.0**k for k in torch.linspace(-1, 4, 11).tolist()]
    best = max(log_evidence(z, target, [a, b], block) for a in grid for b in grid)
    assert chosen > best - 0.5
    assert float(found[5]) > 5 * float(found[0])


def test_penalties_of_classes_follow_the_size_of_effects():
    rows = 600
    z = draw(rows, 8)
    truth = torch.cat([1.5 * draw(4, 3, seed=1), torch.zeros(4, 3).double()])
    gumbel = torch.distributions.Gumbel(0.0, 1.0).icdf(torch.special.ndtr(draw(rows, 3, seed=2)))
    target = torch.nn.functional.one_hot((z @ truth + gumbel).argmax(1), 3).double()
    found = evidence_penalties(z, target, 3, ["features"] * 4 + ["age"] * 4)
    assert float(found[4]) > 10 * float(found[0])
    assert found.isfinite().all()


@pytest.fixture(scope="module")
def classes():
    inputs = world(agents=60, times=8)
    covariates = make_covariates(inputs)
    return inputs, covariates, fit_base(covariates, range(6), 1, 0)


@pytest.fixture(scope="module")
def numbers():
    inputs = world(agents=60, times=8, classes=0)
    covariates = make_covariates(inputs)
    return inputs, covariates, fit_base(covariates, range(6), 1, 0)


def test_outcomes_that_follow_covariates_are_forecast_better_than_by_frequencies(classes):
    inputs, covariates, base = classes
    found = base.at(covariates, 6)
    assert isinstance(found, Categorical)
    frequency = inputs.y[:7].mean((0, 1)).log()
    by_frequency = -(inputs.y[7] * frequency).sum(-1).mean()
    assert found.nll(inputs.y[7]).mean() < by_frequency - 0.05
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(60).double())


def test_what_is_not_known_of_coefficients_widens_forecasts(classes):
    _, covariates, base = classes
    certain = replace(base, covariance=torch.zeros_like(base.covariance))
    # Common to all classes or not, on average forecasts become less sharp.
    assert base.at(covariates, 6).entropy.mean() > certain.at(covariates, 6).entropy.mean()


def test_numbers_are_forecast_with_their_own_error(numbers):
    inputs, covariates, base = numbers
    found = base.at(covariates, 6)
    assert isinstance(found, Gaussian)
    error = (inputs.y[7] - found.mean).square()
    persistence = (inputs.y[7] - inputs.y[6]).square()
    assert error.mean() < persistence.mean()
    assert float(found.variance.mean()) == pytest.approx(float(error.mean()), rel=0.5)
    assert (found.variance > 0).all()


@pytest.mark.parametrize("which", ["classes", "numbers"])
def test_gradient_of_the_penalised_likelihood_vanishes(which, request):
    inputs, covariates, base = request.getfixturevalue(which)
    rows = training_rows(covariates, list(range(6)), 1, 0)
    design = with_intercept(base.standardiser(rows.covariates))
    weight = recency_weights(rows.origin, base.half_life).unsqueeze(1)
    mean = design @ base.coefficients
    fitted = mean if inputs.is_numeric else torch.softmax(mean, 1)
    ridge = torch.cat([base.penalty, torch.tensor([INTERCEPT_PENALTY]).double()]).unsqueeze(1)
    gradient = design.T @ (weight * (fitted - rows.target)) + ridge * base.coefficients
    deviation = base.covariance.diagonal(dim1=1, dim2=2).T.sqrt()
    assert (gradient * deviation).abs().max() < 0.05  # in posterior deviations


def test_another_fit_may_take_penalties_over(classes):
    _, covariates, base = classes
    again = fit_base(covariates, range(4), 1, 0, like=base)
    assert torch.equal(again.penalty, base.penalty)
    assert again.half_life == base.half_life


@pytest.mark.parametrize(("shift", "unit"), [(50.0, 1.0), (0.0, 1e-4)])
def test_shift_and_unit_of_features_change_no_forecast(classes, shift, unit):
    inputs, covariates, base = classes
    moved = make_covariates(replace(inputs, x=(inputs.x + shift) * unit))
    other = fit_base(moved, range(6), 1, 0)
    # The search ends within a tolerance.
    torch.testing.assert_close(
        other.at(moved, 6).probabilities, base.at(covariates, 6).probabilities, rtol=0, atol=2e-3
    )


def test_the_same_seed_gives_the_same_coefficients(classes):
    _, covariates, base = classes
    assert torch.equal(fit_base(covariates, range(6), 1, 0).coefficients, base.coefficients)


@pytest.mark.parametrize("classes", [3, 0])
@pytest.mark.parametrize("times", [2, 3, 4])
def test_few_times_are_no_fault(classes, times):
    inputs = world(agents=12, times=times, classes=classes)
    covariates = make_covariates(inputs)
    base = fit_base(covariates, range(times - 1), 1, 0)
    found = base.at(covariates, times - 1)
    assert found.entropy.isfinite().all()
    assert base.held_out in {"agents", "origins"}


def test_one_class_in_training_is_no_fault():
    inputs = world(agents=12, times=5)
    same = replace(inputs, y=inputs.y[:1, :1].expand_as(inputs.y).clone())
    covariates = make_covariates(same)
    found = fit_base(covariates, range(4), 1, 0).at(covariates, 4)
    assert (found.probabilities.argmax(1) == same.labels[0, 0]).all()
    assert found.confidence.min() > 0.9
    constant = replace(world(agents=12, times=5, classes=0), y=torch.ones(5, 12, 1).double())
    covariates = make_covariates(constant)
    found = fit_base(covariates, range(4), 1, 0).at(covariates, 4)
    torch.testing.assert_close(found.mean, torch.ones(12, 1).double(), rtol=0, atol=1e-3)
    assert found.variance.isfinite().all()
