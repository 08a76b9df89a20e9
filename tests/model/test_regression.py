"""Regressions against scipy and scikit-learn, numerical gradients and dense Hessians."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from sphunc.model.regression import (
    INTERCEPT_PENALTY,
    fit_gaussian,
    fit_log_variance,
    fit_multinomial,
    multinomial_covariance,
    widened_softmax,
    with_intercept,
)

ROWS = 150
COLUMNS = 4
CLASSES = 3


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def problem(seed=0):
    z = draw(ROWS, COLUMNS, seed=seed) @ (torch.eye(COLUMNS).double() + 0.5 * draw(COLUMNS, COLUMNS, seed=9))
    truth = draw(COLUMNS, CLASSES, seed=seed + 1)
    gumbel = torch.distributions.Gumbel(0.0, 1.0).icdf(torch.special.ndtr(draw(ROWS, CLASSES, seed=seed + 2)))
    labels = (z @ truth + gumbel).argmax(1)
    penalty = torch.tensor([0.5, 2.0, 10.0, 1.0]).double()
    weight = 0.2 + draw(ROWS, seed=seed + 3).abs()
    return z, labels, penalty, weight


def objective(coefficients, z, labels, penalty, weight):
    log_p = torch.log_softmax(with_intercept(z) @ coefficients, 1)
    ridge = torch.cat([penalty, torch.tensor([INTERCEPT_PENALTY]).double()])
    fit = -(weight * log_p[torch.arange(len(labels)), labels]).sum()
    return fit + 0.5 * (ridge.unsqueeze(1) * coefficients.square()).sum()


def centred(coefficients):
    """Less what all classes share, which changes no probability and which only the penalty decides."""
    return coefficients - coefficients.mean(1, keepdim=True)


@pytest.mark.parametrize("seed", [0, 20])
def test_multinomial_is_at_the_optimum_that_scipy_finds(seed):
    parts = problem(seed)
    found = fit_multinomial(parts[0], parts[1], CLASSES, parts[2], parts[3], tolerance=1e-7)

    def flat(values):
        coefficients = torch.from_numpy(values).view_as(found).requires_grad_()
        loss = objective(coefficients, *parts)
        (gradient,) = torch.autograd.grad(loss, coefficients)
        return float(loss.detach()), gradient.flatten().numpy()

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    reference = minimize(flat, np.zeros(found.numel()), jac=True, method="L-BFGS-B", options=options)
    expected = torch.from_numpy(reference.x).view_as(found)
    torch.testing.assert_close(centred(found), centred(expected), rtol=1e-4, atol=1e-4)
    assert float(objective(found, *parts)) <= reference.fun + 1e-7


def test_default_tolerance_is_a_small_part_of_a_posterior_deviation():
    z, labels, penalty, weight = problem()
    exact = fit_multinomial(z, labels, CLASSES, penalty, weight, tolerance=1e-8)
    found = fit_multinomial(z, labels, CLASSES, penalty, weight)
    deviation = multinomial_covariance(z, exact, penalty, weight).diagonal(dim1=1, dim2=2).sqrt().T
    assert (centred(found - exact).abs() / deviation).max() < 1e-2
    assert found.is_contiguous()  # so that a file gives back the same products to the last bit


def test_the_gradient_vanishes_numerically():
    parts = problem()
    found = fit_multinomial(parts[0], parts[1], CLASSES, parts[2], parts[3], tolerance=1e-8)
    step = 1e-4
    for place in range(found.numel()):
        ahead = found.clone()
        behind = found.clone()
        ahead[place // CLASSES, place % CLASSES] += step
        behind[place // CLASSES, place % CLASSES] -= step
        slope = (objective(ahead, *parts) - objective(behind, *parts)) / (2 * step)
        assert abs(float(slope)) < 1e-4


def test_multinomial_agrees_with_scikit_learn():
    z, labels, _, _ = problem()
    penalty = torch.full((COLUMNS,), 2.0).double()
    weight = torch.ones(ROWS).double()
    found = fit_multinomial(z, labels, CLASSES, penalty, weight, tolerance=1e-7)
    peer = LogisticRegression(C=0.5, tol=1e-9, max_iter=2000).fit(z.numpy(), labels.numpy())
    expected = torch.from_numpy(peer.predict_proba(z.numpy()))
    # scikit-learn leaves the intercept unpenalised; here its penalty is 0.001.
    torch.testing.assert_close(torch.softmax(with_intercept(z) @ found, 1), expected, rtol=0, atol=1e-4)


def test_a_start_changes_the_way_and_not_the_end():
    z, labels, penalty, weight = problem()
    found = fit_multinomial(z, labels, CLASSES, penalty, weight, tolerance=1e-8)
    again = fit_multinomial(z, labels, CLASSES, penalty, weight, draw(COLUMNS + 1, CLASSES), tolerance=1e-8)
    torch.testing.assert_close(centred(found), centred(again), rtol=1e-4, atol=1e-5)


def test_weights_count_like_repeated_rows():
    z, labels, penalty, _ = problem()
    twice = torch.ones(ROWS).double()
    twice[:40] = 2.0
    repeated = torch.cat([z, z[:40]])
    more = torch.cat([labels, labels[:40]])
    first = fit_multinomial(z, labels, CLASSES, penalty, twice, tolerance=1e-8)
    second = fit_multinomial(repeated, more, CLASSES, penalty, torch.ones(len(more)).double(), tolerance=1e-8)
    torch.testing.assert_close(centred(first), centred(second), rtol=1e-4, atol=1e-5)


def test_separable_and_absent_classes_stay_finite():
    z = torch.linspace(-1, 1, 20).double().unsqueeze(1)
    labels = (z[:, 0] > 0).long()
    found = fit_multinomial(z, labels, 3, torch.tensor([0.01]).double(), torch.ones(20).double())
    assert found.isfinite().all()
    p = torch.softmax(with_intercept(z) @ found, 1)
    assert (p.argmax(1) == labels).all()
    assert p[:, 2].max() < 0.05


def test_laplace_covariance_is_the_inverse_of_each_class_block_of_the_hessian():
    parts = problem()
    z, labels, penalty, weight = parts
    found = fit_multinomial(z, labels, CLASSES, penalty, weight)
    mine = multinomial_covariance(z, found, penalty, weight)
    hessian = torch.autograd.functional.hessian(lambda b: objective(b, *parts), found)
    for c in range(CLASSES):
        block = hessian[:, c, :, c]
        torch.testing.assert_close(mine[c], torch.linalg.inv(block), rtol=1e-9, atol=1e-12)


def absent_class(rows, classes=3):
    """Widened probability of a class that never came among outcomes that no column tells apart."""
    z = draw(rows, 2)
    labels = torch.arange(rows) % (classes - 1)
    penalty = torch.full((2,), 30.0).double()
    weight = torch.ones(rows).double()
    found = fit_multinomial(z, labels, classes, penalty, weight)
    covariance = multinomial_covariance(z, found, penalty, weight)
    design = with_intercept(z)
    variance = torch.einsum("nd,cde,ne->nc", design, covariance, design)
    return float(widened_softmax(design @ found, variance).exp()[:, -1].mean())


@pytest.mark.parametrize("rows", [100, 400, 2000])
def test_a_class_that_never_came_is_left_one_in_n_within_a_factor_of_ten(rows):
    assert 0.1 / rows < absent_class(rows) < 10 / rows
    assert 0.1 / rows < absent_class(rows, classes=2) < 10 / rows


def test_gaussian_is_ridge_regression_on_augmented_rows():
    z, _, penalty, weight = problem()
    target = draw(ROWS, 2, seed=5)
    found, inverse = fit_gaussian(z, target, penalty, weight)
    assert inverse.is_contiguous()  # so that a file gives back the same products to the last bit
    ridge = torch.diag(torch.cat([penalty, torch.tensor([INTERCEPT_PENALTY]).double()]).sqrt())
    design = torch.cat([with_intercept(z) * weight.sqrt().unsqueeze(1), ridge])
    wanted = torch.cat([target * weight.sqrt().unsqueeze(1), torch.zeros(COLUMNS + 1, 2).double()])
    expected = torch.linalg.lstsq(design, wanted).solution
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(inverse, torch.linalg.inv(design.T @ design), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("penalty", [3.0, 300.0])
def test_log_variance_is_at_the_optimum_that_scipy_finds(penalty):
    z = draw(400, 3)
    slope = torch.tensor([0.5, -0.3, 0.0]).double()
    squared = (draw(400, 2, seed=4) * torch.exp(0.5 * (z @ slope)).unsqueeze(1)).square() * 7.0
    found = fit_log_variance(z, squared, penalty)
    design = with_intercept(z).numpy()
    for k in range(2):
        r2 = squared[:, k].numpy()

        def loss(gamma, r2=r2):
            eta = design @ gamma
            ridge = 0.5 * penalty * np.square(gamma[:-1]).sum()
            gradient = 0.5 * design.T @ (1 - r2 * np.exp(-eta))
            gradient[:-1] += penalty * gamma[:-1]
            return 0.5 * (r2 * np.exp(-eta) + eta).sum() + ridge, gradient

        reference = minimize(loss, np.array([0.0, 0.0, 0.0, 2.0]), jac=True, method="BFGS", options={"gtol": 1e-8})
        torch.testing.assert_close(found[:, k], torch.from_numpy(reference.x), rtol=1e-4, atol=1e-5)


def test_log_variance_survives_constant_numbers_and_one_wild_row():
    z = draw(50, 2)
    assert fit_log_variance(z, torch.zeros(50, 1).double(), 30.0).isfinite().all()
    squared = draw(50, 1, seed=3).square()
    squared[7] = 1e9
    assert fit_log_variance(z, squared, 30.0).isfinite().all()


def test_log_variance_moves_with_the_unit():
    z = draw(100, 2)
    squared = draw(100, 1, seed=3).square()
    small = fit_log_variance(z, squared, 30.0)
    large = fit_log_variance(z, squared * 1e6, 30.0)
    torch.testing.assert_close(large[:-1], small[:-1], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(large[-1] - small[-1], torch.full((1,), math.log(1e6)).double(), rtol=0, atol=1e-6)


def test_no_variance_leaves_the_softmax():
    logits = draw(20, 4)
    assert torch.equal(widened_softmax(logits, torch.zeros_like(logits)).argmax(1), logits.argmax(1))
    # Centred logits are rounded differently.
    torch.testing.assert_close(widened_softmax(logits, torch.zeros_like(logits)), torch.log_softmax(logits, 1))


def test_more_variance_of_all_logits_never_makes_it_sharper():
    logits = 3 * draw(50, 4)
    top = [widened_softmax(logits, torch.full_like(logits, v)).max(1).values for v in (0.0, 0.3, 1.0, 5.0, 100.0)]
    assert (torch.stack(top).diff(dim=0) < 0).all()


def test_widened_softmax_is_near_the_expected_one():
    logits = torch.tensor([[1.0, 0.0, -1.0], [3.0, 0.0, 0.0], [-0.5, 0.5, 0.0]]).double()
    for variance in (0.1, 0.5):
        points = logits + math.sqrt(variance) * draw(200_000, 1, 3)
        expected = torch.softmax(points, -1).mean(0)
        found = widened_softmax(logits, torch.full_like(logits, variance)).exp()
        assert (found - expected).abs().max() < 0.03
