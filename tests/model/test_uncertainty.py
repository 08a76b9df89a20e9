"""Fusion is monotone, temperatures act only where they clearly help, errors are those of a bootstrap."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import nnls

from sphunc.forecasting.distribution import NORMAL, Categorical, Gaussian, Tails
from sphunc.model.uncertainty import (
    Fusion,
    HeldOut,
    Temperature,
    aleatoric_variance,
    clustered_error,
    fit_fusion,
    fit_tails,
    fit_temperature,
    passes_gate,
)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uniform(*shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_aleatoric_part_is_the_error_rate_of_the_best_guess_or_the_variance():
    p = torch.softmax(draw(4, 3), 1)
    found = aleatoric_variance(Categorical(p.log()))
    for n in range(4):
        assert float(found[n]) == pytest.approx(1.0 - max(p[n].tolist()))
    variance = uniform(4, 2)
    assert torch.equal(aleatoric_variance(Gaussian(draw(4, 2), variance)), variance.mean(1))


def rows(count):
    return torch.arange(count)


def test_fusion_increases_in_both_parts():
    for seed in range(5):
        parts = [uniform(100, seed=seed + k) for k in (0, 10, 20)]
        fusion = fit_fusion(*parts, rows(100))
        grid = torch.linspace(0, 1, 11).double()
        constant = torch.full_like(grid, 0.4)
        assert (fusion(grid, constant).diff() > 0).all()
        assert (fusion(constant, grid).diff() > 0).all()


def test_fusion_is_non_negative_least_squares_where_both_parts_explain_errors():
    epistemic = uniform(400, seed=1)
    aleatoric = uniform(400, seed=2)
    error = 0.1 + 0.2 * epistemic + 0.7 * aleatoric + 0.05 * draw(400, seed=3)
    fusion = fit_fusion(epistemic, aleatoric, error, rows(400))
    design = torch.stack([torch.ones(400).double(), epistemic, aleatoric], 1)
    weights, _ = nnls(design.numpy(), error.numpy())
    assert fusion.intercept == pytest.approx(weights[0])
    assert fusion.epistemic == pytest.approx(weights[1])
    assert fusion.aleatoric == pytest.approx(weights[2])


def test_an_epistemic_part_that_explains_nothing_orders_only_ties():
    epistemic = uniform(400, seed=1)
    aleatoric = uniform(400, seed=2).round(decimals=1)
    fusion = fit_fusion(epistemic, aleatoric, aleatoric + 0.3 * draw(400, seed=3), rows(400))
    total = fusion(epistemic, aleatoric)
    order = total.argsort()
    assert (aleatoric[order].diff() >= 0).all()
    tied = aleatoric == 0.5
    assert torch.equal(total[tied].argsort(), epistemic[tied].argsort())


def test_the_epistemic_part_never_drowns_the_aleatoric_one():
    epistemic = uniform(200, seed=1)
    aleatoric = uniform(200, seed=2)
    fusion = fit_fusion(epistemic, aleatoric, 5 * epistemic + 0.1 * aleatoric, rows(200))
    assert fusion.epistemic <= fusion.aleatoric


def test_few_rows_and_constant_parts_have_a_fusion():
    few = fit_fusion(uniform(5), uniform(5), uniform(5), rows(5))
    assert few == Fusion()
    constant = torch.zeros(50).double()
    fusion = fit_fusion(constant, constant, constant, rows(50))
    assert all(math.isfinite(v) for v in (fusion.intercept, fusion.epistemic, fusion.aleatoric))


def test_clustered_error_is_that_of_a_bootstrap_over_agents():
    agents = 60
    agent = torch.arange(agents).repeat_interleave(6)
    own = draw(agents, seed=1)
    gap = 0.3 + own[agent] + 0.5 * draw(len(agent), seed=2)
    g = torch.Generator().manual_seed(3)
    means = []
    by_agent = gap.view(agents, 6)
    for _ in range(4000):
        chosen = torch.randint(agents, (agents,), generator=g)
        means.append(by_agent[chosen].mean())
    expected = float(torch.stack(means).std())
    assert clustered_error(gap, agent) == pytest.approx(expected, rel=0.06)
    # Rows as if they were independent would claim less than half of it.
    assert clustered_error(gap, torch.arange(len(gap))) < 0.6 * expected


def test_clustered_error_of_single_rows_is_the_standard_error():
    gap = draw(50)
    assert clustered_error(gap, torch.arange(50)) == pytest.approx(float(gap.std() / 50**0.5))


def test_too_few_rows_or_agents_have_no_error():
    assert clustered_error(draw(1), torch.tensor([0])) == math.inf
    assert clustered_error(draw(20), torch.zeros(20, dtype=torch.long)) == math.inf
    assert clustered_error(draw(0), torch.zeros(0, dtype=torch.long)) == math.inf


def held(rows, blocks=2, classes=3):
    outcome = torch.nn.functional.one_hot(torch.arange(rows) % classes, classes).double()
    return HeldOut(torch.arange(rows) % (rows // blocks), torch.arange(rows) * blocks // rows, outcome)


def test_the_gate_asks_for_two_errors_and_every_block():
    rows = held(200)
    noise = 0.1 * draw(200)
    assert passes_gate(0.1 + noise, rows)
    assert not passes_gate(noise, rows)
    assert not passes_gate(-0.1 + noise, rows)
    only_first = torch.where(rows.block == 0, 0.5, -0.01) + noise
    assert float(only_first.mean()) > 2 * clustered_error(only_first, rows.agent)
    assert not passes_gate(only_first, rows)
    assert not passes_gate(torch.ones(5).double(), held(6, blocks=1))


def test_the_gate_holds_its_level():
    rows = held(100, blocks=1)
    passed = sum(passes_gate(draw(100, seed=seed), rows) for seed in range(300))
    assert passed / 300 < 0.06  # one-sided two errors: 0.023


def sharp_forecasts(rows=1200, factor=1.0, seed=0):
    """Forecasts whose logits are ``factor`` times those outcomes are drawn from."""
    logits = 1.5 * draw(rows, 3, seed=seed)
    labels = torch.multinomial(logits.softmax(1), 1, generator=torch.Generator().manual_seed(seed)).flatten()
    outcome = torch.nn.functional.one_hot(labels, 3).double()
    agent = torch.arange(rows) % (rows // 2)
    block = torch.arange(rows) * 2 // rows
    distribution = Categorical(torch.log_softmax(factor * logits, 1))
    return distribution, HeldOut(agent, block, outcome)


def test_overconfident_forecasts_are_widened():
    distribution, rows = sharp_forecasts(factor=2.0)
    total = uniform(len(rows))
    temperature = fit_temperature(distribution, total, rows)
    assert math.exp(temperature.level) == pytest.approx(2.0, rel=0.2)
    after = distribution.tempered(temperature.of(total)).nll(rows.outcome).mean()
    assert after < distribution.nll(rows.outcome).mean()


def test_calibrated_forecasts_stay_as_they_are():
    kept = 0
    for seed in range(10):
        distribution, rows = sharp_forecasts(rows=300, seed=seed)
        total = uniform(len(rows), seed=seed)
        temperature = fit_temperature(distribution, total, rows)
        if temperature.is_neutral:
            kept += 1
            assert torch.equal(temperature.of(total), torch.ones(len(rows)).double())
    assert kept >= 9


def test_overconfidence_of_some_is_told_by_their_total():
    calm, rows = sharp_forecasts(factor=1.0)
    wild, _ = sharp_forecasts(factor=3.0)
    is_wild = torch.arange(len(rows)) % 3 == 0
    mixed = Categorical(torch.where(is_wild.unsqueeze(1), wild.log_probabilities, calm.log_probabilities))
    temperature = fit_temperature(mixed, is_wild.double(), rows)
    assert temperature.slope > 0
    values = temperature.of(torch.tensor([0.0, 1.0]).double())
    assert values[1] > 1.3 * values[0]


def test_temperature_never_falls_with_the_total():
    temperature = Temperature(level=0.2, slope=1.5, centre=0.3)
    values = temperature.of(torch.linspace(0, 1, 5).double())
    assert (values.diff() > 0).all()
    assert float(temperature.of(torch.tensor([0.3]).double())) == pytest.approx(math.exp(0.2))
    assert Temperature(centre=0.7).is_neutral


def test_nothing_held_out_is_neutral():
    nothing = HeldOut(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long), torch.zeros(0, 3).double())
    empty = Categorical(torch.zeros(0, 3).double())
    assert fit_temperature(empty, torch.zeros(0).double(), nothing).is_neutral


def test_numbers_are_widened_too():
    outcome = 2.0 * draw(600, 1)
    rows = HeldOut(torch.arange(600) % 300, torch.arange(600) // 300, outcome)
    narrow = Gaussian(torch.zeros(600, 1).double(), torch.ones(600, 1).double())
    temperature = fit_temperature(narrow, torch.ones(600).double(), rows)
    assert math.exp(temperature.level) == pytest.approx(2.0, rel=0.12)
    assert temperature.slope == 0.0


def number_errors(error):
    """Forecasts of 0 with variance 1, and the rows whose outcomes are the errors."""
    zero = torch.zeros_like(error).unsqueeze(1)
    rows = HeldOut(torch.arange(len(error)) % 100, torch.arange(len(error)) * 2 // len(error), error.unsqueeze(1))
    return Gaussian(zero, torch.ones_like(zero)), rows


def test_jumps_give_tails_and_normal_errors_none():
    error = draw(600, seed=1)
    assert fit_tails(*number_errors(error), errors=4.0) == NORMAL
    jumped = uniform(600, seed=2) < 0.1
    error = torch.where(jumped, 3.0, 0.3) * error
    distribution, rows = number_errors(error)
    tails = fit_tails(distribution, rows, errors=4.0)
    assert tails == Tails(0.1, 10.0)
    gain = distribution.nll(rows.outcome) - replace(distribution, tails=tails).nll(rows.outcome)
    assert float(gain.mean()) > 0.4


def test_classes_and_too_few_numbers_have_normal_tails():
    distribution, rows = sharp_forecasts(rows=60)
    assert fit_tails(distribution, rows, errors=2.0) == NORMAL
    assert fit_tails(*number_errors(draw(0)), errors=2.0) == NORMAL


def test_totals_that_differ_by_rounding_steer_no_temperature():
    distribution, rows = sharp_forecasts(factor=2.0)
    rounded = 0.3 + 1e-14 * uniform(len(rows))
    assert fit_temperature(distribution, rounded, rows).slope == 0.0
