import pytest
import torch
from sklearn.covariance import ledoit_wolf as reference

from sphunc.causal.whitening import effective_dimension, inverse_root, ledoit_wolf, own_lag_residuals


def rows(count=200, dim=12, seed=0):
    scale = torch.linspace(0.2, 3, dim, dtype=torch.double)
    return torch.randn(count, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.double) * scale


def test_shrinkage_agrees_with_scikit_learn():
    x = rows()
    covariance, share = ledoit_wolf(x, float(len(x)))
    expected, expected_share = reference(x.numpy(), assume_centered=True)
    assert share == pytest.approx(expected_share, abs=1e-10)
    torch.testing.assert_close(covariance, torch.from_numpy(expected))


def test_inverse_root_whitens():
    covariance, _ = ledoit_wolf(rows(), 200.0)
    root = inverse_root(covariance)
    torch.testing.assert_close(root @ covariance @ root, torch.eye(12, dtype=torch.double))


def test_effective_dimension_is_unbiased_with_few_rows():
    x = torch.randn(80, 128, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    assert effective_dimension(x, 80.0) > 100
    assert effective_dimension(rows(20000), 20000.0) == pytest.approx(
        float(torch.linspace(0.2, 3, 12).square().sum() ** 2 / torch.linspace(0.2, 3, 12).pow(4).sum()), rel=0.03
    )
    assert effective_dimension(x[:, :1], 80.0) == 1.0


def test_residuals_leave_out_missing_rows():
    values = torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    present = torch.ones(5, 7, dtype=torch.bool)
    assert own_lag_residuals(values, present).shape == (30, 3)
    present[0, 3] = False
    assert own_lag_residuals(values, present).shape == (28, 3)
