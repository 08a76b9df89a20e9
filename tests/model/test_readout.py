"""Readout against quadrature over states; sites of outcomes against numerical derivatives and exact Gaussians."""

import numpy as np
import pytest
import torch

from sphunc.forecasting.distribution import Categorical, Gaussian
from sphunc.model.readout import (
    LARGEST_SITE,
    POINTS,
    Readout,
    initial_readout,
    learn_readout,
    normal_points,
    outcome_site,
)

ROWS = 6


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def readout():
    frequency = torch.tensor([0.5, 0.3, 0.2]).double()
    return Readout(1.5 * draw(3, 2, seed=1), draw(3, seed=2), torch.tensor([-1.5, 0.7]).double(), frequency)


def numeric(outputs=1, axes=1):
    return Readout(draw(outputs, axes, seed=1), draw(outputs, seed=2), draw(outputs, seed=3), draw(0))


def beliefs(axes=2):
    mean = draw(ROWS, axes, seed=4)
    variance = 0.1 + draw(ROWS, axes, seed=5).square()
    remainder = draw(ROWS, seed=6)
    labels = torch.arange(ROWS) % 3
    return mean, variance, remainder, torch.nn.functional.one_hot(labels, 3).double()


def expected_likelihood(model, mean, variance, remainder):
    """E p(y | s) of all classes for one row, by 60 x 60 Gauss-Hermite points."""
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    node = torch.from_numpy(node)
    weight = torch.from_numpy(weight / weight.sum())
    grid = torch.cartesian_prod(node, node)
    weights = torch.outer(weight, weight).flatten()
    states = mean + variance.sqrt() * grid
    share = torch.sigmoid(model.noise[0] + model.noise[1] * remainder)
    p = torch.softmax(states @ model.weight.T + model.bias, 1)
    return weights @ ((1 - share) * p + share * model.frequency)


def test_points_have_the_moments_of_a_standard_normal():
    points = normal_points(3)
    assert points.shape == (POINTS, 3)
    torch.testing.assert_close(points.mean(0), torch.zeros(3).double(), rtol=0, atol=1e-12)
    covariance = points.T @ points / len(points)
    torch.testing.assert_close(covariance, torch.eye(3).double(), rtol=0, atol=1e-12)
    third = torch.einsum("pa,pb,pc->abc", points, points, points) / len(points)
    assert third.abs().max() < 1e-12
    assert torch.equal(points, normal_points(3))


def test_many_dimensions_have_points_enough_for_their_covariance():
    points = normal_points(40)
    covariance = points.T @ points / len(points)
    torch.testing.assert_close(covariance, torch.eye(40).double(), rtol=0, atol=1e-10)
    assert len(normal_points(3, 16)) == 16


def test_distribution_is_integrated_over_the_states():
    model = readout()
    mean, variance, remainder, _ = beliefs()
    found = model.distribution(mean, variance, remainder)
    assert isinstance(found, Categorical)
    for n in range(ROWS):
        expected = expected_likelihood(model, mean[n], variance[n], remainder[n])
        # 64 quasi-random points.
        assert (found.probabilities[n] - expected).abs().max() < 0.015
    torch.testing.assert_close(found.probabilities.sum(1), torch.ones(ROWS).double())


def test_a_known_state_has_the_probabilities_of_the_equation():
    model = readout()
    mean, _, remainder, _ = beliefs()
    found = model.distribution(mean, torch.zeros_like(mean), remainder).probabilities
    share = torch.sigmoid(-1.5 + 0.7 * remainder).unsqueeze(1)
    expected = (1 - share) * torch.softmax(mean @ model.weight.T + model.bias, 1) + share * model.frequency
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)  # a jitter of 1e-6 on the logits


