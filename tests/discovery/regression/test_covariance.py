import numpy as np
import pytest
import torch
from sklearn.covariance import LedoitWolf

from sphunc.discovery.regression.covariance import (
    effective_dimension,
    inverse_root,
    ledoit_wolf,
    own_lag_residuals,
)


def test_ledoit_wolf_agrees_with_scikit_learn():
    rows = np.random.default_rng(0).standard_normal((60, 8)) * np.arange(1, 9)
    covariance, share = ledoit_wolf(torch.from_numpy(rows), 60.0)
    expected = LedoitWolf(assume_centered=True).fit(rows)
    np.testing.assert_allclose(covariance.numpy(), expected.covariance_, rtol=1e-9)
    assert share == pytest.approx(expected.shrinkage_)


def test_inverse_root_whitens_and_drops_empty_directions():
    factor = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    covariance = factor @ factor.T
    root = inverse_root(covariance)
    projector = root @ covariance @ root
    torch.testing.assert_close(projector @ projector, projector)
    assert float(projector.trace()) == pytest.approx(3.0)


def test_effective_dimension_of_equal_and_of_one_coordinate():
    rows = torch.randn(4000, 10, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    assert effective_dimension(rows, 4000.0) == pytest.approx(10.0, rel=0.02)
    single = rows[:, :1].expand(-1, 10) + 1e-6 * rows
    assert effective_dimension(single, 4000.0) == pytest.approx(1.0, rel=0.02)
    assert effective_dimension(torch.zeros(5, 3, dtype=torch.double), 5.0) == 3.0


def test_residuals_have_the_noise_variance_of_an_autoregression():
    generator = torch.Generator().manual_seed(0)
    state = torch.randn(500, 2, generator=generator, dtype=torch.double)
    path = [state]
    for _ in range(30):
        path.append(0.5 * path[-1] + 2 * torch.randn(500, 2, generator=generator, dtype=torch.double))
    values = torch.stack(path, 1)
    rows = own_lag_residuals(values, torch.ones(500, 31, dtype=torch.bool))
    assert float(rows.square().mean()) == pytest.approx(4.0, rel=0.05)
