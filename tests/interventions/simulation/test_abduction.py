"""Paths against a dense Gaussian posterior; couplings against their definition."""

import torch

from sphunc.interventions.simulation.abduction import coupled_probabilities, draw_paths, observed_cell
from sphunc.model.kalman import ChainParameters, kalman_filter

RATE, NOISE, EFFECT, FIRST = 0.6, 0.3, 0.5, 1.2


def dense_posterior(z, precision, control):
    """Mean and covariance of (s_0, ..., s_T, c) given observations, from the joint covariance of everything."""
    times = len(z)
    size = times + 1
    # s = M w with w = (s_0, e_0, ..., e_{T-1}, c)
    loading = torch.zeros(size, size, dtype=torch.float64)
    loading[0, 0] = 1.0
    for t in range(1, times):
        loading[t] = RATE * loading[t - 1]
        loading[t, t] += 1.0
        loading[t, -1] += 1.0
    loading[-1, -1] = 1.0
    variance = torch.diag(torch.tensor([FIRST] + [NOISE] * (times - 1) + [EFFECT], dtype=torch.float64))
    prior = loading @ variance @ loading.T
    mean = torch.zeros(size, dtype=torch.float64)
    for t in range(1, times):
        mean[t] = RATE * mean[t - 1] + control[t - 1]
    seen = (precision > 0).nonzero().flatten()
    noise = torch.diag(1.0 / precision[seen])
    gain = prior[:, seen] @ torch.linalg.inv(prior[seen][:, seen] + noise)
    return mean + gain @ (z[seen] - mean[seen]), prior - gain @ prior[seen]


def test_paths_have_the_moments_of_the_dense_posterior():
    z = torch.tensor([0.3, -1.0, 0.0, 0.8, 1.5], dtype=torch.float64)
    precision = torch.tensor([1.0, 4.0, 0.0, 2.0, 1.0], dtype=torch.float64)
    control = torch.tensor([0.2, 0.0, -0.4, 0.1, 0.0], dtype=torch.float64)
    parameters = ChainParameters(
        torch.tensor([[RATE]], dtype=torch.float64),
        torch.tensor([NOISE], dtype=torch.float64),
        torch.tensor([EFFECT], dtype=torch.float64),
        torch.tensor([FIRST], dtype=torch.float64),
    )
    filtered = kalman_filter(parameters, z.view(-1, 1, 1), precision.view(-1, 1, 1), control.view(-1, 1, 1))
    draws = 100_000
    inertia = torch.tensor([RATE], dtype=torch.float64)
    path, effect = draw_paths(filtered, inertia, 1, 4, 1.0, draws, torch.Generator().manual_seed(0), torch.float64)
    drawn = torch.cat([path[:, 0, :, 0], effect[0, :, 0].unsqueeze(0)])
    mean, covariance = dense_posterior(z, precision, control)
    kept = torch.tensor([1, 2, 3, 4, 5])
    # Five standard errors of means and covariances.
    torch.testing.assert_close(drawn.mean(1), mean[kept], atol=5 / draws**0.5, rtol=0)
    torch.testing.assert_close(torch.cov(drawn), covariance[kept][:, kept], atol=7 / draws**0.5, rtol=0)


def test_the_scale_shrinks_draws_around_the_same_mean():
    one = torch.ones(4, 2, 1, dtype=torch.float64)
    parameters = ChainParameters(one[0] * RATE, one[0, 0] * NOISE, one[0, 0] * EFFECT, one[0, 0] * FIRST)
    filtered = kalman_filter(parameters, one, one, 0 * one)
    inertia = torch.full((2,), RATE, dtype=torch.float64)

    def draw(scale):
        generator = torch.Generator().manual_seed(3)
        return draw_paths(filtered, inertia, 0, 3, scale, 5, generator, torch.float64)[0]

    middle = draw(0.0)
    torch.testing.assert_close(draw(0.25) - middle, 0.5 * (draw(1.0) - middle))


def test_coupled_probabilities_are_those_of_one_uniform_number():
    generator = torch.Generator().manual_seed(0)
    factual = torch.softmax(torch.randn(6, 3, generator=generator, dtype=torch.float64), -1)
    alternative = torch.softmax(torch.randn(6, 3, generator=generator, dtype=torch.float64), -1)
    label = torch.tensor([0, 1, 2, 0, 1, 2])
    outcome = torch.nn.functional.one_hot(label, 3).double()
    found = coupled_probabilities(alternative, factual, outcome)
    grid = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    for row in range(6):
        was = torch.bucketize(grid, factual[row].cumsum(0)).clamp(max=2)
        would = torch.bucketize(grid, alternative[row].cumsum(0)).clamp(max=2)
        counted = torch.bincount(would[was == label[row]], minlength=3).double()
        torch.testing.assert_close(found[row], counted / counted.sum(), atol=1e-4, rtol=0)


def test_what_did_not_change_keeps_its_outcome():
    p = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64)
    outcome = torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(coupled_probabilities(p, p, outcome), outcome, atol=1e-11, rtol=0)


def test_an_outcome_has_its_cell():
    p = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64)
    low, width = observed_cell(p, torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64))
    torch.testing.assert_close(low, torch.tensor([0.7], dtype=torch.float64))
    torch.testing.assert_close(width, torch.tensor([0.3], dtype=torch.float64))
