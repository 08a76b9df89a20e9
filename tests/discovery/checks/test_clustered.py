"""Shared coefficients and clustered errors against a plain transcription."""

import torch

from sphunc.discovery import clustered_least_squares


def test_coefficients_and_errors_are_those_of_the_sandwich():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(12, 7, 3, generator=generator, dtype=torch.double)
    y = x @ torch.tensor([1.0, -0.5, 0.0], dtype=torch.double)
    y = y + torch.randn(12, 1, generator=generator, dtype=torch.double)
    theta, covariance = clustered_least_squares(x.mT @ x, (x.mT @ y.unsqueeze(-1)).squeeze(-1))

    flat = x.reshape(-1, 3)
    expected = torch.linalg.lstsq(flat, y.reshape(-1)).solution
    bread = torch.linalg.inv(flat.T @ flat)
    meat = torch.zeros(3, 3, dtype=torch.double)
    for agent in range(12):
        score = x[agent].T @ (y[agent] - x[agent] @ expected)
        meat += torch.outer(score, score)
    torch.testing.assert_close(theta, expected)
    torch.testing.assert_close(covariance, 12 / 11 * bread @ meat @ bread)