@pytest.mark.parametrize(("points", "first_error", "second_error"), [(2048, 0.01, 0.02), (None, 0.05, 0.1)])
def test_site_derivatives_are_those_of_the_expected_likelihood(monkeypatch, points, first_error, second_error):
    if points is not None:
        monkeypatch.setattr("sphunc.model.readout.POINTS", points)
    model = readout()
    mean, variance, remainder, outcome = beliefs()
    first, curvature = model.site_derivatives(mean, variance, outcome, remainder)
    step = 1e-3
    for n in range(ROWS):
        label = int(outcome[n].argmax())

        def log_p(at, n=n, label=label):
            return expected_likelihood(model, at, variance[n], remainder[n])[label].log()

        for axis in range(2):
            shift = torch.zeros(2).double()
            shift[axis] = step
            ahead = log_p(mean[n] + shift)
            here = log_p(mean[n])
            behind = log_p(mean[n] - shift)
            slope = float((ahead - behind) / (2 * step))
            bend = float(-(ahead - 2 * here + behind) / step**2)
            assert float(first[n, axis]) == pytest.approx(slope, abs=first_error)
            assert float(curvature[n, axis]) == pytest.approx(max(0.0, bend), abs=second_error)


def test_sites_do_not_depend_on_the_size_of_a_chunk(monkeypatch):
    mean, variance, remainder, outcome = beliefs()
    whole = readout().site_derivatives(mean, variance, outcome, remainder)
    monkeypatch.setattr("sphunc.model.readout.CHUNK", 4)
    pieces = readout().site_derivatives(mean, variance, outcome, remainder)
    # Products of other shapes may round otherwise.
    torch.testing.assert_close(pieces, whole, rtol=1e-12, atol=1e-12)
    none = readout().site_derivatives(mean[:0], variance[:0], outcome[:0], remainder[:0])
    assert none[0].shape == (0, 2)


def test_numbers_have_a_linear_gaussian_distribution():
    model = numeric(2, 3)
    mean = draw(5, 3)
    variance = draw(5, 3, seed=9).square()
    found = model.distribution(mean, variance, torch.zeros(5).double())
    assert isinstance(found, Gaussian)
    samples = mean + variance.sqrt() * draw(40_000, 5, 3, seed=11)
    drawn = samples @ model.weight.T + model.bias + (0.5 * model.noise).exp() * draw(40_000, 5, 2, seed=12)
    torch.testing.assert_close(found.mean, drawn.mean(0), rtol=0, atol=0.06)
    torch.testing.assert_close(found.variance, drawn.var(0), rtol=0.05, atol=0.01)


def test_the_site_of_a_number_is_exact():
    model = Readout(
        torch.tensor([[0.8]]).double(), torch.tensor([0.3]).double(), torch.tensor([-0.5]).double(), draw(0)
    )
    mean = draw(ROWS, 1)
    variance = 0.2 + draw(ROWS, 1, seed=1).square()
    outcome = draw(ROWS, 1, seed=2)
    first, curvature = model.site_derivatives(mean, variance, outcome, torch.zeros(ROWS).double())
    precision, weighted = outcome_site(first, curvature, mean, variance)
    noise = model.noise.exp()
    torch.testing.assert_close(precision, (0.64 / noise).expand(ROWS, 1))
    torch.testing.assert_close(weighted, 0.8 * (outcome - 0.3) / noise)


