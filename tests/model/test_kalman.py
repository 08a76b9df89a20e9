"""Filter, smoother and whitened responses against the joint Gaussian of all states, written out densely."""

import pytest
import torch

from sphunc.model.kalman import ChainParameters, kalman_filter, kalman_smoother, whitened_responses

T, N, K = 6, 4, 3


def problem(seed=0):
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.rand(shape, generator=g, dtype=torch.float64)

    parameters = ChainParameters(
        inertia=0.2 + 0.7 * draw(N, 1),
        transition_variance=0.1 + draw(T, N, K),
        effect_variance=0.1 + draw(N, K),
        initial_variance=0.5 + draw(K),
    )
    precision = torch.where(draw(T, N, K) < 0.3, 0.0, 0.3 + 2 * draw(T, N, K))
    return parameters, 2 * draw(T, N, K) - 1, precision, 2 * draw(T, N, K) - 1


def dense(parameters, control, agent, axis):
    """Mean and covariance of the states, and the matrix of responses to pushes."""
    inertia = float(parameters.inertia[agent, 0])
    response = torch.zeros(T, T, dtype=torch.float64)
    for t in range(T):
        for s in range(t + 1):
            response[t, s] = inertia ** (t - s)
    noise = torch.cat([parameters.initial_variance[axis : axis + 1], parameters.transition_variance[:-1, agent, axis]])
    steady = response[:, 1:].sum(1)
    covariance = response @ torch.diag(noise) @ response.T
    covariance = covariance + parameters.effect_variance[agent, axis] * torch.outer(steady, steady)
    mean = response[:, 1:] @ control[:-1, agent, axis]
    return mean, covariance, response


@pytest.mark.parametrize("seed", [0, 1])
def test_smoother_and_likelihood_are_those_of_the_joint_gaussian(seed):
    parameters, z, precision, control = problem(seed)
    filtered = kalman_filter(parameters, z, precision, control)
    mean, variance = kalman_smoother(parameters.inertia, filtered)
    for agent in range(N):
        for axis in range(K):
            prior, covariance, _ = dense(parameters, control, agent, axis)
            seen = precision[:, agent, axis] > 0
            noise = torch.diag(1 / precision[seen, agent, axis])
            marginal = covariance[seen][:, seen] + noise
            gap = z[seen, agent, axis] - prior[seen]
            gain = covariance[:, seen] @ torch.linalg.inv(marginal)
            expected = prior + gain @ gap
            torch.testing.assert_close(mean[:, agent, axis], expected, rtol=1e-9, atol=1e-11)
            left = (covariance - gain @ covariance[seen]).diagonal()
            torch.testing.assert_close(variance[:, agent, axis], left, rtol=1e-9, atol=1e-11)
            log_p = torch.distributions.MultivariateNormal(prior[seen], marginal).log_prob(z[seen, agent, axis])
            torch.testing.assert_close(filtered.log_likelihood[agent, axis], log_p, rtol=1e-9, atol=1e-11)


def test_last_filtered_moments_are_the_smoothed_ones():
    parameters, z, precision, control = problem()
    filtered = kalman_filter(parameters, z, precision, control)
    mean, variance = kalman_smoother(parameters.inertia, filtered)
    assert torch.equal(mean[-1], filtered.mean[-1])
    assert torch.equal(variance[-1], filtered.variance[-1])


def test_normal_equations_of_whitened_responses_are_generalised_least_squares():
    parameters, z, precision, control = problem()
    regressors = torch.randn(T, N, K, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    filtered = kalman_filter(parameters, z, precision, control)
    phi = whitened_responses(parameters.inertia, filtered, regressors)
    white = filtered.innovation * filtered.precision.sqrt()
    for agent in range(N):
        for axis in range(K):
            prior, covariance, response = dense(parameters, control, agent, axis)
            seen = precision[:, agent, axis] > 0
            marginal = covariance[seen][:, seen] + torch.diag(1 / precision[seen, agent, axis])
            design = (response[:, 1:] @ regressors[:-1, agent, axis])[seen]
            gap = z[seen, agent, axis] - prior[seen]
            inverse = torch.linalg.inv(marginal)
            mine = phi[:, agent, axis]
            torch.testing.assert_close(mine.T @ mine, design.T @ inverse @ design, rtol=1e-9, atol=1e-11)
            torch.testing.assert_close(mine.T @ white[:, agent, axis], design.T @ inverse @ gap, rtol=1e-9, atol=1e-11)