def test_sites_of_a_number_give_the_exact_moments_of_every_axis():
    model = numeric(1, 3)
    mean = draw(ROWS, 3)
    variance = 0.2 + draw(ROWS, 3, seed=1).square()
    outcome = draw(ROWS, 1, seed=2)
    first, curvature = model.site_derivatives(mean, variance, outcome, torch.zeros(ROWS).double())
    precision, weighted = outcome_site(first, curvature, mean, variance)
    new_variance = 1 / (1 / variance + precision)
    new_mean = new_variance * (mean / variance + weighted)
    for n in range(ROWS):
        prior = torch.diag(variance[n])
        w = model.weight[0]
        total = w @ prior @ w + model.noise.exp()
        gain = prior @ w / total
        expected = mean[n] + gain * (outcome[n] - w @ mean[n] - model.bias)
        left = (prior - torch.outer(gain, w @ prior)).diagonal()
        torch.testing.assert_close(new_mean[n], expected, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(new_variance[n], left, rtol=1e-9, atol=1e-11)


def test_no_outcome_claims_more_than_its_share_of_a_cavity():
    curvature = torch.tensor([[0.999]]).double()
    precision, _ = outcome_site(torch.zeros(1, 1).double(), curvature, torch.zeros(1, 1).double(), 1 / curvature)
    assert float(precision) == pytest.approx(0.999 / (1 - LARGEST_SITE))


def test_a_start_knows_frequencies_alone():
    outcome = torch.nn.functional.one_hot(torch.tensor([0, 0, 1, 0]), 3).double()
    start = initial_readout(outcome, 3, 2)
    assert start.frequency.tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    found = start.distribution(draw(2, 2), torch.ones(2, 2).double(), torch.zeros(2).double())
    torch.testing.assert_close(found.probabilities[0], start.frequency, rtol=0, atol=1e-3)
    numbers = initial_readout(torch.tensor([[1.0], [3.0]]).double(), 0, 2)
    assert numbers.is_numeric
    found = numbers.distribution(draw(1, 2), torch.ones(1, 2).double(), torch.zeros(1).double())
    assert (float(found.mean), float(found.variance)) == pytest.approx((2.0, 1.0))
    constant = initial_readout(torch.ones(3, 1).double(), 0, 2)
    assert constant.noise.isfinite().all()


def test_learning_recovers_a_readout_of_classes():
    rows = 3000
    truth = Readout(
        torch.tensor([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]]).double(),
        torch.zeros(3).double(),
        torch.tensor([-2.0, 0.0]).double(),
        torch.full((3,), 1 / 3).double(),
    )
    states = draw(rows, 2)
    variance = torch.full((rows, 2), 0.2).double()
    mean = states - variance.sqrt() * draw(rows, 2, seed=1)
    nothing = torch.zeros(rows).double()
    p = truth.distribution(states, torch.zeros_like(states), nothing).probabilities
    labels = torch.multinomial(p, 1, generator=torch.Generator().manual_seed(2)).flatten()
    outcome = torch.nn.functional.one_hot(labels, 3).double()
    start = initial_readout(outcome, 3, 2)
    found = learn_readout(start, mean, variance, outcome, nothing, 60)

    def nll(model):
        return float(model.distribution(mean, variance, nothing).nll(outcome).mean())

    assert nll(found) < nll(start) - 0.2
    assert nll(found) < nll(truth) + 0.01
    gap = found.weight - found.weight.mean(0)
    torch.testing.assert_close(gap, truth.weight - truth.weight.mean(0), rtol=0.3, atol=0.4)


def test_learning_numbers_is_least_squares():
    rows = 2000
    mean = draw(rows, 2)
    outcome = mean @ torch.tensor([[1.0], [-0.5]]).double() + 0.7 + 0.5 * draw(rows, 1, seed=3)
    nothing = torch.zeros(rows).double()
    start = initial_readout(outcome, 0, 2)
    found = learn_readout(start, mean, torch.zeros_like(mean), outcome, nothing, 60)
    design = torch.cat([mean, torch.ones(rows, 1).double()], 1)
    expected = torch.linalg.lstsq(design, outcome).solution.flatten()
    torch.testing.assert_close(torch.cat([found.weight[0], found.bias]), expected, rtol=0, atol=0.01)
    residual = outcome.flatten() - design @ expected
    assert float(found.noise.exp()) == pytest.approx(float(residual.square().mean()), rel=0.02)


def test_many_rows_are_thinned_and_few_are_no_fault():
    rows = 5000
    outcome = torch.nn.functional.one_hot(torch.arange(rows) % 2, 2).double()
    mean = draw(rows, 1)
    nothing = torch.zeros(rows).double()
    many = learn_readout(initial_readout(outcome, 2, 1), mean, mean.square(), outcome, nothing, 3)
    assert many.weight.isfinite().all()
    one = learn_readout(initial_readout(outcome[:1], 2, 1), mean[:1], mean[:1].square(), outcome[:1], nothing[:1], 5)
    assert one.weight.isfinite().all()


def test_no_rows_leave_the_start_as_it_is():
    nothing = torch.zeros(0, 2).double()
    start = initial_readout(nothing, 2, 2)
    found = learn_readout(start, nothing, nothing, nothing, torch.zeros(0).double(), 5)
    assert torch.equal(found.weight, start.weight)
    numbers = initial_readout(torch.zeros(0, 1).double(), 0, 2)
    assert numbers.bias.isfinite().all()
    assert numbers.noise.isfinite().all()
